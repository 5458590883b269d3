"""Checkpoints by samples while the one before is being stored: shards skip them, and agree on which ones exist."""

from __future__ import annotations

from gradstream.center.entries import Checkpoint, Committed, Output, Saved
from gradstream.center.shard import Shard
from tests.unit.center.shards import begun, push, told


class Cluster:
    """A worker and two shards with one log; a checkpoint is due with every push."""

    def __init__(self) -> None:
        self.shards = [begun("bsp", workers=1, checkpoint={"every": "2 samples"}) for _ in range(2)]
        for shard in self.shards:
            shard.checkpoint_making.schedule.waits_for_commits = True
        self.seq = 0

    def push(self) -> list[int]:
        """Push, save if the shards ask for it, and return the checkpoints that they made."""
        self.seq += 1
        base = self.shards[0].center.version if self.shards[0].center else 0
        answers = [told(push(shard, 0, self.seq, base=base, examples=2)) for shard in self.shards]
        assert answers[0] == answers[1]
        return self.save() if (0, "checkpoint", False) in answers[0] else []

    def save(self) -> list[int]:
        self.seq += 1
        making = self.shards[0].checkpoint_making.schedule.making
        made = [shard.handle(Saved(0, 0, self.seq, making)).checkpoint for shard in self.shards]
        return [part[0] for part in made if part]

    def handle(self, entry: Checkpoint | Committed) -> list[tuple[int, str, bool]]:
        answers = [told(shard.handle(entry)) for shard in self.shards]
        return answers[0]

    @property
    def skipped(self) -> list[int]:
        return [shard.checkpoint_making.schedule.skipped for shard in self.shards]


def test_shards_skip_checkpoints_while_one_is_being_stored() -> None:
    cluster = Cluster()
    assert cluster.push() == [1, 1]
    assert [cluster.push() for _ in range(3)] == [[], [], []]
    assert cluster.skipped == [3, 3]
    cluster.handle(Committed(1))
    assert cluster.push() == [2, 2], "the next multiple"
    assert cluster.skipped == [0, 0]
    cluster.handle(Committed(2))
    assert cluster.push() == [3, 3]


def test_the_commit_of_another_checkpoint_or_of_an_export_ends_no_wait() -> None:
    cluster = Cluster()
    cluster.push()
    cluster.handle(Committed(1, "export"))
    assert cluster.push() == []
    cluster.handle(Committed(7))
    assert cluster.push() == []


def test_a_request_takes_the_place_of_a_checkpoint_that_is_not_stored_in_time() -> None:
    cluster = Cluster()
    cluster.push()
    assert cluster.push() == []
    assert cluster.handle(Checkpoint(1)) == [], "it was made"
    assert cluster.handle(Checkpoint(2)) == [(0, "checkpoint", False)]
    assert cluster.save() == [2, 2]
    cluster.handle(Committed(1))
    assert cluster.push() == [], "the second one is still being stored"
    cluster.handle(Committed(2))
    assert cluster.push() == [3, 3]


def test_a_process_that_still_stores_one_copies_no_other() -> None:
    """The others cannot know of it, so the shard answers as they do."""
    free, busy = (begun(workers=1) for _ in range(2))
    busy.checkpoint_making.may_copy = False
    outputs = [_made(shard) for shard in (free, busy)]
    assert told(outputs[0]) == told(outputs[1]) == [(0, "saved", True)]
    states = [output.checkpoint and output.checkpoint[2] for output in outputs]
    assert states[0] is not None
    assert states[1] is None


def _made(shard: Shard) -> Output:
    shard.handle(Checkpoint(1))
    assert shard.checkpoint_making.waits_only_for(0)
    return shard.handle(Saved(0, 0, 1, 1))
