"""Marks of exports beside those of checkpoints: neither loses what the other has copied, and neither remembers keys for ever."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradstream.center.tables.hosted import HostedTables
from gradstream.process.saving.part_list import EarlierFile, ListedFile
from gradstream.shard_server.saving import export_rows
from gradstream.shard_server.saving.row_files import RowChain, RowFiles
from tests.unit.serving.servers import Servers

UNSEEN: dict[str, Any] = {"keep": {"unseen": 1}}


def rows_of(files: RowFiles, number: int, tables: HostedTables) -> tuple[list[int], list[int]]:
    """Keys of the rows and of those that are gone in a checkpoint, which is committed."""
    stored: list[ListedFile] = []
    copy, _ = files.begin(number, tables, stored)
    pieces = []
    while not copy.copy.is_complete:
        pieces.append(copy.copy.next_piece()[1])
    copy.is_stored = True
    files.note_commit(number, tables)
    rows = sorted(key for piece in pieces for key in piece.contents.keys.tolist())
    return rows, sorted(key for piece in pieces for key in piece.gone.tolist())


def test_checkpoints_have_what_changed_before_an_export(tmp_path: Path) -> None:
    servers, files = Servers(tmp_path, UNSEEN), RowFiles(1)
    tables = servers.tables[0]
    servers.push([1, 2, 3])
    assert rows_of(files, 1, tables) == ([1, 2, 3], [])
    servers.shrink()
    servers.push([1, 2])
    servers.shrink()  # evicts 3
    servers.export()
    servers.push([2, 4])
    servers.export()
    assert rows_of(files, 2, tables) == ([1, 2, 4], [3])


def test_exports_have_what_changed_before_a_checkpoint(tmp_path: Path) -> None:
    servers, files = Servers(tmp_path, UNSEEN), RowFiles(1)
    servers.push([1, 2, 3])
    servers.export()
    servers.shrink()
    servers.push([1, 2])
    servers.shrink()
    rows_of(files, 1, servers.tables[0])
    servers.push([4])
    rows_of(files, 2, servers.tables[0])
    [part] = servers.export()
    assert (part.rows, part.gone, part.after) == (3, 1, 1)


def test_an_export_before_the_first_checkpoint_of_an_attempt_takes_nothing_from_it(tmp_path: Path) -> None:
    servers = Servers(tmp_path, UNSEEN)
    servers.push([1, 2, 3])
    servers.shrink()
    loaded = HostedTables.load(servers.spec, servers.tables[0].state(), 0)
    servers.tables = [loaded]
    servers.push([1, 4])
    servers.shrink()  # evicts 2 and 3
    servers.export()
    resumed = EarlierFile(name="shard-0.rows-0.safetensors", size=10_000, sha256="0" * 64, attempt=1, checkpoint=1)
    files = RowFiles(2, RowChain(loaded.resumed_mark, (resumed,), base_bytes=10_000))
    servers.push([5])
    assert rows_of(files, 1, loaded) == ([1, 4, 5], [2, 3])


@pytest.mark.parametrize("commit", [False, True])
def test_keys_that_are_gone_are_not_remembered_for_ever(commit: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export_rows, "FEW_KEYS", 200)
    servers = Servers(tmp_path, UNSEEN)
    tables, [marks] = servers.tables[0], servers.marks
    servers.push(np.arange(10))
    servers.export(commit=commit)
    most = 0
    for start in range(0, 5000, 100):
        servers.push(np.arange(start, start + 100))
        servers.shrink()
        most = max(most, tables.removed_above(0))
        marks.bound_memory(tables)
    assert 0 < most <= 400
    [part] = servers.export()
    assert part.after is None, "it has all rows, since nobody remembers which are gone"
