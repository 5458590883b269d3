"""The gates, one entry at a time: whose pushes count together, and who may begin."""

from __future__ import annotations

from gradstream.center.entries import Checkpoint, Join, Leave, Saved
from tests.unit.center.shards import ONE, begun, last, push, shard, theta, told


class TestSsp:
    def test_holds_back_who_is_ahead_and_lets_go_with_the_newest_center(self) -> None:
        to = begun({"ssp": 0})
        assert told(push(to, 0)) == []
        responses = push(to, 1).responses
        assert [(a.rank, a.outcome, a.version, a.go) for a in responses] == [(0, "applied", 2, True), (1, "applied", 2, True)]

    def test_a_leave_lets_go(self) -> None:
        to = begun({"ssp": 0})
        push(to, 0)
        assert last(to, Leave(1, 0, "lost")) == [(0, "applied", True)]

    def test_a_joiner_starts_at_the_lowest_clock(self) -> None:
        to = begun({"ssp": 1}, workers=3)
        for seq in (1, 2):
            push(to, 0, seq)
            push(to, 1, seq)
            to.handle(Leave(2, 0, "lost"))
        to.handle(Join(2, 1))
        assert to.members[2].clock == 2

    def test_after_a_resume_the_first_to_join_does_not_start_at_zero(self) -> None:
        """It did, if the checkpoint had been made without it: then all others waited for it to catch up."""
        to = begun({"ssp": 1}, on_worker_loss="continue")
        push(to, 0)
        to.handle(Leave(0, 0, "lost"))
        for seq in (1, 2, 3):
            push(to, 1, seq)
        to.handle(Checkpoint(1))
        checkpoint = to.handle(Saved(1, 0, 4, 1)).checkpoint
        assert checkpoint is not None
        resumed = shard({"ssp": 1})
        resumed.load(checkpoint[2])
        resumed.handle(Join(0, 0))
        resumed.handle(Join(1, 0))
        assert {rank: member.clock for rank, member in resumed.members.items()} == {0: 3, 1: 3}


class TestRounds:
    def test_all_wait_for_all(self) -> None:
        to = begun("bsp", workers=3)
        assert told(push(to, 2, x=ONE * 3)) == []
        assert told(push(to, 0)) == []
        output = push(to, 1, x=ONE * 5)
        assert told(output) == [(0, "applied", True), (1, "applied", True), (2, "applied", True)]
        assert theta(to) == [-1.5, -1.5, -1.5]
        assert {response.version for response in output.responses} == {1}

    def test_a_posted_push_counts_though_its_worker_has_left(self) -> None:
        to = begun("bsp")
        push(to, 0, x=ONE * 3)
        to.handle(Leave(0, 0, "done"))
        push(to, 1)
        assert theta(to) == [-1, -1, -1]

    def test_a_leave_can_close_the_round(self) -> None:
        to = begun("bsp")
        push(to, 0)
        assert last(to, Leave(1, 0, "lost")) == [(0, "applied", True)]

    def test_a_missing_worker_may_be_replaced(self) -> None:
        to = begun("bsp")
        push(to, 0, x=ONE * 3)
        assert last(to, Join(1, 1)) == [(1, "ok", True)]
        assert told(push(to, 1, incarnation=1)) == [(0, "applied", True), (1, "applied", True)]
        assert theta(to) == [-1, -1, -1]

    def test_a_replaced_worker_that_had_pushed_waits_for_the_next_round(self) -> None:
        to = begun("bsp")
        push(to, 0)
        assert last(to, Join(0, 1)) == []
        assert told(push(to, 1)) == [(0, "ok", True), (1, "applied", True)]

    def test_the_quorum_is_the_first_in_the_log(self) -> None:
        to = begun({"mode": "bsp", "quorum": 2}, workers=3)
        push(to, 2, x=ONE * 3)
        assert told(push(to, 1)) == [(1, "applied", True), (2, "applied", True)]
        assert theta(to) == [-1, -1, -1]
        output = push(to, 0)
        assert told(output) == [(0, "dropped", True)]
        assert output.responses[0].version == 1
        assert [decision.reason for decision in output.decisions] == ["quorum"]
        account = to.ledger.accounts[0]
        assert (account.dropped, account.dropped_quorum, account.dropped_stale) == (1, 1, 0)

    def test_who_is_too_late_for_a_round_that_it_is_not_drawn_for_waits(self) -> None:
        """It began at once, and its push counted in a round that was drawn without it."""
        to = begun({"mode": "bsp", "quorum": 1, "cohort": 0.5}, workers=4)
        drawn = sorted(to.state()["gate"]["cohort"])
        push(to, drawn[0])
        output = push(to, drawn[1])
        again = drawn[1] in to.state()["gate"]["cohort"]
        assert [response.go for response in output.responses] == ([True] if again else [])

    def test_a_push_that_is_not_finite_is_tried_again_in_the_same_round(self) -> None:
        to = begun("bsp")
        push(to, 0)
        assert told(push(to, 1, finite=False)) == [(1, "dropped", True)]
        assert told(push(to, 1, seq=2)) == [(0, "applied", True), (1, "applied", True)]
