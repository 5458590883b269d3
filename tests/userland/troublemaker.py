"""User code that takes what it can get, or breaks its own process: one kind of trouble for each job."""

import ctypes
import gc
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
from redis import Redis, RedisError
from torch import nn
from torch.utils.data import Dataset, TensorDataset

from gradstream import Workload
from gradstream.sandbox import door
from gradstream.wire.plane import account
from gradstream.wire.redis import keys

KEPT: list[Any] = []
"""Memory and files stay in use until the process ends."""
READ_WITHIN = 5.0
"""Seconds within which an agent reads a log."""
FLOODS_FOR = 60.0
"""Seconds; its job is ended long before."""


def forks() -> None:
    for _ in range(200):
        if not os.fork():
            os.setsid()
            time.sleep(600)
            os._exit(0)


def forks_that_fork() -> None:
    """64 processes, and no more."""
    parent = os.getpid()
    for _ in range(6):
        os.fork()
    if os.getpid() != parent:
        time.sleep(600)
        os._exit(0)


def daemons() -> None:
    """In sessions of their own, one of them without a parent, deaf for polite signals."""
    code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.signal(signal.SIGHUP, signal.SIG_IGN); "
    command = [sys.executable, "-c", code + "time.sleep(600)"]
    subprocess.Popen(command, start_new_session=True)
    if not os.fork():
        os.setsid()
        subprocess.Popen(command)
        os._exit(0)


def threads() -> None:
    for _ in range(500):
        threading.Thread(target=time.sleep, args=(600,), daemon=True).start()


def memory() -> None:
    KEPT.append(bytearray(os.urandom(1 << 20) * 300))


def descriptors() -> None:
    try:
        while True:
            KEPT.append(socket.socket())
    except OSError:
        KEPT.clear()  # else nothing of its own goes on


def disk() -> None:
    for folder in ("/tmp", "."):
        Path(folder, "filled").write_bytes(bytes(100 << 20))


def folders() -> None:
    for number in range(2_000):
        os.makedirs(f"many/{number}/a/b/c")


def shared_memory() -> None:
    Path("/dev/shm/filled").write_bytes(bytes(50 << 20))


def deaf() -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    time.sleep(600)


def kills_its_group() -> None:
    os.killpg(0, signal.SIGKILL)


def kills_all_that_it_may() -> None:
    os.kill(-1, signal.SIGKILL)


def stops_itself() -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


def closes_everything() -> None:
    os.closerange(0, 4096)


def aborts() -> None:
    os.abort()


def removes_its_folder() -> None:
    time.sleep(READ_WITHIN)
    os.system("rm -rf . ../* 2>/dev/null")


def binary_output() -> None:
    os.write(1, os.urandom(1 << 20) + b"\x1b[2J\x00" * 1000)


def endless_line() -> None:
    sys.stdout.write("x" * (20 << 20))


def recursion() -> None:
    recursion()


def many_lines() -> None:
    for _ in range(64):
        sys.stdout.write(("x" * 63 + "\n") * 2**12)


def looks_into_others() -> None:
    """Trace, and read the environment and the memory, of every process in sight."""
    libc, own = ctypes.CDLL(None), os.getpid()
    for pid in (int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != own):
        libc.ptrace(16, pid, 0, 0)
        for name in ("environ", "mem", "maps"):
            with suppress(OSError), Path("/proc", str(pid), name).open("rb") as file:
                file.read(1)


def goes_first() -> None:
    for which, who in ((os.PRIO_PROCESS, 0), (os.PRIO_PGRP, 0), (os.PRIO_USER, 0)):
        with suppress(OSError):
            os.setpriority(which, who, -20)
    with suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))


def computes() -> None:
    ends = time.monotonic() + 5
    while time.monotonic() < ends:
        pass


def links() -> None:
    """Where its process reports, and where it stores."""
    time.sleep(READ_WITHIN)
    for folder in ("..", ".", "/tmp"):
        for name in ("exit.json", "hang.json", "state.json", "result.json", "model.safetensors", "log"):
            with suppress(OSError):
                Path(folder, name).unlink(missing_ok=True)
                Path(folder, name).symlink_to("/etc/passwd")


def changes_its_code() -> None:
    code = Path("..", "code")
    for path in (code / "steady.py", code / "planted.py", Path(__file__)):
        with suppress(OSError):
            path.chmod(0o777)
        with suppress(OSError):
            path.write_text("raise SystemExit")


def connections_to_the_api(address: str) -> None:
    """Half-sent requests, all at once."""
    with suppress(OSError):
        for _ in range(300):
            KEPT.append(door.connect(address))
            KEPT[-1].sendall(b"POST /api/v1/session HTTP/1.1\r\nhost: x\r\nx-")


def floods_the_data_plane() -> None:
    """Write into streams and keys of the own attempt as fast as four threads can, until the plane takes no more."""
    redis = next(each for each in gc.get_objects() if isinstance(each, Redis))
    j = redis.connection_pool.connection_kwargs["username"].removeprefix(account(""))
    ends = time.monotonic() + FLOODS_FOR

    def write(thread: int) -> None:
        number = 0
        while time.monotonic() < ends:
            number += 1
            with suppress(RedisError):  # out of memory: what others free is taken at once
                redis.xadd(keys.metrics(j), {"x": bytes(2**20)})
                redis.set(f"gs:{{{j}:{number % 64}}}:{thread}.{number}", bytes(2**20))

    KEPT.extend(threading.Thread(target=write, args=(thread,), daemon=True) for thread in range(4))
    for each in KEPT[-4:]:
        each.start()
    for each in KEPT[-4:]:
        each.join()


def exits_while_it_loads() -> None:
    """Nothing here: see `Exits`."""


def loss_is_not_finite() -> float:
    return float("nan")


def names_of_metrics() -> None:
    """Nothing here: see `Troublemaker.evaluate`."""


TROUBLE: dict[str, Callable[..., float | None]] = {
    made.__name__: made
    for made in (
        forks,
        threads,
        memory,
        descriptors,
        disk,
        folders,
        shared_memory,
        deaf,
        kills_its_group,
        kills_all_that_it_may,
        stops_itself,
        closes_everything,
        aborts,
        removes_its_folder,
        binary_output,
        endless_line,
        recursion,
        forks_that_fork,
        daemons,
        many_lines,
        looks_into_others,
        goes_first,
        computes,
        links,
        changes_its_code,
        connections_to_the_api,
        floods_the_data_plane,
        exits_while_it_loads,
        loss_is_not_finite,
        names_of_metrics,
    )
}


def say() -> None:
    """Say that the trouble begins. Who removes the log waits first, so that the agent has read it."""
    sys.stdout.write("TROUBLE\n")
    sys.stdout.flush()


class Exits(Dataset[tuple[torch.Tensor, torch.Tensor]]):
    def __len__(self) -> int:
        return 64

    def __getitem__(self, at: int) -> tuple[torch.Tensor, torch.Tensor]:
        say()
        os._exit(3)


class Troublemaker(Workload):
    classifies = False
    kind: str
    api: str = ""
    """Host and port."""

    def model(self) -> nn.Module:
        return nn.Linear(8, 1)

    def dataset(self, split: str) -> Dataset[tuple[torch.Tensor, ...]]:
        if self.kind == "exits_while_it_loads" and split == "train":
            return Exits()
        x = torch.randn(64, 8)
        return TensorDataset(x, x.sum(1, keepdim=True))

    def loss(self, model: nn.Module, batch: list[torch.Tensor]) -> torch.Tensor:
        if model.training and not hasattr(self, "factor"):
            say()
            self.factor = 1.0
            arguments = (self.api,) if self.kind == "connections_to_the_api" else ()
            self.factor = TROUBLE[self.kind](*arguments) or 1.0
        loss = nn.functional.mse_loss(model(batch[0]), batch[1])
        return loss * self.factor if model.training else loss

    def evaluate(self, model: nn.Module, batch: list[torch.Tensor]) -> dict[str, float]:
        more = {f"{'n' * 5000}{at}": float("nan") for at in range(2000)} if self.kind == "names_of_metrics" else {}
        return {**super().evaluate(model, batch), **more}
