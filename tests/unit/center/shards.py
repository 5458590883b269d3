"""One shard, fed by hand: what the tests of the shard machine share."""

from __future__ import annotations

from typing import Any

import torch

from gradstream.center.entries import Buffers, Entry, Init, Join, Output, Payload, Push, Want
from gradstream.center.shard import Shard
from gradstream.sim.toys import job

ONE = torch.ones(3)


def shard(gate: Any = "asp", workers: int = 2, **more: Any) -> Shard:
    strategy = "sync" if "bsp" in str(gate) else "async"
    return Shard(job({"name": strategy, "lr": 0.5}, workers=workers, gate=gate, **more))


def begun(gate: Any = "asp", workers: int = 2, **more: Any) -> Shard:
    """One whose workers have all been let go."""
    made = shard(gate, workers, **more)
    made.handle(Init(0, 0), Payload(torch.zeros(3)))
    for rank in range(workers):
        made.handle(Join(rank, 0))
    return made


def push(
    to: Shard,
    rank: int,
    seq: int = 1,
    *,
    base: int = 0,
    incarnation: int = 0,
    want: Want = "center",
    finite: bool = True,
    x: torch.Tensor = ONE,
    buffers: Buffers | None = None,
    examples: int = 1,
) -> Output:
    entry = Push(rank, incarnation, seq, base, steps=1, examples=examples, want=want, position=seq, finite=finite)
    return to.handle(entry, Payload(x, buffers))


def told(output: Output) -> list[tuple[int, str, bool]]:
    return [(response.rank, response.outcome, response.go) for response in output.responses]


def last(to: Shard, *entries: Entry) -> list[tuple[int, str, bool]]:
    return [told(to.handle(entry)) for entry in entries][-1]


def theta(of: Shard) -> list[float]:
    assert of.center is not None
    return list(of.center.theta.tolist())
