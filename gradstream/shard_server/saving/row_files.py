"""The rows of a shard's tables in checkpoints: a base, then what changed since the last checkpoint that is committed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gradstream.center.tables.hosted import CHECKPOINTS, HostedTables
from gradstream.center.tables.storage.row_file import ENTRY, StoredRowsEntry, TablePiece, read_entry, row_tensors
from gradstream.process.saving.part_list import EarlierFile, ListedFile
from gradstream.process.saving.tensor_file import TensorFile
from gradstream.shard_server.saving.row_copy import RowCopy

MAX_INCREMENTS = 64
"""A resumed shard reads all of them."""
MAX_UNKNOWN = 2
"""Checkpoints that were made, and may yet be committed. Earlier ones are given up as bases."""


@dataclass(frozen=True, slots=True)
class RowChain:
    """Files of one or more checkpoints that have all rows: a base, then increments."""

    until: int
    """The mark up to which they have all changes."""
    files: tuple[EarlierFile, ...]
    base_bytes: int
    increment_bytes: int = 0
    increments: int = 0

    @property
    def is_long(self) -> bool:
        return self.increment_bytes > self.base_bytes / 2 or self.increments >= MAX_INCREMENTS

    def with_copy(self, until: int, files: tuple[EarlierFile, ...]) -> RowChain:
        size = self.increment_bytes + sum(file.size for file in files)
        return RowChain(until, self.files + files, self.base_bytes, size, self.increments + 1)


class CheckpointRowCopy(RowCopy):
    """The rows of one checkpoint."""

    def join_pieces(self, pieces: Sequence[tuple[str, TablePiece]]) -> TensorFile:
        entry = StoredRowsEntry(whole=self.copy.is_whole, times=self.copy.times, specs=self.copy.specs)
        return TensorFile(row_tensors(pieces), {ENTRY: entry.model_dump_json()})


@dataclass(frozen=True, slots=True)
class _Made:
    """A checkpoint that was made and may be committed."""

    chain: RowChain | None
    """Files of earlier checkpoints that it rests on; None: it is a base."""
    until: int
    copy: CheckpointRowCopy
    stored: list[ListedFile]
    """Its own files, as they are stored."""


class RowFiles:
    """Which checkpoint rests on which."""

    def __init__(self, attempt: int, committed: RowChain | None = None) -> None:
        """`committed`: the files that this attempt resumes from."""
        self._attempt, self._committed = attempt, committed
        self._made: dict[int, _Made] = {}

    def begin(
        self, number: int, tables: HostedTables, stored: list[ListedFile]
    ) -> tuple[CheckpointRowCopy, tuple[EarlierFile, ...]]:
        """Begin the copy for a checkpoint. Return it with the files of earlier ones that it rests on. `stored`: gets its own."""
        if self._committed and tables.removed_above(self._committed.until) > tables.totals().rows:
            self._committed = None  # that many keys would have to be remembered until one is committed
        chain = self._committed if self._committed and not self._committed.is_long and self._is_safe else None
        made = tables.copy(chain.until if chain else None)
        copy = CheckpointRowCopy(made)
        self._made[number] = _Made(chain, made.until, copy, stored)
        for old in sorted(self._made)[:-MAX_UNKNOWN]:
            del self._made[old]
        self._forget_removed(tables)
        return copy, chain.files if chain else ()

    def note_commit(self, number: int, tables: HostedTables) -> None:
        """A checkpoint is committed: later ones may rest on it. Nothing, if it is none of those made last."""
        made = self._made.get(number)
        if made is None or not made.copy.is_stored:
            return
        files = tuple(self._earlier(file, number) for file in made.stored)
        size = sum(file.size for file in files)
        self._committed = made.chain.with_copy(made.until, files) if made.chain else RowChain(made.until, files, size)
        self._made = {each: later for each, later in self._made.items() if later.until > made.until}
        self._forget_removed(tables)

    @property
    def _is_safe(self) -> bool:
        """The files stay: those of the last committed one may go when a later one is committed that does not rest on them."""
        return all(made.chain is self._committed for made in self._made.values())

    def _forget_removed(self, tables: HostedTables) -> None:
        needed = [made.until for made in self._made.values()] + ([self._committed.until] if self._committed else [])
        tables.forget_removed(CHECKPOINTS, min(needed))

    def _earlier(self, file: ListedFile, number: int) -> EarlierFile:
        return EarlierFile(**file.model_dump(), attempt=self._attempt, checkpoint=number)


def resumed_chain(files: Sequence[tuple[EarlierFile, Path]], until: int) -> RowChain | None:
    """Return the chain of the files that an attempt resumes from, the oldest first. `until`: the tables' mark below which all is in
    them. None: there are none. Raises: Invalid: one is damaged."""
    chain: RowChain | None = None
    numbers = set[tuple[int, int]]()
    for file, path in files:
        if read_entry(path).whole or chain is None:
            chain = RowChain(until, (*(chain.files if chain else ()), file), (chain.base_bytes if chain else 0) + file.size)
        else:
            numbers.add((file.attempt, file.checkpoint))
            chain = replace(chain.with_copy(until, (file,)), increments=len(numbers))
    return chain
