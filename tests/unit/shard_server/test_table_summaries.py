"""Summaries of a server's tables on their way into the store: in portions, now and then, and a last one at the end."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from gradstream.center.parameters.center import Center
from gradstream.center.tables.hosted import HostedTables
from gradstream.center.tables.summaries import sweep
from gradstream.process.order import StoreAccess
from gradstream.process.saving.content import Content
from gradstream.process.saving.table_summary import ShardSummary
from gradstream.shard_server.saving import table_summaries
from gradstream.shard_server.saving.table_summaries import TableSummaries
from gradstream.sim.toys import job
from tests.orders import make_order
from tests.support import eventually
from tests.unit.shard_server.test_start_rows import hosts, push, spec_of


class Stored:
    """A store that keeps what it gets."""

    def __init__(self) -> None:
        self.files: list[tuple[str, bytes]] = []

    def put(self, name: str, content: Content, sha256: str | None = None) -> None:
        self.files.append((name, b"".join(content.chunks())))


@pytest.fixture
def stored(monkeypatch: pytest.MonkeyPatch) -> Stored:
    store = Stored()
    monkeypatch.setattr(table_summaries, "open_store", lambda *_: store)
    monkeypatch.setattr(sweep, "PORTION", 256)
    return store


@pytest.fixture
def tables() -> HostedTables:
    hosted = hosts(spec_of("adam", 1))
    draw = np.random.default_rng(1)
    for _ in range(5):
        push(hosted, draw)
    return hosted[0]


def center() -> Center:
    made = Center(job({"name": "sync"}), torch.zeros(1), None)
    made.version, made.samples = 7, 70
    return made


def test_a_summary_is_made_in_portions_and_the_last_one_at_the_end(stored: Stored, tables: HostedTables) -> None:
    made = TableSummaries(make_order("server", 0), every=0.0)
    portions = 0
    while not portions or made.is_reading:
        made.read_portion(tables, center())
        portions += 1
    assert portions > 10
    eventually(lambda: stored.files, "the first summary")
    made.finish(tables, center())
    assert [name for name, _ in stored.files] == ["tables/shard-0.json"] * 2
    first, last = (ShardSummary.model_validate_json(content) for _, content in stored.files)
    assert first == last, "nothing has changed between them"
    assert (last.version, last.samples, last.left_out) == (7, 70, 0)
    for name, table in tables.tables.items():
        told = last.tables[name]
        assert (told.rows, told.candidates, told.nbytes) == (table.alive, table.waiting, table.nbytes)
        assert (told.made, told.evicted, told.counted) == (table.made, 0, table.alive)
        assert len(told.hottest) == 20


def test_the_next_one_waits_for_its_interval_and_for_the_store(stored: Stored, tables: HostedTables) -> None:
    made = TableSummaries(make_order("server", 0), every=3600.0)
    made._due = 0.0
    made.read_portion(tables, center())
    while made.is_reading:
        made.read_portion(tables, center())
    eventually(lambda: stored.files, "the first summary")
    for _ in range(100):
        made.read_portion(tables, center())
    assert not made.is_reading


def test_a_job_in_a_folder_makes_none(stored: Stored, tables: HostedTables, tmp_path: Path) -> None:
    made = TableSummaries(make_order("server", 0, store=StoreAccess(url=tmp_path.as_uri())), every=0.0)
    made.read_portion(tables, center())
    made.finish(tables, center())
    assert (made.is_reading, stored.files) == (False, [])
