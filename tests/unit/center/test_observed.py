"""Observations of pushes at shard 0: each counts once if its push counts, and never if it is dropped."""

from __future__ import annotations

import numpy as np
import torch

from gradstream.center.entries import Join, Leave, Payload, Push
from gradstream.center.shard import Shard
from gradstream.observations.histograms import Observations
from tests.unit.center.shards import ONE, begun, shard


def seen(examples: int) -> Observations:
    found = Observations()
    found.observe(np.zeros(examples), np.ones(examples), np.ones(examples))
    return found


def push(to: Shard, rank: int, seq: int, examples: int, *, base: int = 0, finite: bool = True, incarnation: int = 0) -> None:
    entry = Push(rank, incarnation, seq, base, 1, examples, "center", seq, finite)
    to.handle(entry, Payload(ONE, observed=seen(examples), passes_over=0))


def counted(at: Shard) -> int:
    return at.observed.counted.examples


def test_a_push_counts_once_and_its_repeat_never() -> None:
    asp = begun()
    push(asp, 0, 1, 10)
    push(asp, 0, 1, 10)
    push(asp, 1, 1, 5)
    assert counted(asp) == 15


def test_dropped_pushes_do_not_count() -> None:
    asp = begun({"mode": "asp", "max_staleness": 1})
    push(asp, 0, 1, 10)
    push(asp, 1, 1, 100)  # stale
    push(asp, 0, 2, 100, base=1, finite=False)
    push(asp, 1, 2, 1000, base=1, incarnation=7)  # of an incarnation that never joined
    push(asp, 1, 2, 5, base=1)
    assert counted(asp) == 15


def test_a_round_counts_when_it_closes_without_those_beyond_the_quorum() -> None:
    bsp = begun({"mode": "bsp", "quorum": 2}, workers=3)
    push(bsp, 2, 1, 10)
    assert counted(bsp) == 0
    push(bsp, 0, 1, 5)
    assert counted(bsp) == 15
    push(bsp, 1, 1, 100)  # its base is gone
    assert counted(bsp) == 15


def test_a_pending_push_of_a_worker_that_left_counts_and_survives_a_checkpoint() -> None:
    bsp = begun({"mode": "bsp"})
    push(bsp, 0, 1, 10)
    bsp.handle(Leave(0, 0, "lost"))
    resumed = shard({"mode": "bsp"})
    resumed.load(bsp.state())
    for each in (bsp, resumed):
        assert counted(each) == 0
    push(bsp, 1, 1, 5)
    assert counted(bsp) == 15
    resumed.handle(Leave(0, 0, "lost"))
    resumed.handle(Leave(1, 0, "done"))
    assert counted(resumed) == 10


def test_a_pass_waits_for_a_lost_worker_and_ends_when_all_are_done() -> None:
    asp = begun(workers=1)
    push(asp, 0, 1, 10)
    assert asp.handle(Leave(0, 0, "lost")).passes == []
    assert asp.handle(Join(0, 1)).passes == []
    push(asp, 0, 1, 10, incarnation=1)
    [(number, found)] = asp.handle(Leave(0, 1, "done")).passes
    assert (number, found["accuracy"]) == (0, 1.0)


def test_a_shard_without_observations_has_the_state_that_it_always_had() -> None:
    asp = begun()
    asp.handle(Push(0, 0, 1, 0, 1, 1, "center", 1), Payload(torch.ones(3)))
    assert "observed" not in asp.state()
    push(asp, 0, 2, 10, base=1)
    assert "observed" in asp.state()
