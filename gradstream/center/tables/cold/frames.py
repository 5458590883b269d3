"""Where the weights of each row lie: in a frame of memory, or in a record of the file.

A row keeps its place, and all columns but its weights stay in memory. So whatever decides about a row never asks where its weights
are, and no result depends on it. A table without a bound has no frames but None: weights lie at the row's place. Kernels ask
`frames is None` of an argument, so that numba drops the other branch as it compiles them for such a table.

Rows that came to memory last are on trial, a quarter of all, so that the push of a lookup still finds them. A row that no lookup
has used again by the end of its trial goes to the file. Others go when the hand of a clock finds them, which takes one use from
each row that it passes. So rows that are asked for once do not drive out those that are asked for often.

Source: Yang et al. 2023, "FIFO queues are all you need for cache eviction".
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gradstream.center.tables.compiling import kernel
from gradstream.center.tables.memory import ReservedArray

USED, FREE, HAND, ARRIVED, TRIED, COLD, READ, FAILED = range(8)
_ON_TRIAL = 4
"""One in so many rows of memory."""
MAX_RECENT = 3
_NOWHERE = -(2**31)
"""In place of the frame or record of a row that is gone."""
_CHOSEN = 255
"""In place of the uses of a row that is being written."""


class FrameArrays(NamedTuple):
    """As kernels see them."""

    at: NDArray[np.int32]
    """By place: the frame of the row's weights, or -1 - record."""
    owners: NDArray[np.int32]
    """By frame: place + 1 of the row; 0: the frame is free."""
    recent: NDArray[np.uint8]
    """By frame: uses of the row, up to `MAX_RECENT`."""
    arrivals: NDArray[np.int32]
    """A ring of the frames that rows came to last."""
    free: NDArray[np.int32]
    """A stack of free frames."""
    counts: NDArray[np.int64]
    """Frames used so far; free ones among them; the hand of the clock; rows that came to memory so far, and those whose trial is
    over; rows in the file; rows read from it so far; record + 1 of one that could not be read."""
    live: NDArray[np.int32]
    """Rows in each segment of the file."""
    writes: NDArray[np.uint32]
    """How often each segment was written."""
    record: NDArray[np.uint32]
    """A buffer for one record: weights and state, the row's place, a checksum."""
    descriptor: int
    """Descriptor of the file."""
    segment: int
    """Records of a segment."""


def frame_arrays(what: str, places: int, stride: int, descriptor: int, segment: int) -> FrameArrays:
    """`places`: of rows. `stride`: numbers of a row. Raises: Unavailable."""

    def reserved(dtype: Any, count: int) -> NDArray[Any]:
        return ReservedArray(what, dtype, (count,)).values

    segments = 3 * places // segment + 16  # at most half of the records are of no row
    return FrameArrays(
        reserved(np.int32, places),
        reserved(np.int32, places),
        reserved(np.uint8, places),
        reserved(np.int32, places),
        reserved(np.int32, places),
        np.zeros(8, np.int64),
        reserved(np.int32, segments),
        reserved(np.uint32, segments),
        np.zeros(stride + 2, np.uint32),
        descriptor,
        segment,
    )


@kernel
def take_frame(frames: Any, place: Any) -> Any:
    """Return a frame for the weights of a row. There are as many frames as places."""
    if frames is None:
        return place
    counts = frames.counts
    if counts[FREE]:
        counts[FREE] -= 1
        frame = np.int64(frames.free[counts[FREE]])
    else:
        frame = counts[USED]
        counts[USED] += 1
    frames.owners[frame], frames.recent[frame], frames.at[place] = place + 1, 0, frame
    frames.arrivals[counts[ARRIVED] % len(frames.arrivals)] = frame
    counts[ARRIVED] += 1
    return frame


@kernel
def frame_of(frames: Any, place: Any) -> Any:
    """Return where the weights of a row lie in memory; if they are in the file, -1 - record."""
    if frames is None:
        return place
    return np.int64(frames.at[place])


@kernel
def free_frame(frames: Any, frame: Any) -> None:
    frames.owners[frame] = 0
    frames.free[frames.counts[FREE]] = frame
    frames.counts[FREE] += 1


@kernel
def forget_weights(frames: Any, place: Any) -> None:
    """Free the frame or the record of a row that is gone."""
    if frames is None:
        return
    at = np.int64(frames.at[place])
    if at >= 0:
        free_frame(frames, at)
    else:
        free_record(frames, -1 - at)
    frames.at[place] = _NOWHERE


@kernel
def free_record(frames: Any, record: Any) -> None:
    frames.live[record // frames.segment] -= 1
    frames.counts[COLD] -= 1


@kernel
def note_use(frames: Any, frame: Any) -> None:
    if frames.recent[frame] < MAX_RECENT:
        frames.recent[frame] += np.uint8(1)


@kernel
def choose_frames(frames: Any, chosen: Any) -> None:
    """Fill `chosen` with frames whose rows go out. There are at least as many in use."""
    found, counts = _end_trials(frames, chosen), frames.counts
    frame = counts[HAND]
    while found < len(chosen):
        frame = frame + 1 if frame + 1 < counts[USED] else 0
        if frames.owners[frame] and frames.recent[frame] != _CHOSEN:
            if frames.recent[frame]:
                frames.recent[frame] -= np.uint8(1)
            else:
                frames.recent[frame] = _CHOSEN
                chosen[found] = frame
                found += 1
    counts[HAND] = frame


@kernel
def _end_trials(frames: Any, chosen: Any) -> Any:
    """Return how many frames are chosen."""
    found, counts = 0, frames.counts
    on_trial = (counts[USED] - counts[FREE]) // _ON_TRIAL
    counts[TRIED] = max(counts[TRIED], counts[ARRIVED] - len(frames.arrivals))
    while found < len(chosen) and counts[ARRIVED] - counts[TRIED] > on_trial:
        frame = frames.arrivals[counts[TRIED] % len(frames.arrivals)]
        counts[TRIED] += 1
        if frames.owners[frame] and not frames.recent[frame]:
            frames.recent[frame] = _CHOSEN
            chosen[found] = frame
            found += 1
    return found


@kernel
def move_out(frames: Any, chosen: Any, segment: Any) -> None:
    """The chosen rows are in a segment of the file now, which was empty, in this order."""
    for i in range(len(chosen)):
        frames.at[frames.owners[chosen[i]] - 1] = -1 - (segment * frames.segment + i)
        free_frame(frames, chosen[i])
    frames.live[segment] = len(chosen)
    frames.counts[COLD] += len(chosen)
