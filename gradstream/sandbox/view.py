"""The file system of a job process: everything of the machine can be read but what is the platform's or secret; nothing can be
written but the process's own folder.

/tmp and /var/tmp are a folder inside the process's own; /dev, /dev/shm, /proc and /run are new. It is made in a mount namespace of
the process's own, so no other process sees it, and the kernel removes it with the process."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from gradstream.sandbox import kernel
from gradstream.sandbox.sandbox import Sandbox

DOOR = "/run/gradstream/door"
"""Where the process finds its door."""
_SAFE = kernel.NO_SETUID | kernel.NO_DEVICES
_FIXED = _SAFE | kernel.READ_ONLY
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_GPU_DEVICES = ("nvidia", "dri", "kfd")
"""Prefixes."""
_OF_RUN = ("current-system", "opengl-driver", "nvidia-persistenced", "nvidia-fabricmanager", "media")
"""Entries of /run that stay visible: libraries of some distributions, drivers of GPUs, disks."""
_OF_THE_KERNEL = ("sys", "irq", "bus", "fs", "sysrq-trigger", "acpi", "scsi")
"""Settings below /proc that root could change even without capabilities."""
_IN_HOME = (
    ".ssh .gnupg .aws .azure .kube .docker .oci .kaggle .netrc .pgpass .my.cnf .npmrc .pypirc .git-credentials .vault-token",
    ".s3cfg .boto .terraform.d .password-store .bash_history .python_history .zsh_history .local/share/keyrings",
    ".local/share/gradstream .config/gradstream .config/gcloud .config/gh .config/git/credentials .config/rclone",
    ".config/containers .cache/huggingface/token .cache/huggingface/stored_tokens",
)
CREDENTIALS = tuple(name for names in _IN_HOME for name in names.split())
"""Files and folders of the home folder that jobs do not see."""
_SECRETS_OF_ROOT = (
    "/etc/shadow",
    "/etc/gshadow",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/ssh",
    "/etc/kubernetes",
    "/var/lib/docker",
)
"""Hidden where the process stays root, so that permissions hide nothing."""

Step = Callable[[], None]


def build(sandbox: Sandbox, folder: Path, uid: int | None) -> None:
    """Make it for the process with this folder. /proc is that of its namespace already. `uid`: what it will run as; None: as now.

    Raises: OSError: this kernel or this container does not let us."""
    kernel.keep_mounts_private()
    stays_root = (os.geteuid() if uid is None else uid) == 0
    home = Path(os.path.realpath(os.path.expanduser("~")))
    steps = _Steps()
    if uid is not None and not home.stat().st_mode & 0o001:
        _open_home(steps, home)
    _cover_shared_folders(steps, folder / "tmp")
    if uid is not None:
        for path in _closed_above((str(folder), *sandbox.readable, *sandbox.writable, *_installation())):
            steps.cover(path)  # nothing else in it is for this account
    for path in (*sandbox.hidden, *(str(home / name) for name in CREDENTIALS), *(_SECRETS_OF_ROOT if stays_root else ())):
        steps.hide(path)
    for path in (*sandbox.readable, *steps.covered(_installation())):
        steps.show(path, _FIXED)
    for path in (*sandbox.writable, str(folder)):
        steps.show(path, _SAFE)
    if sandbox.door:
        steps.show(sandbox.door, _SAFE, at=DOOR)
    processes = kernel.clone_mount("/proc")
    devices = [(path, kernel.clone_mount(path)) for path in _devices()]
    kernel.restrict("/", _FIXED)
    _make_dev(devices)
    kernel.attach(processes, "/proc")
    if stays_root:
        _fix_kernel_settings()
    steps.take()


class _Steps:
    """Mounts with their places, made from the outside in, so that each finds its place in what was mounted before."""

    def __init__(self) -> None:
        self._steps: list[tuple[str, Step]] = []
        self._covers: list[str] = []

    def show(self, path: str, attributes: int, *, at: str | None = None) -> None:
        """Show here what `path` shows now."""
        clone = kernel.clone_mount(path)
        kernel.restrict(clone, attributes)
        target, is_folder = at or path, os.path.isdir(path)

        def attach() -> None:
            _make_place(target, is_folder)
            kernel.attach(clone, target)

        self._steps.append((target, attach))

    def link(self, path: str) -> None:
        goal = os.readlink(path)
        self._steps.append((path, lambda: os.symlink(goal, path)))

    def hide(self, path: str) -> None:
        """A file is empty then, a folder, too."""
        real = os.path.realpath(path)
        if os.path.isdir(real):
            self.cover(real)
        elif os.path.exists(real):
            clone = kernel.clone_mount("/dev/null")
            self._steps.append((real, lambda: _attach_if_there(clone, real)))

    def cover(self, path: str) -> None:
        """With an empty folder, in which what is shown below it finds its place."""

        def cover() -> None:
            if os.path.isdir(path):  # else what is above it was covered already
                kernel.mount("tmpfs", path, _SAFE, "mode=755,size=1m")
                self._covers.append(path)

        self._steps.append((path, cover))

    def covered(self, paths: Iterable[str]) -> list[str]:
        """Return the paths that something hides."""
        hiding = {path for path, _ in self._steps}
        return [path for path in paths if any(str(above) in hiding for above in Path(path).parents)]

    def take(self) -> None:
        for _, step in sorted(self._steps, key=lambda step: len(Path(step[0]).parts)):
            step()
        for path in self._covers:
            with contextlib.suppress(OSError):  # what was shown over it is restricted already
                kernel.restrict(path, _FIXED, recursive=False)


def _open_home(steps: _Steps, home: Path) -> None:
    """A home that only its owner may enter often holds Python and data, which others may read: show what is in it, one by one."""
    steps.cover(str(home))
    for entry in os.scandir(home):
        if entry.is_symlink():
            steps.link(entry.path)
        elif entry.is_dir() or entry.is_file():
            steps.show(entry.path, _FIXED)


def _closed_above(paths: Iterable[str]) -> list[str]:
    """The folders above these paths that only their owners may enter, but homes: `_open_home` has those."""
    home = os.path.realpath(os.path.expanduser("~"))
    above = {str(folder) for path in paths for folder in Path(path).parents}
    return sorted(folder for folder in above - {home} if not os.stat(folder).st_mode & 0o001)


def _cover_shared_folders(steps: _Steps, tmp: Path) -> None:
    """Where programs of this machine leave files and sockets for each other. `tmp`: takes the place of /tmp."""
    tmp.mkdir(exist_ok=True)
    tmp.chmod(0o1777)
    for place in ("/tmp", "/var/tmp"):
        if os.path.isdir(place):
            steps.show(str(tmp), _SAFE, at=place)
    for place in ("/run", "/var/run"):
        if os.path.isdir(place) and not os.path.islink(place):
            steps.cover(place)
    for kept in _kept_of_run():
        steps.show(kept, _FIXED)


def _kept_of_run() -> Iterable[str]:
    names = os.path.realpath("/etc/resolv.conf")
    if names.startswith("/run/") and os.path.exists(names):
        yield names
    yield from (path for name in _OF_RUN if os.path.exists(path := f"/run/{name}"))


def _installation() -> list[str]:
    """The folders of this Python and its packages, ours among them."""
    ours = str(Path(__file__).parents[2])  # an editable installation may be found without `sys.path`
    places = {os.path.realpath(place) for place in (sys.prefix, sys.base_prefix, ours, *sys.path) if os.path.isabs(place)}
    return sorted(place for place in places if os.path.exists(place))


def _devices() -> list[str]:
    gpus = sorted(entry.path for entry in os.scandir("/dev") if entry.name.startswith(_GPU_DEVICES))
    return [path for path in (*(f"/dev/{name}" for name in _DEVICES), *gpus) if os.path.exists(path)]


def _make_dev(devices: list[tuple[str, int]]) -> None:
    kernel.mount("tmpfs", "/dev", kernel.NO_SETUID, "mode=755,size=1m")
    for path, clone in devices:
        _make_place(path, is_folder=os.path.isdir(f"/proc/self/fd/{clone}"))
        kernel.attach(clone, path)
    for name, goal in (("fd", "fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")):
        os.symlink(f"/proc/self/{goal}", f"/dev/{name}")
    for folder in ("/dev/shm", "/dev/pts"):
        os.mkdir(folder)
    kernel.mount("tmpfs", "/dev/shm", _SAFE | kernel.NO_PROGRAMS, "mode=1777")
    with contextlib.suppress(OSError):  # a few kernels have none; only terminals need it
        kernel.mount("devpts", "/dev/pts", kernel.NO_SETUID | kernel.NO_PROGRAMS, "newinstance,ptmxmode=0666,mode=620")
        os.symlink("pts/ptmx", "/dev/ptmx")
    kernel.restrict("/dev", kernel.READ_ONLY | kernel.NO_SETUID, recursive=False)


def _fix_kernel_settings() -> None:
    for path in (f"/proc/{name}" for name in _OF_THE_KERNEL):
        if os.path.exists(path):
            clone = kernel.clone_mount(path)
            kernel.restrict(clone, _FIXED | kernel.NO_PROGRAMS)
            kernel.attach(clone, path)


def _make_place(path: str, is_folder: bool) -> None:
    """To mount on, if it is missing: below a cover."""
    if os.path.lexists(path):
        return
    os.makedirs(path if is_folder else os.path.dirname(path), mode=0o755, exist_ok=True)
    if not is_folder:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644))


def _attach_if_there(clone: int, path: str) -> None:
    if os.path.exists(path):
        kernel.attach(clone, path)
    else:
        os.close(clone)
