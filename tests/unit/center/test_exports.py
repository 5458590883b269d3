"""The exports that shards make: those of passes, those asked for, and how they wait for one another."""

from __future__ import annotations

import torch

from gradstream.center.entries import Committed, ExportModel, Init, Join, Leave, Output, Payload, Push
from gradstream.center.passes.exports import MAX_WAIT, ExportSchedule
from gradstream.center.shard import Shard
from gradstream.sim.toys import job
from tests.unit.center.shards import ONE, begun, shard

EACH = {"export": {"every": "1 passes"}}


def push(to: Shard, rank: int, seq: int, over: int) -> Output:
    return to.handle(Push(rank, 0, seq, 0, 1, 1, "center", seq), Payload(ONE, passes_over=over))


def test_an_export_is_made_with_the_push_that_ends_a_pass() -> None:
    asp = begun(**EACH)
    assert push(asp, 0, 1, 0).export is None
    assert push(asp, 0, 2, 1).export is None, "worker 1 is still in it"
    assert push(asp, 1, 1, 1).export == ExportModel(1, base=False)
    assert asp.passes.closed == 1


def test_a_round_of_bsp_is_in_the_export_of_its_pass() -> None:
    bsp = begun("bsp", **EACH)
    assert push(bsp, 0, 1, 1).export is None
    assert push(bsp, 1, 1, 1).export == ExportModel(1, base=False)
    assert bsp.center
    assert bsp.center.version == 1


def test_workers_that_stop_in_the_midst_of_a_pass_export_nothing() -> None:
    asp = begun(workers=1, **EACH)
    push(asp, 0, 1, 0)
    assert asp.handle(Leave(0, 0, "stopped")).export is None
    assert asp.passes.closed == 0


def test_one_that_was_asked_for_waits_for_the_first_center() -> None:
    asp = shard(workers=1)
    assert asp.handle(ExportModel(3, base=True)).export is None
    assert asp.handle(Init(0, 0), Payload(torch.zeros(3))).export == ExportModel(3, base=True)
    assert asp.handle(Join(0, 0)).export is None
    assert asp.handle(ExportModel(3, base=False)).export is None, "a repeat"
    assert asp.handle(ExportModel(4, base=False)).export == ExportModel(4, base=False)


class Passes:
    """A schedule, pass after pass."""

    def __init__(self, **export: str) -> None:
        self.schedule, self.closed = ExportSchedule(job({"name": "sync"}, workers=1, export=export)), 0

    def close(self, count: int = 1) -> ExportModel | None:
        before, self.closed = self.closed, self.closed + count
        self.schedule.close_passes(before, self.closed)
        return self.schedule.take()

    def commit(self, number: int, *, base_due: bool = False) -> ExportModel | None:
        self.schedule.note_entry(Committed(number, "export", base_due))
        return self.schedule.take()


def test_each_third_pass() -> None:
    passes = Passes(every="3 passes")
    assert [passes.close() is not None for _ in range(4)] == [False, False, True, False]
    passes.commit(1)
    assert passes.close(5) == ExportModel(2, base=False), "several at once"


def test_a_pass_waits_for_the_export_before_it_and_gives_one_up_that_does_not_come() -> None:
    passes = Passes(every="1 passes")
    assert passes.close() == ExportModel(1, base=False)
    assert passes.close() is None
    assert passes.commit(1) == ExportModel(2, base=False), "it has what was learned meanwhile"
    assert passes.commit(1) is None, "a repeat"
    made = [passes.closed for _ in range(20) if passes.close()]
    assert [after - before for before, after in zip([2, *made], made, strict=False)] == [2, 3, 5, 9][: len(made)]
    newest = ExportSchedule(job({"name": "sync"}, workers=1))
    assert newest.take() is None
    while (found := passes.close()) is None:
        assert passes.closed < 10 * MAX_WAIT
    assert found.base, "two in a row were given up"
    assert passes.commit(found.number) is None
    assert passes.close() == ExportModel(found.number + 1, base=False)


def test_bases_by_passes_and_by_what_the_platform_says() -> None:
    passes = Passes(every="1 passes", base="3 passes")
    found = []
    for _ in range(6):
        export = passes.close()
        assert export
        found.append(export.base)
        passes.commit(export.number, base_due=export.number == 4)
    assert found == [False, False, True, False, True, True]


def test_a_base_that_a_pass_has_overtaken_follows_it() -> None:
    """The request was on its way when the pass closed, so the pass has its number."""
    asp = begun(workers=1, **EACH)
    assert push(asp, 0, 1, 1).export == ExportModel(1, base=False)
    assert asp.handle(ExportModel(1, base=True)).export == ExportModel(2, base=True)
    assert asp.handle(ExportModel(1, base=True)).export is None, "a repeat"


def test_a_delta_that_a_pass_has_overtaken_is_that_of_the_pass() -> None:
    asp = begun(workers=1, **EACH)
    assert push(asp, 0, 1, 1).export == ExportModel(1, base=False)
    assert asp.handle(ExportModel(1, base=False)).export is None
