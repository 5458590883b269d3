"""When workers expect a round: two alike before, and all may begin."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from gradstream.center.entries import EVALUATOR, Outcome, Push, Response
from gradstream.center.parameters.updates import PushUpdate, PushUpdates
from gradstream.serverless.collective.expected import ExpectedRound

ALL = (0, 1, 2)


def updates(examples: Sequence[int], ranks: Sequence[int] = ALL) -> PushUpdates:
    pushes = [
        Push(rank, 0, 1, base=0, steps=1, examples=count, want="center", position=1)
        for rank, count in zip(ranks, examples, strict=True)
    ]
    return PushUpdates(PushUpdate(push, torch.zeros(0), 0) for push in pushes)


def response(rank: int, outcome: Outcome = "ok", *, go: bool = False) -> Response:
    return Response(rank, 0, 1, outcome, version=0, samples=0, members=3, go=go)


class Turns:
    def __init__(self) -> None:
        self.expected = ExpectedRound(3)

    def round(
        self,
        examples: Sequence[int] = (8, 8, 16),
        pushing: Sequence[int] = ALL,
        counting: Sequence[int] = ALL,
        free: Sequence[int] = ALL,
        told: Outcome | None = None,
    ) -> bool:
        """A turn in which these push, and then a round closes. Returns whether that was the expected one."""
        for rank in pushing:
            self.expected.note_push(rank)
        came_true = self.expected.note_round(updates(examples, counting))
        self.expected.note_responses([response(rank, go=True) for rank in free])
        self.expected.note_responses([response(EVALUATOR, "stop")])
        if told:
            self.expected.note_responses([response(1, told)])
        self.expected.end_turn()
        return came_true


def test_two_equal_rounds_let_the_third_be_expected() -> None:
    turns = Turns()
    assert [turns.round() for _ in range(4)] == [False, False, True, True]
    assert turns.expected.weights == (0.25, 0.25, 0.5)


def test_a_mini_batch_of_another_size_costs_one_wrong_expectation() -> None:
    turns = Turns()
    rounds = [(8, 8, 16)] * 3 + [(8, 8, 4)] + [(8, 8, 16)] * 3
    expected = []
    for examples in rounds:
        expected.append(turns.expected.weights)
        turns.round(examples)
    usual = (0.25, 0.25, 0.5)
    assert expected == [None, None, usual, usual, None, None, usual]


def test_all_have_to_push_in_one_turn() -> None:
    turns = Turns()
    turns.round()
    turns.round()
    assert not turns.round(pushing=(1,)), "the others pushed in an earlier turn, as where one waits for data"
    turns.round()
    assert turns.expected.weights is None
    turns.round()
    assert turns.expected.weights


def test_nothing_is_expected_while_a_worker_may_not_begin() -> None:
    for told, free in ((None, (0, 2)), ("checkpoint", ALL), ("stop", ALL)):
        turns = Turns()
        turns.round()
        turns.round(told=told, free=free)  # type: ignore[arg-type]
        assert turns.expected.weights is None


def test_a_turn_without_a_round_ends_the_expectation() -> None:
    turns = Turns()
    turns.round()
    turns.round()
    turns.expected.note_responses([response(rank, go=True) for rank in ALL])
    turns.expected.end_turn()
    assert turns.expected.weights is None
    assert not turns.round()


def test_a_round_without_one_of_them_is_not_the_expected_one() -> None:
    turns = Turns()
    turns.round()
    turns.round()
    assert not turns.round(examples=(8, 16), counting=(0, 2)), "the push of worker 1 was not finite"
    assert turns.expected.weights is None
