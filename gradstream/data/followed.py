"""A folder of Parquet files that grows while a job learns from it.

A file is complete when the marker beside it exists: `clicks-7.parquet.done` for `clicks-7.parquet`. Files are read in the order of
their names. One whose marker is younger than that of a later name is *late*: it is never read. So names and times of markers alone
say which files there are and in which order, to every worker and after every restart.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterator, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gradstream.data.files import own_place
from gradstream.data.parquetfiles import Group, ParquetTable
from gradstream.data.source import Stream
from gradstream.errors import InvalidWorkload

_EVERY = 1.0
"""Seconds between two looks into the folder."""
_SETTLED = 2.0
"""Seconds after which a marker is surely seen together with those that were made just before it."""


log = logging.getLogger(__name__)


class FollowedFolder(Stream):
    def __init__(self, table: ParquetTable, marker: str, time: str | None = None) -> None:
        self._table, self._marker = table, marker
        self.time = time
        """The column with event times."""
        self.files: list[list[Group]] = []
        """The groups of rows of each complete file, in the order in which they are read. Only grows."""
        self.late: list[str] = []
        """Names of files that came too late to be read."""
        self._names: list[str] = []
        self._seen: set[str] = set()
        """Names in the last listing."""
        self._looked = -_EVERY

    def look(self, *, unsettled: bool = False) -> None:
        """Look for new files, at most once a second. `unsettled`: take the newest, too, although their order may still change.
        Raises: InvalidWorkload: a file that was read is gone or late now."""
        now = time.monotonic()
        if now - self._looked < _EVERY:
            return
        self._looked = now
        order, late = self._listed(unsettled=unsettled)
        for name in sorted(set(late) - set(self.late)):
            log.warning("%s came late and is not read: a file that sorts after it was complete earlier", self.path / name)
        self.late = late
        if order[: len(self._names)] != self._names:
            place = next(k for k, name in enumerate(self._names) if order[k : k + 1] != [name])
            raise InvalidWorkload(
                f"{self.path / self._names[place]} was read, and now it is gone or its marker is newer; leave files and markers as "
                "they are while a job follows their folder"
            )
        for name in order[len(self._names) :]:
            self.files.append(self._table.groups_of(self._table.path / name))
            self._names.append(name)

    def pieces(self, start: int) -> Iterator[Any]:
        """All examples that are there now, as of a folder that is not followed."""
        self.look(unsettled=True)
        yield from self._table.pieces([group for file in self.files for group in file], start)

    def pieces_of(self, number: int, start: int) -> Iterator[Any]:
        """The examples of a file from example `start` on."""
        return self._table.pieces(self.files[number], start)

    def times_of(self, number: int) -> NDArray[np.float64]:
        """The event times of a file's examples, in seconds. Raises: InvalidWorkload."""
        assert self.time is not None, "whoever asks has checked it"
        groups = self.files[number]
        return np.concatenate([np.empty(0), *(self._table.times(group, self.time) for group in groups)])

    @property
    def path(self) -> Path:
        return self._table.path

    def _listed(self, *, unsettled: bool) -> tuple[list[str], list[str]]:
        """The names of complete files in their order, up to the first that is not surely next; and those that are late."""
        markers = {entry.name: entry.stat().st_mtime_ns for entry in os.scandir(self.path) if entry.name.endswith(self._marker)}
        names = [entry.name for entry in os.scandir(self.path) if entry.name.endswith(".parquet")]
        made = {name: markers[name + self._marker] for name in sorted(names) if name + self._marker in markers}
        late, youngest = list[str](), 2**63
        for name in reversed(made):
            if made[name] > youngest:
                late.append(name)
            youngest = min(youngest, made[name])
        order = [name for name in made if name not in set(late)]
        seen, self._seen = self._seen, set(order)
        now = time.time()
        sure = order if unsettled else list(takewhile(lambda name: name in seen or now - made[name] / 1e9 > _SETTLED, order))
        return sure, late[::-1]


def parquet_folder(
    path: str | Path,
    features: Sequence[str] = (),
    label: str | None = None,
    *,
    ids: Sequence[str] = (),
    marker: str = ".done",
    time: str | None = None,
) -> FollowedFolder:
    """The batches of `parquet`, from a folder that grows: write `NAME.parquet`, then an empty file `NAME.parquet.done`.

    As dataset("train") of a job, the folder is *followed*: workers wait for the next file. No mini-batch spans two files. Elsewhere
    it is a stream of what is there. `time`: a column of timestamps, or of seconds, by which passes of `data.length: 5m` go.
    Raises: InvalidWorkload: no such folder, and as `parquet` does for each file when it is read."""
    if not Path(path).is_dir():
        raise InvalidWorkload(
            f"there is no folder {path}; it must be there, readable on every node, before the job starts{own_place(path)}"
        )
    return FollowedFolder(ParquetTable(path, features, label, ids), marker, time)
