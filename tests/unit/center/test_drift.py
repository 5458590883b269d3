"""The distance between the center and a push's base: exact, and of the same pushes on every shard."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest
import torch

from gradstream.center.entries import NOT_FINITE, Init, Join, Leave, Payload, Push, Response, moved_in_all
from gradstream.center.parameters.drift import EVERY, MAX_WAIT
from gradstream.center.shard import Shard
from gradstream.sim.toys import job
from tests.unit.center.shards import ONE, begun, push

SIZE, CUTS = 12, (0, 5, 8, 12)
"""Elements of the center, and where its slices begin."""


class Walk:
    """Workers that pull and push, each over three shards; and the centers of all versions, whole, in float64."""

    def __init__(self, workers: int, strategy: Any = "async", **more: Any) -> None:
        spec = job({"name": strategy, "lr": 0.5}, workers=workers, shards=3, gate="asp", **more)
        self.shards = [Shard(spec) for _ in CUTS[1:]]
        self.bases = dict.fromkeys(range(workers), 0)
        self.seqs = dict.fromkeys(range(workers), 0)
        self.handle(Init(0, 0), torch.linspace(-1, 1, SIZE))
        for rank in range(workers):
            self.handle(Join(rank, 0))
        self.centers = [self.center()]

    def center(self) -> torch.Tensor:
        return torch.cat([shard.center.theta for shard in self.shards if shard.center]).double()

    def handle(self, entry: Any, x: torch.Tensor | None = None) -> list[tuple[Response, ...]]:
        """The responses, of all shards."""
        outputs = []
        for shard, start, stop in zip(self.shards, CUTS, CUTS[1:], strict=False):
            outputs.append(shard.handle(entry, None if x is None else Payload(x[start:stop])).responses)
        return list(zip(*outputs, strict=True))

    def push(self, rank: int, x: torch.Tensor, steps: int = 1) -> tuple[float | None, float]:
        """The distance that the shards tell, if they do, and the one that the centers have."""
        true = float((self.center() - self.centers[self.bases[rank]]).norm())
        self.seqs[rank] += 1
        [parts] = self.handle(Push(rank, 0, self.seqs[rank], self.bases[rank], steps, 1, "center", self.seqs[rank]), x)
        assert len({part.shared() for part in parts}) == 1, "all shards say the same, but for their parts"
        self.centers.append(self.center())
        self.bases[rank] = parts[0].version
        squared = moved_in_all(parts)
        return None if squared is None else math.sqrt(squared), true


@pytest.mark.parametrize("strategy", ["async", "dc_asgd"], ids=["copied", "kept by the strategy"])
def test_what_is_measured_is_the_distance_of_the_whole_center(strategy: str) -> None:
    walk, draw, generator = Walk(3, strategy), random.Random(7), torch.Generator().manual_seed(7)
    told = dict[int, list[tuple[float, float]]]({0: [], 1: [], 2: []})
    for _ in range(600):
        [rank] = draw.choices(range(3), weights=(5, 4, 1))
        distance, true = walk.push(rank, torch.randn(SIZE, generator=generator))
        if distance is not None:
            told[rank].append((distance, true))
    for rank, seq in walk.seqs.items():
        assert seq // EVERY - 2 <= len(told[rank]) <= seq // EVERY, "one in EVERY, less what waited for another one's"
        assert all(distance == pytest.approx(true, rel=1e-5) for distance, true in told[rank])
        assert any(true > 0 for _, true in told[rank])


def test_it_is_nothing_if_nobody_else_pushed() -> None:
    walk = Walk(1)
    assert [walk.push(0, torch.ones(SIZE))[0] for _ in range(3 * EVERY)].count(0.0) == 2


def test_windows_count_their_mini_batches_and_take_turns() -> None:
    walk = Walk(4, "adag")
    told = [rank for turn in range(40) for rank in range(4) if walk.push(rank, torch.ones(SIZE), steps=EVERY)[0] is not None]
    counts = [told.count(rank) for rank in range(4)]
    assert min(counts) >= 6
    assert max(counts) - min(counts) <= 2, "there is one copy, and all have it as often"


def test_a_worker_that_hangs_with_its_turn_does_not_end_the_others() -> None:
    walk = Walk(2)
    for _ in range(EVERY):
        walk.push(1, torch.ones(SIZE))  # now it has the copy
    told = [walk.push(0, torch.ones(SIZE)) for _ in range(MAX_WAIT + EVERY)]
    measured = [turn for turn, (distance, _) in enumerate(told) if distance is not None]
    assert measured[0] == MAX_WAIT, "it takes the copy with the center that it gets after so many; its next push is measured"
    assert all(told[turn][0] == pytest.approx(told[turn][1]) for turn in measured)
    assert walk.push(1, torch.ones(SIZE))[0] is None, "what it had is gone"


@pytest.mark.parametrize("gate", ["bsp", "asp"])
def test_nothing_is_kept_where_there_is_no_distance(gate: str) -> None:
    to = begun("bsp", 1) if gate == "bsp" else Shard(job({"name": "easgd", "lr": 0.5}, workers=1, gate="asp"))
    assert to._drift is None


def test_an_incarnation_that_ends_takes_its_copy_along() -> None:
    walk = Walk(2)
    for _ in range(EVERY):
        walk.push(0, torch.ones(SIZE))
    for _ in range(EVERY):
        assert walk.push(1, torch.ones(SIZE))[0] is None, "worker 0 has the copy"
    walk.handle(Leave(0, 0, "lost"))
    found = [walk.push(1, torch.ones(SIZE))[0] for _ in range(2)]
    assert found == [None, 0.0]


def test_a_push_that_is_dropped_is_not_measured_and_frees_its_place() -> None:
    to = begun({"mode": "asp", "max_staleness": 3}, 2)
    version = 0
    for seq in range(1, EVERY + 1):
        version = push(to, 0, seq, base=version).responses[0].version
    held = version
    for seq in range(1, EVERY + 1):
        version = push(to, 1, seq, base=version).responses[0].version
    [late] = push(to, 0, EVERY + 1, base=held).responses
    assert (late.outcome, late.moved) == ("dropped", None)
    version = push(to, 1, EVERY + 1, base=version).responses[0].version
    assert push(to, 1, EVERY + 2, base=version).responses[0].moved == 0.0


def test_what_is_not_finite_is_told_as_infinite() -> None:
    to = begun("asp", 1)
    for seq in range(1, EVERY + 1):
        push(to, 0, seq, base=seq - 1)
    assert to.center is not None
    to.center.theta[0] = torch.nan
    [response] = push(to, 0, EVERY + 1, base=EVERY, x=ONE).responses
    assert response.moved == NOT_FINITE
    assert moved_in_all([response, Response(0, 0, 1, "ok", 1, 1, 1, moved=2.0)]) == math.inf
