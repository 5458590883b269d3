"""A rehearsal finds what a turn needs and changes nothing; a copied machine goes on as the original does."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

import pytest
import torch

from gradstream.center.entries import Entry, Init, Join, Leave, Payload, Push
from gradstream.center.shard import Shard
from gradstream.optim.parameters import ParameterShape
from gradstream.serverless.collective.machine_copy import PackedShard, pack_shard, unpack_shard
from gradstream.serverless.collective.rehearsal import Rehearsed, rehearse
from gradstream.serverless.collective.roster import Attendance, Roster
from gradstream.sim.toys import job
from gradstream.spec import JobSpec
from gradstream.wire.transport.layout import Layout
from gradstream.wire.transport.messages import Header

SIZE, WORKERS = 50, 3
PARAMETERS = (ParameterShape("a", (SIZE,)),)


def spec_of(**more: Any) -> JobSpec:
    given = {"optimizer": {"name": "adam"}, "on_worker_loss": "continue", "evaluate": {"average": 0.5}}
    return job({"name": "sync", "lr": 0.05}, workers=WORKERS, shards=1, steps=9, **(given | more))


def push(rank: int, seq: int, base: int, incarnation: int = 0) -> Push:
    return Push(rank, incarnation, seq, base=base, steps=1, examples=3 + rank, want="center", position=seq)


def payload_of(header: Header, shard: Shard) -> Payload | None:
    entry = header.entry
    if isinstance(entry, Init):
        return Payload(torch.linspace(-1, 1, SIZE), parameters=PARAMETERS)
    return Payload(torch.full((SIZE,), 1.0 + entry.rank + entry.seq)) if isinstance(entry, Push) else None


def handle(shard: Shard, entries: Sequence[Entry]) -> None:
    for entry in entries:
        shard.handle(entry, payload_of(Header(entry), shard))


def begun() -> Shard:
    shard = Shard(spec_of())
    handle(shard, [Init(0, 0), *(Join(rank, 0) for rank in range(WORKERS))])
    handle(shard, [push(rank, 1, 0) for rank in range(WORKERS)])
    return shard


def all_of(shard: Shard) -> bytes:
    packed = pack_shard(shard)
    return pickle.dumps((packed.machine, packed.center, [x.tolist() for x in packed.vectors]))


def rehearsed(shard: Shard, *entries: Entry) -> Rehearsed:
    before = all_of(shard)
    found = rehearse(shard, [Header(entry) for entry in entries], payload_of)
    assert all_of(shard) == before, "nothing has changed"
    return found


def test_it_ends_where_a_round_closes() -> None:
    found = rehearsed(begun(), push(2, 2, 1), push(0, 2, 1), push(1, 2, 1), Leave(1, 0, "done"))
    assert found.handled == 3
    assert found.updates
    assert [update.rank for update in found.updates] == [0, 1, 2]
    assert found.updates.weights() == [3 / 12, 4 / 12, 5 / 12]


def test_it_finds_the_pushes_that_wait_for_their_round() -> None:
    found = rehearsed(begun(), push(2, 2, 1), push(0, 2, 1))
    assert (found.handled, found.updates, list(found.pending)) == (2, None, [2, 0])


def test_a_leave_closes_the_round() -> None:
    found = rehearsed(begun(), push(2, 2, 1), push(0, 2, 1), Leave(1, 0, "lost"))
    assert found.updates
    assert [update.rank for update in found.updates] == [0, 2]


def test_it_ends_with_the_entry_that_brings_the_center() -> None:
    found = rehearsed(Shard(spec_of()), Join(1, 0), Init(0, 0), Join(0, 0))
    assert (found.handled, found.init) == (2, Init(0, 0))


@pytest.mark.parametrize("pushed", range(WORKERS))
def test_a_copy_goes_on_with_the_same_bits(pushed: int) -> None:
    shard = begun()
    handle(shard, [push(rank, 2, 1) for rank in range(pushed)])
    layout = Layout.of(torch.zeros(SIZE), None, 1, PARAMETERS)
    packed = pack_shard(shard)
    given = PackedShard(packed.machine, packed.center, [x.clone() for x in packed.vectors], packed.first_of_center)
    copied = unpack_shard(given, spec_of(), layout)
    rest = [push(rank, 2, 1) for rank in range(pushed, WORKERS)]
    more = [Leave(1, 0, "lost"), push(0, 3, 2), push(2, 3, 2), Join(1, 1)]
    for one in (shard, copied):
        handle(one, [*rest, *more])
    assert all_of(copied) == all_of(shard)
    assert copied.center
    assert shard.center
    assert copied.center.version == 3
    assert torch.equal(copied.center.theta, shard.center.theta)


def test_a_roster_says_who_gives_and_who_lacks() -> None:
    members = {0: Attendance(0, 4, 6), 2: Attendance(0, 4, 7), 3: Attendance(1, -1, -1)}
    roster = Roster(4, members)
    assert (roster.ranks, roster.newest_turn, roster.giver) == ([0, 2, 3], 7, 2)
    assert roster.is_behind
    assert roster.has_newcomers
    alike = Roster(5, {0: Attendance(0, 5, 7), 2: Attendance(0, 5, 7)})
    assert (alike.giver, alike.is_behind, alike.has_newcomers) == (0, False, False)
