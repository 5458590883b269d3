"""The rows of a table that is bounded in memory: which go to the file, and what happens when the disk fails.

The file is part of this process's memory, on a disk: it has no name, so it is gone with the process, and it is never
synced. Rows are written by segments, those that were not used lately. A row that is needed comes back alone; its record is
then of no use. When more than half of the records are so, the segment with the fewest rows is written anew.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gradstream.center.tables.cold.frames import COLD, FAILED, FREE, READ, USED, choose_frames, frame_arrays, move_out
from gradstream.center.tables.cold.records import bring_segment_back, copy_values, fill_records
from gradstream.center.tables.rows import RowArrays
from gradstream.errors import Unavailable

SEGMENT_BYTES = 1 << 18
"""Bytes that are written at once, about: a push waits meanwhile."""
KEPT_SHARE, MAX_KEPT = 0.05, 1 << 30
"""Part of the disk that is left to others: a share, and bytes at most."""


class ColdTier:
    def __init__(self, table: str, bound: int, places: int, stride: int, folder: Path | None = None) -> None:
        """`table`: its name, for messages. `bound`: rows in memory after each call, as far as the disk takes the others.
        `stride`: numbers of a row. `folder`: of the file; default: that of temporary files. Raises: Unavailable."""
        self._table, self.bound, self.folder = table, bound, folder or Path(tempfile.gettempdir())
        try:
            self._file = tempfile.TemporaryFile(dir=self.folder, buffering=0)  # noqa: SIM115 - as long as the table
        except OSError as error:
            raise Unavailable(
                f"table '{table}' is bounded in memory, and its file cannot be made in {self.folder} ({error}); "
                "free space there, or leave memory out"
            ) from error
        self._record_bytes = 4 * (stride + 2)
        segment = max(1, min(bound // 4, SEGMENT_BYTES // self._record_bytes))
        self.frames = frame_arrays(f"table '{table}'", places, stride, self._file.fileno(), segment)
        self._records = np.zeros((segment, stride + 2), np.uint32)
        self._chosen = np.zeros(segment, np.int64)
        self._segments = 0
        """Segments of the file."""
        self.looked_up = self.looked_up_cold = 0
        """Keys of lookups, and those whose rows were in the file, since `take_lookups` was called last."""
        self.disk_error = ""
        """Why rows stay in memory beyond the bound; empty: none do."""

    @property
    def in_memory(self) -> int:
        """Rows."""
        return int(self.frames.counts[USED] - self.frames.counts[FREE])

    @property
    def cold(self) -> int:
        """Rows in the file."""
        return int(self.frames.counts[COLD])

    @property
    def read(self) -> int:
        """Rows read from the file so far."""
        return int(self.frames.counts[READ])

    @property
    def file_bytes(self) -> int:
        return self._segments * len(self._records) * self._record_bytes

    @property
    def nbytes(self) -> int:
        """Bytes of memory, without the columns of the rows."""
        used = int(self.frames.counts[USED])
        return used * (self._record_bytes - 8 + self.frames.owners.itemsize + self.frames.recent.itemsize)

    def note_lookups(self, keys: int, read_before: int) -> None:
        """Count keys that were looked up. `read_before`: what `read` was then."""
        self.looked_up += keys
        self.looked_up_cold += self.read - read_before

    def take_lookups(self) -> tuple[int, int]:
        """Return keys of lookups, and those whose rows were in the file, since this was called last."""
        found = self.looked_up, self.looked_up_cold
        self.looked_up = self.looked_up_cold = 0
        return found

    def make_room(self, rows: RowArrays) -> None:
        """Write rows until no more than the bound are in memory, or the disk takes no more. Raises: Unavailable: the file is
        damaged."""
        while self.in_memory > self.bound:
            if self._is_sparse:
                self._empty_a_segment(rows)
            if not self._write_segment(rows):
                return
        self.disk_error = ""

    def read_values(self, rows: RowArrays, places: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return weights and states of rows, and leave each where it is. Raises: Unavailable: the file is damaged."""
        values = np.empty((len(places), rows.values.shape[1]), np.float32)
        copy_values(rows, places, values)
        self.check_reads()
        return values

    def check_reads(self) -> None:
        """Raises: Unavailable: a row could not be read."""
        if number := int(self.frames.counts[FAILED]):
            self.frames.counts[FAILED] = 0
            raise self._damaged(number - 1)

    @property
    def _is_sparse(self) -> bool:
        """More than half of the records in segments with rows are of no row."""
        held = int(np.count_nonzero(self.frames.live[: self._segments])) * len(self._records)
        return not self.disk_error and held > 2 * self.cold + 4 * len(self._records)

    def _empty_a_segment(self, rows: RowArrays) -> None:
        live = self.frames.live[: self._segments]
        segment = int(np.argmin(np.where(live > 0, live, len(self._records) + 1)))
        begin = segment * len(self._records)
        data = os.pread(self._file.fileno(), self._records.nbytes, begin * self._record_bytes)
        if len(data) != self._records.nbytes:
            raise self._damaged(begin)
        if not bring_segment_back(rows, segment, np.frombuffer(bytearray(data), np.uint32).reshape(self._records.shape)):
            raise self._damaged(begin)

    def _write_segment(self, rows: RowArrays) -> bool:
        """Return False if the disk does not take it; then its rows stay in memory."""
        frames, free = self.frames, np.flatnonzero(self.frames.live[: self._segments] == 0)
        segment = int(free[0]) if len(free) else self._segments
        frames.writes[segment] += 1
        choose_frames(frames, self._chosen)
        fill_records(rows, self._chosen, segment, self._records)
        try:
            if segment == self._segments:
                self._check_disk()
            self._write(self._records.view(np.uint8).data.cast("B"), segment * self._records.nbytes)
            self.disk_error = ""
        except OSError as error:
            self.disk_error = error.strerror or str(error)
        if self.disk_error:
            frames.recent[self._chosen] = 0
            return False
        self._segments = max(self._segments, segment + 1)
        move_out(frames, self._chosen, segment)
        return True

    def _write(self, data: memoryview, begin: int) -> None:
        """A disk that becomes full takes a part first. Raises: OSError."""
        while data:
            written = os.pwrite(self._file.fileno(), data, begin)
            data, begin = data[written:], begin + written

    def _check_disk(self) -> None:
        """Raises: OSError: the disk is nearly full."""
        disk = os.fstatvfs(self._file.fileno())
        kept = min(MAX_KEPT, KEPT_SHARE * disk.f_blocks * disk.f_frsize)
        if disk.f_bavail * disk.f_frsize < (2 * kept if self.disk_error else kept):  # so the alert does not come and go
            raise OSError(0, "it is nearly full")

    def _damaged(self, number: int) -> Unavailable:
        try:
            found = os.pread(self._file.fileno(), self._record_bytes, number * self._record_bytes)
            why = "a row is not what was written" if len(found) == self._record_bytes else "it is too short"
        except OSError as error:
            why = error.strerror or str(error)
        return Unavailable(
            f"table '{self._table}': its file of rows on the disk of {self.folder} cannot be read: {why}; check this disk, "
            f"or leave tables.{self._table}.memory out"
        )
