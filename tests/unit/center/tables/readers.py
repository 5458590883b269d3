"""Readers of tables while those go on: checkpoints and exports as a server makes them, of which some fail."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

from gradstream.center.tables.hosted import CHECKPOINTS, EXPORTS, HostedTables
from gradstream.center.tables.storage.contents import read_contents
from gradstream.center.tables.storage.copying import TablesCopy, put_piece
from gradstream.center.tables.storage.row_file import TablePiece
from gradstream.center.tables.table import EmbeddingTable

Pieces = list[tuple[str, TablePiece]]
Columns = dict[str, dict[str, Any]]
CAPACITY = 4096


class _Reader:
    """Copies of one shard's tables: each of all rows, or of what changed since the last one that is committed."""

    def __init__(self, name: str, chance: random.Random) -> None:
        self._name, self._chance, self._committed = name, chance, None if name == EXPORTS else 0
        self._mark: int | None = None
        self._chain = list[tuple[dict[str, int], Pieces]]()
        self._copy: TablesCopy | None = None
        self._pieces: Pieces = []
        self._expected: Columns = {}
        self.outcomes = Counter[str]()

    def act(self, tables: HostedTables) -> None:
        if self._copy is None:
            if self._chance.random() < 0.06:
                self._begin(tables)
            return
        if self._chance.random() < 0.03:
            self._copy.drop()
            self._end("failed")
        elif not self._copy.is_complete:
            self._pieces.append(self._copy.next_piece())
        elif self._chance.random() < 0.3:
            self._end("failed")
        else:
            self._commit(tables, self._copy)

    def _begin(self, tables: HostedTables) -> None:
        above = None if self._chance.random() < 0.2 else self._mark
        self._copy, self._pieces = tables.copy(above, candidates=self._name == CHECKPOINTS), []
        self._expected = {name: read_contents(table).columns() for name, table in tables.tables.items()}

    def _commit(self, tables: HostedTables, copy: TablesCopy) -> None:
        self._chain = [*([] if copy.is_whole else self._chain), (copy.times, self._pieces)]
        self._mark = copy.until
        tables.forget_removed(self._name, copy.until)
        self._check(tables)
        self._end("whole" if copy.is_whole else "increment")

    def _end(self, outcome: str) -> None:
        self.outcomes[outcome] += 1
        self._copy = None

    def _check(self, tables: HostedTables) -> None:
        """The files of the chain, one on top of the other, are the tables as they were when the newest copy began."""
        for name, table in tables.tables.items():
            restored = EmbeddingTable(name, table.width, table.spec, 0, table.buckets, CAPACITY)
            for times, pieces in self._chain:
                restored.decay_until(times[name])
                for _, piece in ((of, piece) for of, piece in pieces if of == name):
                    put_piece(restored, piece)
            for column, values in read_contents(restored).columns().items():
                if self._name == CHECKPOINTS or not column.startswith("waiting"):
                    assert values.tobytes() == self._expected[name][column].tobytes(), (self._name, name, column)


class Readers:
    def __init__(self, chance: random.Random) -> None:
        self._readers = [_Reader(name, chance) for name in (CHECKPOINTS, EXPORTS)]

    def act(self, tables: HostedTables) -> None:
        """After an entry. `tables`: always of the same shard."""
        for reader in self._readers:
            reader.act(tables)

    @property
    def outcomes(self) -> Counter[str]:
        return sum((reader.outcomes for reader in self._readers), Counter[str]())
