"""User code that tries to harm the platform and other jobs. Each function of `ATTACKS` returns what it got; nothing, if it was
refused."""

import contextlib
import ctypes
import json
import mmap
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import torch
from torch import nn
from torch.utils.data import TensorDataset

from gradstream import Workload

ATTACKS: dict[str, Callable[["Target"], str]] = {}
SAYS = "ATTACK "
"""Before what an attack got, in the log."""
MARK = "gradstream_attacker_left_this"
_LIBC = ctypes.CDLL(None, use_errno=True)
_NEW_USER, _NEW_MOUNTS = 0x10000000, 0x20000


class Target:
    def __init__(self, told: dict[str, Any]) -> None:
        self.data = Path(told["data"])
        """The platform's folder."""
        self.pids: list[int] = told["pids"]
        """Of its programs, the zygote, and another job's processes, on the machine."""
        self.ports: list[int] = told["ports"]
        self.sockets: list[str] = told["sockets"]
        self.own = Path.cwd().parent
        """The process's folder."""


def attack(function: Callable[[Target], str]) -> Callable[[Target], str]:
    ATTACKS[function.__name__] = function
    return function


def tried(attempts: Iterable[Callable[[], object]]) -> str:
    """What those that were not refused got."""
    got = []
    for attempt in attempts:
        with contextlib.suppress(OSError):
            got.append(str(attempt()))
    return "; ".join(got)


def files_below(folder: Path, but: Path) -> Iterator[Path]:
    for place, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if Path(place, name) not in (but, but.parent / "code")]
        yield from (Path(place, name) for name in files)


@attack
def reads_the_platforms_folder(target: Target) -> str:
    code = Path(os.path.realpath(target.own / "code"))
    return " ".join(str(file) for file in files_below(target.data, target.own) if not file.is_relative_to(code))


@attack
def reads_secrets_and_the_signing_key(target: Target) -> str:
    names = ("node-token", "signing-key", "postgres-password", "redis-password", "live-password", "plane-password")
    places = [target.data / "secrets" / name for name in names] + [target.data / "client.json"]
    return tried(lambda place=place: place.read_text() for place in places)


@attack
def lists_the_folders_of_other_jobs(target: Target) -> str:
    return " ".join(name for name in os.listdir(target.own.parent) if name != target.own.name)


@attack
def lists_the_code_of_other_jobs(target: Target) -> str:
    code = Path(os.path.realpath(target.own / "code"))
    return " ".join(name for name in os.listdir(code.parent) if name != code.name)


@attack
def sees_processes_of_others(target: Target) -> str:
    relatives = {os.getpid(), 1, *_below(os.getpid())}
    return " ".join(name for name in os.listdir("/proc") if name.isdigit() and int(name) not in relatives)


def _below(pid: int) -> set[int]:
    children = {int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()}
    return children.union(*(_below(child) for child in children))


@attack
def reads_the_memory_of_others(target: Target) -> str:
    return tried(lambda pid=pid: open(f"/proc/{pid}/mem", "rb") for pid in (*target.pids, 1))


@attack
def reads_environments_of_others(target: Target) -> str:
    return tried(lambda pid=pid: Path(f"/proc/{pid}/environ").read_bytes() + b"!" for pid in target.pids)


@attack
def reads_command_lines_of_others(target: Target) -> str:
    return tried(lambda pid=pid: Path(f"/proc/{pid}/cmdline").read_bytes() + b"!" for pid in target.pids)


@attack
def finds_what_the_zygote_knew_of_others(target: Target) -> str:
    """Its own memory began as a copy of the zygote's, which starts all processes."""
    begins, ends = b"-".join((b"a", b"secret", b"of", b"the", b"victim")), "2d30313233343536373839"  # never whole here: no hit
    found = 0
    with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", buffering=0) as memory:
        for line in maps:
            where, rights, *_ = line.split()
            begin, end = (int(number, 16) for number in where.split("-"))
            if not rights.startswith("rw") or end - begin > 1 << 28:
                continue
            for start in range(begin, end, 1 << 22):
                with contextlib.suppress(OSError, ValueError):
                    memory.seek(start)
                    _, *after = memory.read(min(1 << 22, end - start)).split(begins)
                    found += sum(part[:11].hex() == ends for part in after)
    return str(found or "")


@attack
def signals_others(target: Target) -> str:
    return tried(lambda pid=pid: os.kill(pid, 0) for pid in target.pids)


@attack
def traces_others(target: Target) -> str:
    return " ".join(str(pid) for pid in target.pids if _LIBC.ptrace(16, pid, 0, 0) == 0)


@attack
def connects_to_ports_of_the_machine(target: Target) -> str:
    def connect(port: int) -> int:
        with socket.create_connection(("127.0.0.1", port), timeout=2):
            return port

    return tried(lambda port=port: connect(port) for port in target.ports)


@attack
def connects_to_the_internet(target: Target) -> str:
    def send(kind: socket.SocketKind, address: tuple[str, int]) -> str:
        with socket.socket(socket.AF_INET, kind) as outside:
            outside.settimeout(1)
            outside.connect(address)
            return f"{kind.name} {address}"

    places = [("1.1.1.1", 53), ("169.254.169.254", 80)]
    return tried(lambda p=p, k=k: send(k, p) for p in places for k in (socket.SOCK_STREAM, socket.SOCK_DGRAM))


@attack
def connects_to_sockets_of_the_platform(target: Target) -> str:
    def connect(path: str) -> str:
        with socket.socket(socket.AF_UNIX) as inside:
            inside.connect(path)
            return path

    return tried(lambda path=path: connect(path) for path in target.sockets)


@attack
def is_led_elsewhere_by_its_door(target: Target) -> str:
    from gradstream.sandbox import door

    if not door.is_used():
        return "there is no door"
    others = [path for path in target.sockets if "redis-plane" not in path]
    wanted = ["127.0.0.1:22", "127.0.0.1:1", "169.254.169.254:80", "junk", "", *others]
    return tried(lambda address=address: door.connect(address) for address in wanted)


@attack
def changes_its_bundle(target: Target) -> str:
    code = target.own / "code"
    return tried(lambda file=file: file.write_text("changed") for file in (code / "steady.py", code / "planted.py"))


@attack
def changes_the_installation(target: Target) -> str:
    import gradstream

    files = Path(gradstream.__file__), Path(gradstream.__file__).with_name("planted.py"), Path(torch.__file__)
    return tried(lambda file=file: file.open("a") for file in files)


@attack
def writes_where_others_look(target: Target) -> str:
    home = os.path.expanduser("~")
    places = (f"{home}/.bashrc", "/etc/profile", "/usr/local/bin/python", "/planted", "/dev/planted")
    return tried(lambda place=place: open(place, "a") for place in places)


@attack
def unmounts_what_hides(target: Target) -> str:
    """Also in a user namespace of its own, in which it may mount."""
    got = [place for place in (target.data, Path("/tmp"), Path("/run"), Path("/proc")) if _LIBC.umount2(bytes(place), 2) == 0]
    if child := os.fork():
        return " ".join(map(str, got)) + str(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) or "")
    worked = _LIBC.unshare(_NEW_USER | _NEW_MOUNTS) == 0 and _LIBC.umount2(bytes(target.data), 2) == 0
    os._exit(int(worked and (target.data / "secrets").exists()))


@attack
def becomes_root_again(target: Target) -> str:
    got = tried([lambda: os.setuid(0), lambda: os.setresuid(0, 0, 0), lambda: os.chroot("/")])
    su = shutil.which("su")
    return got or (su and subprocess.run([su, "-c", "id -u"], capture_output=True, text=True, check=False).stdout.strip()) or ""


@attack
def makes_devices(target: Target) -> str:
    def look() -> str:
        disk = target.own / "disk"
        os.mknod(disk, 0o600 | 0o60000, os.makedev(254, 0))
        return str(disk.read_bytes()[:1])

    return tried([look])


@attack
def leaves_its_root(target: Target) -> str:
    """By a folder that some descriptor still leads to, or by the first process of its namespace."""
    ways = ["/proc/1/root", "/proc/1/cwd", *(f"/proc/self/fd/{number}" for number in os.listdir("/proc/self/fd"))]
    outside = [f"{way}/{up}{target.data}/secrets/signing-key" for way in ways for up in ("", "../" * 20)]
    return tried(lambda path=path: Path(path).read_bytes() for path in outside)


@attack
def changes_settings_of_the_kernel(target: Target) -> str:
    places = ("/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/sys/kernel/uevent_helper", "/sys/fs/cgroup/cgroup.procs")
    return tried(lambda place=place: open(place, "w") for place in places)


@attack
def sees_shared_memory_of_others(target: Target) -> str:
    with open("/proc/self/mountinfo") as mounts:
        own = [mounted for line in mounts if (mounted := line.split()[4]).startswith("/dev/shm/")]
    return " ".join(
        str(path)
        for path in Path("/dev/shm").rglob("*")
        if not any(str(path).startswith(mounted) or mounted.startswith(str(path)) for mounted in own)
    )


@attack
def reads_shared_memory_of_others(target: Target) -> str:
    """Secrets of other jobs, whose folders may be in sight."""
    with open("/proc/self/mountinfo") as mounts:
        own = [mounted for line in mounts if (mounted := line.split()[4]).startswith("/dev/shm/")]
    homes = [home for home in Path("/dev/shm").glob("gradstream*") if not any(place.startswith(str(home)) for place in own)]
    return tried(lambda home=home: os.listdir(home) or "listed" for home in homes)


@attack
def has_its_log_read_from_elsewhere(target: Target) -> str:
    """The agent reads files of this folder with its own rights."""
    secret = target.data / "secrets" / "signing-key"
    for name in ("exit.json", "hang.json"):
        with contextlib.suppress(OSError):
            os.symlink(secret, target.own / name)
            os.unlink(target.own / name)
    return tried([lambda: os.link(secret, target.own / "linked")])


def leave_things_behind() -> None:
    """A process outside of every group of ours, files, a socket, shared memory, and a mount."""
    subprocess.Popen([sys.executable, "-c", f"import time; time.sleep(600)  # {MARK}"], start_new_session=True)
    if not os.fork():
        os.setsid()
        if os.fork():
            os._exit(0)
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        os.execv(sys.executable, [sys.executable, "-c", f"import time; time.sleep(600)  # {MARK}"])
    for folder in ("/tmp", "/var/tmp", "/dev/shm"):
        Path(folder, MARK).write_text("left")
    with open(f"/dev/shm/{MARK}", "r+b") as file:
        mmap.mmap(file.fileno(), 4)
    left = socket.socket(socket.AF_UNIX)
    left.bind(f"/tmp/{MARK}.socket")
    left.listen()
    os.set_inheritable(left.fileno(), True)
    os.mkdir(f"/tmp/{MARK}.mounted")
    _LIBC.mount(b"none", f"/tmp/{MARK}.mounted".encode(), b"tmpfs", 0, b"")


class Attacker(Workload):
    classifies = False
    target: dict[str, Any]
    until: str

    def model(self) -> nn.Module:
        return nn.Linear(8, 1)

    def dataset(self, split: str) -> TensorDataset:
        x = torch.randn(64, 8)
        return TensorDataset(x, x.sum(1, keepdim=True))

    def loss(self, model: nn.Module, batch: list[torch.Tensor]) -> torch.Tensor:
        if model.training and not hasattr(self, "id"):
            self.id = uuid4()
            for name, function in ATTACKS.items():
                try:
                    got = function(Target(self.target))
                except Exception as error:
                    got = "" if isinstance(error, OSError) else f"the attack itself failed: {error!r}"
                sys.stdout.write(f"{SAYS}{json.dumps([name, got[:300]])}\n")
            leave_things_behind()
            sys.stdout.write(f"{SAYS}{json.dumps(['done', ''])}\n")
        while model.training and not os.path.exists(self.until):
            time.sleep(0.05)
        return nn.functional.mse_loss(model(batch[0]), batch[1])
