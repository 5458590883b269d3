"""Passes: which examples they have, and when they close."""

from __future__ import annotations

import numpy as np

from gradstream.observations.histograms import Observations
from gradstream.observations.passes import _MOST_OPEN, ClosedPass, PassObservations
from gradstream.observations.pushes import ObservedPushes


def seen(number: int, examples: int, label: float = 1.0) -> Observations:
    found = Observations(number=number)
    found.observe(np.zeros(examples), np.full(examples, label), np.ones(examples))
    return found


def push(to: ObservedPushes, rank: int, number: int, *, counts: bool = True, label: float = 1.0) -> None:
    to.hold(rank, seen(number, 10, label))
    if counts:
        to.count(rank)
    else:
        to.drop(rank)


def closed(observed: ObservedPushes, members: list[int]) -> list[ClosedPass]:
    return observed.close_passes(lambda: members)


def test_a_pass_closes_when_all_live_workers_are_beyond_it() -> None:
    observed = ObservedPushes()
    push(observed, 0, 0)
    push(observed, 0, 1)
    assert closed(observed, [0, 1]) == [], "worker 1 has not pushed yet"
    push(observed, 1, 0, label=0.0)
    assert closed(observed, [0, 1]) == []
    push(observed, 1, 1)
    [(number, found)] = closed(observed, [0, 1])
    assert (number, found["accuracy"]) == (0, 0.5), "it has the examples of both"
    assert closed(observed, [0, 1]) == []


def test_workers_that_left_hold_no_pass_open_and_the_last_one_closes_all() -> None:
    observed = ObservedPushes()
    for rank, number in ((0, 0), (1, 0), (1, 1), (1, 2)):
        push(observed, rank, number)
    assert [number for number, _ in closed(observed, [1])] == [0, 1]
    assert [number for number, _ in closed(observed, [])] == [2]


def test_dropped_pushes_move_their_worker_on_but_do_not_count() -> None:
    observed = ObservedPushes()
    push(observed, 0, 0)
    push(observed, 0, 1, counts=False, label=0.0)
    push(observed, 0, 2)
    assert [(number, found["accuracy"]) for number, found in closed(observed, [0])] == [(0, 1.0)]


def test_examples_of_a_closed_pass_open_it_no_more() -> None:
    passes = PassObservations()
    for number in range(_MOST_OPEN + 3):
        passes.enter(0, number)
        passes.add(seen(number, 1))
    passes.enter(1, 0)
    assert [number for number, _ in passes.close([0, 1])] == [0, 1, 2], "worker 1 is far behind"
    passes.add(seen(0, 1))
    passes.add(seen(3, 1))
    assert 0 not in passes._open


def test_a_held_push_keeps_its_pass_open() -> None:
    observed = ObservedPushes()
    observed.hold(0, seen(0, 10))
    push(observed, 1, 0)
    assert closed(observed, []) == []
    observed.count(0)
    assert [number for number, _ in closed(observed, [])] == [0]


def test_a_resume_continues_them() -> None:
    observed, resumed = ObservedPushes(), ObservedPushes()
    for rank, number in ((0, 0), (0, 1), (1, 0)):
        push(observed, rank, number)
    resumed.load(observed.state())
    for each in (observed, resumed):
        push(each, 1, 1)
    assert closed(resumed, [0, 1]) == closed(observed, [0, 1]) != []
