"""Passes: which examples they have, and when they close."""

from __future__ import annotations

import numpy as np

from gradstream.center.passes.clock import MOST_OPEN, PassClock
from gradstream.observations.histograms import Observations
from gradstream.observations.passes import ClosedPass, PassObservations
from gradstream.observations.pushes import ObservedPushes


def seen(number: int, examples: int, label: float = 1.0) -> Observations:
    found = Observations(number=number)
    found.observe(np.zeros(examples), np.full(examples, label), np.ones(examples))
    return found


class Center:
    """Observations and clock, as a shard has them."""

    def __init__(self) -> None:
        self.observed, self.clock = ObservedPushes(), PassClock()

    def push(self, rank: int, number: int, *, ends: bool = False, counts: bool | None = True, label: float = 1.0) -> None:
        """`ends`: the pass is over for the rank with this push. `counts`: None: it is not decided yet."""
        self.observed.hold(rank, seen(number, 10, label))
        self.clock.hold(rank, number + ends)
        if counts is not None:
            self.decide(rank, counts=counts)

    def decide(self, rank: int, *, counts: bool = True) -> None:
        (self.observed.count if counts else self.observed.drop)(rank)
        self.clock.decide(rank)

    def closed(self, members: list[int]) -> list[ClosedPass]:
        self.clock.close(members)
        return self.observed.close_passes(self.clock.closed if members or self.clock.state()["undecided"] else None)  # type: ignore[index]


def test_a_pass_closes_when_all_live_workers_are_beyond_it() -> None:
    center = Center()
    center.push(0, 0)
    center.push(0, 1)
    assert center.closed([0, 1]) == [], "worker 1 has not pushed yet"
    center.push(1, 0, label=0.0)
    assert center.closed([0, 1]) == []
    center.push(1, 1)
    [(number, found)] = center.closed([0, 1])
    assert (number, found["accuracy"]) == (0, 0.5), "it has the examples of both"
    assert center.closed([0, 1]) == []


def test_a_pass_closes_with_the_last_pushes_of_it() -> None:
    center = Center()
    center.push(0, 0, ends=True)
    center.push(1, 0)
    assert center.closed([0, 1]) == []
    center.push(1, 0, ends=True, counts=None)
    assert center.closed([0, 1]) == [], "the push that ends it is not decided"
    center.decide(1)
    assert [number for number, _ in center.closed([0, 1])] == [0]


def test_workers_that_left_hold_no_pass_open_and_the_last_one_closes_all() -> None:
    center = Center()
    for rank, number in ((0, 0), (1, 0), (1, 1), (1, 2)):
        center.push(rank, number)
    assert [number for number, _ in center.closed([1])] == [0, 1]
    assert [number for number, _ in center.closed([])] == [2]
    assert center.clock.closed == 2, "workers left the pass in its midst, so it is not over"


def test_dropped_pushes_move_their_worker_on_but_do_not_count() -> None:
    center = Center()
    center.push(0, 0)
    center.push(0, 1, counts=False, label=0.0)
    center.push(0, 2)
    assert [(number, found["accuracy"]) for number, found in center.closed([0])] == [(0, 1.0)]


def test_examples_of_a_closed_pass_open_it_no_more() -> None:
    passes, clock = PassObservations(), PassClock()
    for number in range(MOST_OPEN + 3):
        clock.hold(0, number)
        clock.decide(0)
        passes.add(seen(number, 1))
    clock.hold(1, 0)
    clock.decide(1)
    assert clock.close([0, 1]) == 0
    assert [number for number, _ in passes.close(clock.closed)] == [0, 1, 2], "worker 1 is far behind"
    passes.add(seen(0, 1))
    passes.add(seen(3, 1))
    assert 0 not in passes._open


def test_a_held_push_keeps_its_pass_open() -> None:
    center = Center()
    center.push(0, 0, counts=None)
    center.push(1, 0)
    assert center.closed([]) == []
    center.decide(0)
    assert [number for number, _ in center.closed([])] == [0]


def test_a_resume_continues_them() -> None:
    center, resumed = Center(), Center()
    for rank, number in ((0, 0), (0, 1), (1, 0)):
        center.push(rank, number)
    center.push(1, 1, counts=None)
    resumed.observed.load(center.observed.state())
    resumed.clock.load(center.clock.state())
    for each in (center, resumed):
        each.decide(1)
    after = resumed.closed([0, 1])
    assert after == center.closed([0, 1]) != []
    assert PassClock().state() is None
