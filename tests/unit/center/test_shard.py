"""The shard machine, one entry at a time: who is answered what, and when. Gates and checkpoints have files of their own."""

from __future__ import annotations

import pytest
import torch

from gradstream.center.entries import (
    EVALUATOR,
    Buffers,
    Init,
    Join,
    Leave,
    Payload,
    ProtocolError,
    Pull,
    Push,
    Response,
    StopWorkers,
)
from gradstream.center.parameters.updates import PushUpdate, PushUpdates
from gradstream.center.shard import Shard
from tests.unit.center.shards import ONE, begun, last, push, shard, theta, told


class TestBeginning:
    def test_first_responses_wait_for_all_ranks_and_theta(self) -> None:
        to = shard(workers=3)
        assert last(to, Join(2, 0), Join(0, 0)) == []
        assert last(to, Leave(1, 0, "lost")) == []
        assert told(to.handle(Init(0, 0), Payload(ONE))) == [(0, "ok", True), (2, "ok", True)]

    def test_first_init_wins(self) -> None:
        to = begun()
        to.handle(Init(0, 1), Payload(ONE))
        assert theta(to) == [0, 0, 0]

    def test_the_center_is_a_copy_of_what_was_proposed(self) -> None:
        proposed, to = torch.zeros(3), shard(workers=1)
        to.handle(Init(0, 0), Payload(proposed))
        to.handle(Join(0, 0))
        push(to, 0)
        assert proposed.tolist() == [0, 0, 0]
        assert theta(to) == [-0.5, -0.5, -0.5]

    def test_evaluators_are_answered_once_there_is_a_center(self) -> None:
        to = shard(workers=1)
        to.handle(Join(EVALUATOR, 0))
        assert last(to, Pull(EVALUATOR, 0, 1), Join(0, 0)) == []
        assert told(to.handle(Init(0, 0), Payload(ONE))) == [(EVALUATOR, "ok", False), (0, "ok", True)]

    def test_a_push_before_anything_is_a_protocol_error(self) -> None:
        to = shard(workers=1)
        to.handle(Join(0, 0))
        with pytest.raises(ProtocolError, match="before the center"):
            push(to, 0)


class TestIncarnations:
    def test_a_repeat_changes_nothing(self) -> None:
        to = begun()
        push(to, 0)
        assert push(to, 0).responses == []
        assert to.ledger.accounts[0].pushed == 1

    def test_a_gap_is_a_protocol_error(self) -> None:
        with pytest.raises(ProtocolError, match="entry 2 follows 0"):
            push(begun(), 0, seq=2)

    def test_a_push_without_payload_is_a_protocol_error(self) -> None:
        with pytest.raises(ProtocolError, match="no payload"):
            begun().handle(Push(0, 0, 1, 0, 1, 1, "center", 1))

    def test_only_the_newest_incarnation_counts(self) -> None:
        to = begun()
        to.handle(Join(0, 1))
        assert told(push(to, 0, incarnation=0)) == [(0, "fenced", False)]
        assert to.ledger.accounts[0].dropped_superseded == to.ledger.accounts[0].dropped
        assert theta(to) == [0, 0, 0]
        assert told(push(to, 0, incarnation=1)) == [(0, "applied", True)]

    def test_a_fenced_push_is_counted_once(self) -> None:
        to = begun()
        to.handle(Join(0, 1))
        for _ in range(3):
            push(to, 0, incarnation=0)
        assert (to.ledger.accounts[0].pushed, to.ledger.accounts[0].dropped) == (1, 1)

    def test_a_leave_bars_its_incarnation_and_all_before(self) -> None:
        to = begun()
        to.handle(Leave(0, 3, "lost"))
        assert 0 not in to.members
        to.handle(Join(0, 3))
        assert 0 not in to.members
        to.handle(Join(0, 4))
        assert to.members[0].incarnation == 4

    def test_a_late_leave_of_an_old_incarnation_spares_the_new_one(self) -> None:
        to = begun()
        to.handle(Join(0, 1))
        to.handle(Leave(0, 0, "lost"))
        assert to.members[0].incarnation == 1

    def test_a_new_incarnation_goes_on_where_the_pushes_of_the_last_end(self) -> None:
        to = begun()
        push(to, 0)
        push(to, 0, seq=2)
        (response,) = to.handle(Join(0, 1)).responses
        assert (response.position, response.version, response.go) == (2, 2, True)


class TestStaleness:
    def test_counts_changes_since_the_pull(self) -> None:
        to = begun()
        assert push(to, 0).decisions[0].staleness == 0
        assert push(to, 1).decisions[0].staleness == 1

    def test_max_staleness_drops_and_the_version_stays(self) -> None:
        to = begun({"max_staleness": 1})
        push(to, 0)
        output = push(to, 1)
        assert [(d.outcome, d.staleness, d.reason) for d in output.decisions] == [("dropped", 1, "stale")]
        assert (told(output), output.responses[0].version) == ([(1, "dropped", True)], 1)

    def test_what_is_not_finite_is_dropped(self) -> None:
        to = begun()
        push(to, 0, finite=False, x=torch.full((3,), torch.nan))
        assert theta(to) == [0, 0, 0]
        assert to.ledger.accounts[0].dropped_not_finite == 1

    def test_acknowledgements_bring_nothing(self) -> None:
        first, second = push(begun(), 0, want="ack").responses
        assert (first.seq, first.outcome, first.brings, first.go) == (1, "applied", "nothing", False)
        assert (second.seq, second.outcome, second.go) == (0, "go", True)


class TestEnd:
    def test_over_when_all_have_left_by_themselves(self) -> None:
        to = begun()
        to.handle(Join(EVALUATOR, 0))
        to.handle(Leave(0, 0, "done"))
        output = to.handle(Leave(1, 0, "done"))
        assert told(output) == [(EVALUATOR, "over", False)]
        assert output.checkpoint is not None
        assert not to.ended
        to.handle(Leave(EVALUATOR, 0, "done"))
        assert to.ended

    def test_not_over_while_a_lost_worker_may_come_back(self) -> None:
        to = begun()
        to.handle(Leave(0, 0, "done"))
        to.handle(Leave(1, 0, "lost"))
        assert not to.over
        to.handle(Join(1, 1))
        to.handle(Leave(1, 1, "done"))
        assert to.over

    def test_an_exit_that_is_seen_after_the_leave_changes_nothing(self) -> None:
        to = begun(workers=1)
        to.handle(Leave(0, 0, "done"))
        to.handle(Leave(0, 0, "lost"))
        assert to.over

    def test_an_evaluator_that_joins_afterwards_is_told(self) -> None:
        to = begun(workers=1)
        to.handle(Leave(0, 0, "done"))
        assert last(to, Join(EVALUATOR, 1)) == [(EVALUATOR, "over", False)]

    def test_who_joins_while_the_job_stops_is_told(self) -> None:
        to = begun()
        to.handle(StopWorkers("enough"))
        assert (1, "stop", False) in last(to, Join(1, 1))


class TestBuffers:
    def test_floats_are_averaged_with_weights_and_integers_come_from_the_lowest_rank(self) -> None:
        to = with_buffers()
        push(to, 1, buffers=Buffers(torch.tensor([4.0]), torch.tensor([7])), examples=3)
        push(to, 0, buffers=Buffers(torch.tensor([8.0]), torch.tensor([2])), examples=1)
        given = center_of(to.handle(Pull(0, 0, 2)).responses[0])
        assert (given.floats.tolist(), given.ints.tolist()) == ([5.0], [2])

    def test_are_those_of_the_model_until_somebody_pushes(self) -> None:
        given = center_of(with_buffers().handle(Pull(0, 0, 1)).responses[0])
        assert (given.floats.tolist(), given.ints.tolist()) == ([1.0], [0])

    def test_of_a_dropped_push_do_not_count(self) -> None:
        """Those that come with a NaN are likely to hold one."""
        to = with_buffers()
        push(to, 0, finite=False, buffers=Buffers(torch.tensor([torch.nan]), torch.tensor([1])))
        assert center_of(to.handle(Pull(0, 0, 2)).responses[0]).floats.tolist() == [1.0]

    def test_survive_a_checkpoint(self) -> None:
        to = with_buffers()
        push(to, 1, buffers=Buffers(torch.tensor([4.0]), torch.tensor([7])))
        resumed = shard()
        resumed.load(to.state())
        assert resumed.center is not None
        assert resumed.center.buffers is not None
        assert resumed.center.buffers.value() == Buffers(torch.tensor([4.0]), torch.tensor([7]))


def with_buffers() -> Shard:
    to = shard()
    to.handle(Init(0, 0), Payload(torch.zeros(3), Buffers(torch.tensor([1.0]), torch.tensor([0]))))
    to.handle(Join(0, 0))
    to.handle(Join(1, 0))
    return to


def center_of(response: Response) -> Buffers:
    assert response.payload is not None
    assert response.payload.buffers is not None
    return response.payload.buffers


def test_pushes_without_examples_have_a_plain_mean() -> None:
    """As a round has that begins with a push, before the first mini-batch."""
    pushes = [Push(rank, 0, 1, base=0, steps=0, examples=0, want="center", position=0) for rank in range(4)]
    us = PushUpdates(PushUpdate(push, torch.full((3,), float(push.rank)), 0) for push in pushes)
    assert us.mean().tolist() == [1.5, 1.5, 1.5]
