"""How a system is started: a program of its own, `python -m benchmarks.peers.start <file> <told as JSON>`, that trains until its
standard input ends. So it ends with whoever started it, however that ends.

What it can say of itself goes into `report.json` in its folder: `{"absent": "why"}` if it cannot run here."""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from multiprocessing import connection
from pathlib import Path
from typing import Any, NoReturn

from benchmarks.peers import work
from benchmarks.peers.counter import Counter


@dataclass(frozen=True)
class Told:
    item: str
    folder: str
    """For this launch alone: counters, the report, whatever the system writes."""
    data: str
    """Where `work.prepare` has put MNIST."""
    workers: int = 2
    seed: int = 1
    device: str = "cpu"
    """`cuda`: the first GPU, which all processes share."""
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def lr(self) -> float:
        return work.ITEMS[self.item].lr

    def json(self) -> str:
        return json.dumps(asdict(self))

    def report(self, **found: Any) -> None:
        (Path(self.folder) / "report.json").write_text(json.dumps(found))

    def absent(self, why: str) -> NoReturn:
        """Say that this system cannot run here, and end."""
        self.report(absent=why)
        raise SystemExit(0)


def only_dense(told: Told) -> None:
    """End a system that exchanges whole vectors if the item has a table."""
    if told.item == "clicks":
        told.absent("it exchanges whole vectors, and no rows of a table")


def when_told_to_end(act: Callable[[], None]) -> None:
    """`act` is called, in a thread of its own, when standard input ends."""

    def wait() -> None:
        while os.read(sys.stdin.fileno(), 4096):  # no lock is held that the end of the interpreter would wait for
            pass
        act()

    threading.Thread(target=wait, name="end", daemon=True).start()


def run_ranks(work_of: Callable[..., None], ranks: int, *given: Any) -> None:
    """`work_of(rank, *given)`, without end: rank 0 in this process, the others each in a new one, as `torchrun` and
    `torch.multiprocessing.spawn` have it, but without an idle parent. Returns never; a rank that fails ends all."""
    import torch.multiprocessing as mp

    torch_context = mp.get_context("spawn")
    others = [torch_context.Process(target=work_of, args=(rank, *given), daemon=True) for rank in range(1, ranks)]
    for other in others:
        other.start()

    def watch() -> None:
        ended = connection.wait([sys.stdin.fileno(), *(other.sentinel for other in others)])
        failed = sys.stdin.fileno() not in ended
        for other in others:
            other.kill()
        os._exit(1 if failed else 0)  # at once, before rank 0 can miss the others

    threading.Thread(target=watch, name="end", daemon=True).start()
    work_of(0, *given)


def in_background(work_of: Callable[..., None], *given: Any) -> multiprocessing.Process:
    """A process that runs `work_of(*given)`, started anew; it is killed with its parent's exit."""
    process = multiprocessing.get_context("spawn").Process(target=work_of, args=given, daemon=True)
    process.start()
    return process  # type: ignore[return-value]


def train(told: Told, rank: int, workers: int, model: Any, after_backward: Callable[[], None]) -> None:
    """The loop of a torch worker, without end: forward, backward, then whatever makes the step."""
    import torch

    torch.set_num_threads(1)
    counter, narrow = Counter(told.folder), told.options.get("precision") == "bf16"
    model = torch.compile(model) if told.options.get("compile") else model
    for images, labels in work.batches(told.data, told.item, rank, workers, told.seed):
        with torch.autocast(told.device, torch.bfloat16, enabled=narrow):
            loss = work.loss(told.item, model(images.to(told.device)), labels.to(told.device))
        loss.backward()
        after_backward()
        counter.add(len(labels), loss.item())
