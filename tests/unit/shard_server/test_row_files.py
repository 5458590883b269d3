"""Which checkpoint rests on which: a chain that is committed is never left without a file, and never grows without bound."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest

from gradstream.center.tables.hosted import HostedTables
from gradstream.center.tables.payload import RowGradients, RowKeys
from gradstream.process.saving.part_list import EarlierFile, ListedFile
from gradstream.shard_server.saving.row_copy import RowCopy
from gradstream.shard_server.saving.row_files import MAX_INCREMENTS, RowFiles
from gradstream.sim.toys import job


@dataclass
class Checkpoints:
    """The checkpoints of one server, and which of them each rests on."""

    tables: HostedTables = field(
        default_factory=lambda: HostedTables(job({"name": "sync"}, tables={"t": {"keep": {"unseen": 1}}}), {"t": 1}, 0)
    )
    files: RowFiles = field(default_factory=lambda: RowFiles(1))
    number: int = 0

    def push(self, *keys: int) -> None:
        found = self.tables.look_up({"t": RowKeys(np.array(keys))})["t"]
        ones = np.ones(len(keys), np.int64)
        pushed = RowGradients(found.keys, found.loans, found.values, ones, ones.astype(np.float32))
        self.tables.push([({"t": pushed}, 1.0)], 1.0)

    def make(self, *, commit: bool = True) -> list[int]:
        """The numbers of the checkpoints that the next one rests on."""
        self.number += 1
        stored: list[ListedFile] = []
        copy, rests_on = self.files.begin(self.number, self.tables, stored)
        copy.complete()
        store(copy, stored)
        if commit:
            self.files.note_commit(self.number, self.tables)
        return numbers(rests_on)


def store(copy: RowCopy, stored: list[ListedFile]) -> None:
    for name, content in copy.files():
        stored.append(ListedFile(name=name, size=content.nbytes, sha256="0" * 64))


def numbers(files: tuple[EarlierFile, ...]) -> list[int]:
    return [file.checkpoint for file in files]


def test_increments_rest_on_the_last_checkpoint_that_is_kept() -> None:
    all_of = Checkpoints()
    all_of.push(*range(1000))
    assert all_of.make() == []
    all_of.push(1, 2)
    assert all_of.make(commit=False) == [1]
    all_of.push(3)
    assert all_of.make() == [1]
    assert all_of.make() == [1, 3]


def test_a_chain_ends_when_its_increments_have_half_the_bytes_of_its_base() -> None:
    all_of = Checkpoints()
    all_of.push(*range(1000))
    rested = []
    for _ in range(9):
        rested.append(all_of.make())
        all_of.push(*range(220))
    assert rested == [[], [1], [1, 2], [1, 2, 3], [], [5], [5, 6], [5, 6, 7], []]


@pytest.mark.more
def test_a_chain_ends_after_so_many_increments() -> None:
    all_of = Checkpoints()
    all_of.push(*range(100_000))
    assert [all_of.make() for _ in range(MAX_INCREMENTS + 2)] == [[*range(1, n + 1)] for n in range(MAX_INCREMENTS + 1)] + [[]]


def test_behind_a_base_of_which_no_one_knows_if_it_is_kept_comes_another_base() -> None:
    """If it is committed, the files of the last one may go."""
    all_of = Checkpoints()
    all_of.push(*range(100))
    all_of.make()
    all_of.push(*range(100))
    all_of.make()
    all_of.push(*range(100))
    assert all_of.make(commit=False) == []
    assert all_of.make(commit=False) == []
    all_of.files.note_commit(3, all_of.tables)
    assert all_of.make() == []
    assert all_of.make() == [5]


def test_what_is_kept_late_or_was_never_stored_or_made_changes_nothing() -> None:
    all_of = Checkpoints()
    all_of.push(*range(100))
    assert [all_of.make(commit=False) for _ in range(4)] == [[]] * 4
    for number in (1, 2, 99):
        all_of.files.note_commit(number, all_of.tables)
    copy, rests_on = all_of.files.begin(5, all_of.tables, [])
    all_of.files.note_commit(5, all_of.tables)
    assert rests_on == ()
    copy.complete()
    all_of.files.note_commit(4, all_of.tables)
    all_of.number = 5
    assert all_of.make() == [], "checkpoint 5 is a base that may be committed"


@pytest.mark.parametrize("commits", [False, True])
def test_keys_that_are_gone_are_not_remembered_for_ever(commits: bool) -> None:
    all_of = Checkpoints()
    most = 0
    for start in range(0, 5000, 100):
        all_of.push(*range(start, start + 100))
        all_of.tables.tables["t"].shrink()
        most = max(most, all_of.tables.removed_above(0))
        all_of.make(commit=commits or start == 0)
    assert 0 < most <= 400


def test_an_upload_that_fails_ends_its_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gradstream.shard_server.saving.row_copy.FILE_BYTES", 0)
    monkeypatch.setattr("gradstream.center.tables.storage.copying.PIECE", 10)
    all_of = Checkpoints()
    all_of.push(*range(100))
    copy, _ = all_of.files.begin(1, all_of.tables, [])
    copy.copy_piece()
    upload = iter(copy.files())
    next(upload)
    del upload
    assert not copy.is_complete
    copy.copy_piece()
    assert copy.is_complete
    all_of.files.note_commit(1, all_of.tables)
    all_of.number = 1
    assert all_of.make() == []


def test_a_copy_does_not_run_ahead_of_its_upload(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gradstream.shard_server.saving.row_copy.FILE_BYTES", 0)
    monkeypatch.setattr("gradstream.shard_server.saving.row_copy.AHEAD_BYTES", 1)
    monkeypatch.setattr("gradstream.center.tables.storage.copying.PIECE", 10)
    all_of = Checkpoints()
    all_of.push(*range(100))
    copy, _ = all_of.files.begin(1, all_of.tables, [])
    upload, names = iter(copy.files()), list[str]()
    while not copy.is_complete:
        if copy.may_go_on:
            copy.copy_piece()
        else:
            names.append(next(upload)[0])
    assert len(names) > 5
    names += [name for name, _ in upload]
    assert names == [f"rows-{number}.safetensors" for number in range(len(names))]
