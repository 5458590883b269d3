"""All rows of a table by place: weights with the state of their rule behind them, and columns about each row.

The weights of a table that is bounded in memory lie elsewhere: see `cold.frames`.

The index codes the place of a row as `place + 1`, that of a candidate as `-1 - place`. A *candidate* is a key that waits for its
admission; it has a place of its own kind, and no weights. Places of evicted rows and candidates are used again.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gradstream.center.tables.cold.frames import FrameArrays, forget_weights, take_frame
from gradstream.center.tables.compiling import kernel
from gradstream.center.tables.hashing import first_value
from gradstream.center.tables.memory import ReservedArray

META = np.dtype([("incarnation", np.uint32), ("updates", np.uint32), ("mark", np.uint32), ("seen", np.uint32)])
"""Incarnation: 1 + the time of the table at which the row was made; 0: no row. Resumes keep it. A key or a place gets another row
only after a shrink, at a later time. Updates that were applied to the row. Mark and time of the table at its last push."""
CANDIDATE = np.dtype([("occurrences", np.uint32), ("mark", np.uint32), ("seen", np.uint32)])
"""Occurrences 0: no candidate."""
EVENTS = np.dtype([("shows", np.float32), ("clicks", np.float32)])
USED, _FREE, _ALIVE, _MADE = 0, 1, 2, 3


class PlaceArrays(NamedTuple):
    """Places as kernels see them: those below `counts[0]` have been used; `free` is a stack of those that are free again."""

    counts: NDArray[np.int64]
    """Places used so far; free ones among them; places in use; how often one was taken."""
    free: NDArray[np.int32]
    events: NDArray[Any]


class RowArrays(NamedTuple):
    width: int
    stream: np.uint64
    """Begins the draws of the table."""
    reach: np.float32
    """First values lie in [-reach, reach)."""
    initial: np.float32
    """First value of each number of the state."""
    values: NDArray[np.float32]
    meta: NDArray[Any]
    places: PlaceArrays
    candidates: NDArray[Any]
    candidate_places: PlaceArrays
    frames: FrameArrays | None
    """None: all rows are in memory."""


@kernel
def take_place(places: Any) -> Any:
    """Return a free place, the last one that became free first; -1: there is none."""
    if places.counts[_FREE]:
        places.counts[_FREE] -= 1
        place = np.int64(places.free[places.counts[_FREE]])
    elif places.counts[USED] < len(places.free):
        place = places.counts[USED]
        places.counts[USED] += 1
    else:
        return -1
    places.counts[_ALIVE] += 1
    places.counts[_MADE] += 1
    return place


@kernel
def free_place(places: Any, place: Any) -> None:
    places.free[places.counts[_FREE]] = place
    places.counts[_FREE] += 1
    places.counts[_ALIVE] -= 1


@kernel
def make_row(rows: Any, key: Any, mark: Any, time: Any) -> Any:
    """Return the place of a new row with its first values; -1: the table is full."""
    place = take_place(rows.places)
    if place >= 0:
        row, meta = rows.values[take_frame(rows.frames, place)], rows.meta[place]
        for column in range(rows.width):
            row[column] = first_value(rows.stream, key, column, rows.reach)
        row[rows.width :] = rows.initial
        meta.incarnation = np.uint32(time + 1)
        meta.updates, meta.mark = 0, mark
    return place


@kernel
def free_row(rows: Any, place: Any) -> None:
    rows.meta[place].incarnation = 0
    forget_weights(rows.frames, place)
    free_place(rows.places, place)


@kernel
def free_candidate(rows: Any, place: Any) -> None:
    rows.candidates[place].occurrences = 0
    free_place(rows.candidate_places, place)


class RowStore:
    def __init__(self, what: str, capacity: int, width: int, stride: int) -> None:
        """`stride`: numbers of a row, its state included."""

        def reserved(dtype: Any, *shape: int) -> NDArray[Any]:
            return ReservedArray(what, dtype, (capacity, *shape)).values

        def places() -> PlaceArrays:
            return PlaceArrays(np.zeros(4, np.int64), reserved(np.int32), reserved(EVENTS))

        self.row_nbytes = 4 * stride + META.itemsize
        self._values, self._meta, self._places = reserved(np.float32, stride), reserved(META), places()
        self._candidates, self._candidate_places = reserved(CANDIDATE), places()
        self._width = width

    def arrays(self, stream: np.uint64, reach: float, initial: float, frames: FrameArrays | None) -> RowArrays:
        return RowArrays(
            self._width,
            stream,
            np.float32(reach),
            np.float32(initial),
            self._values,
            self._meta,
            self._places,
            self._candidates,
            self._candidate_places,
            frames,
        )

    @property
    def alive(self) -> int:
        return int(self._places.counts[_ALIVE])

    @property
    def made(self) -> int:
        return int(self._places.counts[_MADE])

    @property
    def waiting(self) -> int:
        return int(self._candidate_places.counts[_ALIVE])

    @property
    def nbytes(self) -> int:
        """Bytes of all places that have been used."""
        return self.column_nbytes + int(self._places.counts[USED]) * (self.row_nbytes - META.itemsize)

    @property
    def column_nbytes(self) -> int:
        """The same without weights and states of rows."""
        free = 4 * int(self._places.counts[_FREE] + self._candidate_places.counts[_FREE])
        waiting = int(self._candidate_places.counts[USED]) * (CANDIDATE.itemsize + EVENTS.itemsize)
        return int(self._places.counts[USED]) * META.itemsize + waiting + free
