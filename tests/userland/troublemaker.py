"""User code that takes what it can get, or breaks its own process: one kind of trouble for each job."""

import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.utils.data import TensorDataset

from gradstream import Workload

KEPT: list[Any] = []
"""Memory and files stay in use until the process ends."""


def forks() -> None:
    for _ in range(200):
        if not os.fork():
            os.setsid()
            time.sleep(600)
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
    os.system("rm -rf . ../* 2>/dev/null")


def binary_output() -> None:
    os.write(1, os.urandom(1 << 20) + b"\x1b[2J\x00" * 1000)


def endless_line() -> None:
    sys.stdout.write("x" * (20 << 20))


def recursion() -> None:
    recursion()


TROUBLE: dict[str, Callable[[], None]] = {
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
    )
}


class Troublemaker(Workload):
    classifies = False
    kind: str

    def model(self) -> nn.Module:
        return nn.Linear(8, 1)

    def dataset(self, split: str) -> TensorDataset:
        x = torch.randn(64, 8)
        return TensorDataset(x, x.sum(1, keepdim=True))

    def loss(self, model: nn.Module, batch: list[torch.Tensor]) -> torch.Tensor:
        if model.training and not hasattr(self, "made"):
            self.made = True
            sys.stdout.write("TROUBLE\n")
            sys.stdout.flush()
            TROUBLE[self.kind]()
        return nn.functional.mse_loss(model(batch[0]), batch[1])
