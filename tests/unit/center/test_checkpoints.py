"""Checkpoints, one entry at a time: when they are made, of whom, and what a job that resumes from one does."""

from __future__ import annotations

from gradstream.center.entries import FINAL_CHECKPOINT, Checkpoint, Init, Join, Leave, Payload, Saved, StopWorkers
from gradstream.center.ledger import Ledger
from tests.unit.center.shards import ONE, begun, last, push, shard, theta, told


class TestCuts:
    def test_is_made_when_the_last_has_saved_and_brings_a_fresh_center(self) -> None:
        to = begun()
        assert last(to, Checkpoint(4)) == [(0, "checkpoint", False), (1, "checkpoint", False)]
        push(to, 1)
        assert last(to, Saved(0, 0, 1, 4)) == []
        output = to.handle(Saved(1, 0, 2, 4))
        assert output.checkpoint is not None
        assert output.checkpoint[:2] == (4, [0, 1])
        assert [(a.rank, a.outcome, a.version, a.go) for a in output.responses] == [(0, "saved", 1, True), (1, "saved", 1, True)]

    def test_waits_until_all_were_here_once(self) -> None:
        """A worker that was early made a checkpoint of itself alone; and without theta_0, the shard fell."""
        to = shard()
        to.handle(Checkpoint(1))
        assert last(to, Join(1, 0)) == [(1, "checkpoint", False)]
        assert to.handle(Saved(1, 0, 1, 1)).checkpoint is None
        to.handle(Init(0, 0), Payload(ONE))
        to.handle(Join(0, 0))
        output = to.handle(Saved(0, 0, 1, 1))
        assert output.checkpoint is not None
        assert output.checkpoint[1] == [0, 1]

    def test_who_joins_meanwhile_gets_its_center_first_and_then_saves(self) -> None:
        """The other way round, it saved a state in which its rank had trained nothing."""
        to = begun()
        to.handle(Checkpoint(1))
        assert last(to, Join(0, 1)) == [(0, "ok", True), (0, "checkpoint", False)]

    def test_asked_for_twice_is_made_once(self) -> None:
        """A repeated entry would have made a second checkpoint with the number, and the files, of the first."""
        to = begun(workers=1)
        to.handle(Checkpoint(1))
        to.handle(Saved(0, 0, 1, 1))
        assert last(to, Checkpoint(1)) == []
        assert last(to, Checkpoint(2)) == [(0, "checkpoint", False)]

    def test_a_leave_can_make_it(self) -> None:
        to = begun(on_worker_loss="continue")
        to.handle(Checkpoint(1))
        to.handle(Saved(0, 0, 1, 1))
        assert to.handle(Leave(1, 0, "lost")).checkpoint is not None

    def test_none_is_made_any_more_when_a_lost_worker_means_a_restart(self) -> None:
        """The restart would begin from rounds in which the lost worker had no part: not what the undisturbed run does."""
        to = begun("bsp")
        to.handle(Checkpoint(1))
        to.handle(Saved(0, 0, 1, 1))
        assert to.handle(Leave(1, 0, "lost")).checkpoint is None
        assert last(to, Checkpoint(2)) == []

    def test_a_stop_calls_it_off(self) -> None:
        """It was made of those who happened to leave last."""
        to = begun()
        to.handle(Checkpoint(1))
        to.handle(Saved(0, 0, 1, 1))
        assert last(to, StopWorkers("enough")) == [(0, "stop", False), (1, "stop", False)]
        assert to.handle(Leave(1, 0, "stopped")).checkpoint is None
        final = to.handle(Leave(0, 0, "stopped")).checkpoint
        assert final is not None
        assert final[0] == FINAL_CHECKPOINT

    def test_who_had_passed_the_gate_passes_it_again(self) -> None:
        """As in a job that resumes there. It went on, even if a round had been drawn without it since."""
        to = begun({"mode": "bsp", "quorum": 1, "cohort": 0.5}, workers=4)
        for version in range(20):  # until a worker that was let go is not drawn again
            drawn = to.state()["gate"]["cohort"]
            push(to, drawn[0], to.members[drawn[0]].seq + 1, base=version)
            if drawn[1] not in to.state()["gate"]["cohort"]:
                break
        to.handle(Checkpoint(1))
        outputs = [to.handle(Saved(rank, 0, to.members[rank].seq + 1, 1)) for rank in range(4)]
        assert {response.rank for response in outputs[-1].responses if response.go} == set(to.state()["gate"]["cohort"])

    def test_a_push_that_waits_for_its_round_is_part_of_it(self) -> None:
        to = begun("bsp")
        push(to, 0, x=ONE * 3)
        to.handle(Checkpoint(1))
        to.handle(Saved(0, 0, 2, 1))
        output = to.handle(Saved(1, 0, 1, 1))
        assert told(output) == [(0, "saved", False), (1, "saved", True)]
        assert output.checkpoint is not None
        resumed = shard("bsp")
        resumed.load(output.checkpoint[2])
        assert last(resumed, Join(0, 0), Join(1, 0)) == [(1, "ok", True)]
        for one, incarnation_of_responses in ((to, [0, 1]), (resumed, [1, 0])):
            responses = push(one, 1, seq=one.members[1].seq + 1).responses
            assert theta(one) == [-1, -1, -1]
            assert sorted(a.rank for a in responses) == sorted(incarnation_of_responses)
            assert all(a.go for a in responses)


def test_the_ledger_of_an_older_checkpoint_keeps_its_counts() -> None:
    """Deferred pushes were called buffered."""
    older, ledger = {"pushed": 9, "applied": 4, "buffered": 3, "dropped": 1, "dropped_stale": 1}, Ledger()
    ledger.load({2: older})
    account = ledger.accounts[2]
    assert (account.pushed, account.applied, account.deferred, account.dropped_stale, account.pending) == (9, 4, 3, 1, 1)
    again = Ledger()
    again.load(ledger.state())
    assert again.accounts == ledger.accounts
