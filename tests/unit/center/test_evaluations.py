"""Evaluations and checkpoints by samples: the log decides where they fall, whatever the evaluator's clock does."""

from __future__ import annotations

import torch

from gradstream.center.entries import EVALUATOR, Checkpoint, Init, Join, Leave, Output, Payload, Pull, Rejected, Response, Saved
from gradstream.center.shard import Shard
from gradstream.spec.cadence import HOLD_AT
from tests.unit.center.shards import begun, push, shard, told


def evaluated(every: str = "4 samples", gate: str = "bsp", **more: object) -> Shard:
    return begun(gate, workers=1, evaluate={"every": every}, **more)


def given(output: Output) -> list[tuple[int, int, list[float], str]]:
    """(samples, version, center, outcome) of what evaluators are given."""
    return [_as_given(response) for response in output.responses if response.rank == EVALUATOR]


def _as_given(response: Response) -> tuple[int, int, list[float], str]:
    assert response.payload is not None
    return response.samples, response.version, response.payload.x.tolist(), response.outcome


def ask(to: Shard, seq: int, incarnation: int = 0) -> list[tuple[int, int, list[float], str]]:
    if seq == 1:
        to.handle(Join(EVALUATOR, incarnation))
    return given(to.handle(Pull(EVALUATOR, incarnation, seq)))


def train(to: Shard, rounds: int, examples: int = 2) -> list[tuple[int, int, list[float], str]]:
    found = []
    for _ in range(rounds):
        member = to.members[0]
        found += given(push(to, 0, member.seq + 1, base=to.center.version if to.center else 0, examples=examples))
    return found


def test_a_slow_evaluator_and_a_fast_one_are_given_the_same_centers() -> None:
    fast, slow = evaluated(), evaluated()
    seen = ask(fast, 1)
    for seq in range(2, 5):
        assert ask(fast, seq) == [], "the next one is not due yet"
        seen += train(fast, 2)
    train(slow, 6)
    assert [one for seq in range(1, 5) for one in ask(slow, seq)] == seen
    assert [(samples, version) for samples, version, _, _ in seen] == [(0, 0), (4, 2), (8, 4), (12, 6)]
    assert seen[1][2] == [-1.0, -1.0, -1.0]


def test_an_update_that_passes_several_is_evaluated_once() -> None:
    to = evaluated("4 samples")
    ask(to, 1)
    ask(to, 2)
    assert [one[0] for one in train(to, 1, examples=11)] == [11]
    ask(to, 3)
    assert [one[0] for one in train(to, 1, examples=1)] == [12], "the next multiple"


def test_epochs_are_counted_in_samples_that_the_first_worker_tells() -> None:
    to = shard("bsp", workers=1, evaluate={"every": "0.5 epochs"})
    to.handle(Init(0, 0, epoch_samples=8, total_samples=80), Payload(torch.zeros(3)))
    to.handle(Join(0, 0))
    ask(to, 1)
    ask(to, 2)
    assert [one[0] for one in train(to, 2)] == [4]


def test_workers_wait_at_the_gate_when_the_evaluator_is_far_behind_and_go_on_when_it_asks() -> None:
    to = evaluated("2 samples")
    for kept in range(2, HOLD_AT):
        output = push(to, 0, kept - 1, base=kept - 2, examples=2)
        assert told(output) == [(0, "applied", True)]
    assert told(push(to, 0, HOLD_AT - 1, base=HOLD_AT - 2, examples=2)) == [], "nobody begins another round"
    assert ask(to, 1)[0][0] == 0
    responses = told(to.handle(Pull(EVALUATOR, 0, 2)))
    assert responses == [(EVALUATOR, "ok", False), (0, "applied", True)]


def test_a_worker_that_is_held_is_not_let_go_by_a_checkpoint() -> None:
    to = evaluated("2 samples")
    train(to, HOLD_AT - 1)
    to.handle(Checkpoint(1))
    output = to.handle(Saved(0, 0, to.members[0].seq + 1, 1))
    assert output.checkpoint is not None
    assert told(output) == [(0, "saved", False)]


def test_what_a_lost_evaluator_was_given_is_given_to_the_next_one() -> None:
    to = evaluated()
    first = ask(to, 1)
    to.handle(Leave(EVALUATOR, 0, "lost"))
    assert ask(to, 1, incarnation=1) == first
    train(to, 2)
    assert ask(to, 2, incarnation=1)[0][0] == 4


def test_one_that_could_not_be_read_is_given_again_as_it_was() -> None:
    to = evaluated()
    first = ask(to, 1)
    train(to, 1)
    again = to.handle(Rejected(EVALUATOR, 0, 1, seq=1, outcome="ok", go=False, version=0, brings="center"))
    assert given(again) == first


def test_the_last_center_comes_after_all_that_wait() -> None:
    to = evaluated()
    train(to, 3)
    output = to.handle(Leave(0, 0, "done"))
    assert output.checkpoint is not None
    seen = [one for seq in (1, 2, 3) for one in ask(to, seq)]
    assert [(samples, outcome) for samples, _, _, outcome in seen] == [(0, "ok"), (4, "ok"), (6, "over")]
    to.handle(Leave(EVALUATOR, 0, "done"))
    assert to.ended


def test_a_job_that_resumes_evaluates_what_the_undisturbed_one_does() -> None:
    whole = evaluated()
    train(whole, 3)
    state = whole.state()
    resumed = Shard(whole.spec)
    resumed.load(state)
    resumed.handle(Join(0, 0))
    train(whole, 1)
    train(resumed, 1)
    assert [ask(resumed, seq) for seq in (1, 2, 3)] == [ask(whole, seq) for seq in (1, 2, 3)]


def test_checkpoints_by_samples_are_asked_for_by_the_shards() -> None:
    to = begun("bsp", workers=1, checkpoint={"every": "4 samples"})
    assert told(push(to, 0, 1, base=0, examples=2)) == [(0, "applied", True)]
    assert told(push(to, 0, 2, base=1, examples=2)) == [(0, "checkpoint", False), (0, "applied", True)]
    output = to.handle(Saved(0, 0, 3, 1))
    assert output.checkpoint is not None
    assert output.checkpoint[0] == 1
    resumed = Shard(to.spec)
    resumed.load(output.checkpoint[2])
    resumed.handle(Join(0, 0))
    push(resumed, 0, 1, base=2, examples=3)
    assert told(push(resumed, 0, 2, base=3, examples=1))[0] == (0, "checkpoint", False), "at 8 samples, as without the resume"
