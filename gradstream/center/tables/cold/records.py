"""Records of the file: weights and state of a row, its place, and a checksum.

The checksum covers how often the segment was written, too. So a record that the disk has lost or mixed up is noticed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from gradstream.center.tables.cold.frames import FAILED, READ, frame_of, free_frame, free_record, take_frame
from gradstream.center.tables.compiling import kernel

_pread: Any = types.ExternalFunction("pread", types.int64(types.int32, types.uintp, types.uintp, types.int64))
"""The function of the C library: through the interpreter a record takes four times as long."""
_PRIME = np.uint64(0x100000001B3)
_S32 = np.uint64(32)


@kernel
def checksum(record: Any, number: Any, writes: Any) -> Any:
    """Return the FNV-1a hash of a record's words but the last. `number`: of the record; `writes`: of its segment."""
    found = (np.uint64(0xCBF29CE484222325) ^ np.uint64(number)) * _PRIME
    found = (found ^ np.uint64(writes)) * _PRIME
    for i in range(len(record) - 1):
        found = (found ^ np.uint64(record[i])) * _PRIME
    return np.uint32(found ^ (found >> _S32))


@kernel
def fill_records(rows: Any, chosen: Any, segment: Any, records: Any) -> None:
    """Fill the records of a segment with the rows of the chosen frames."""
    owners, weights, writes, first = rows.frames.owners, rows.values, rows.frames.writes[segment], segment * rows.frames.segment
    for i in range(len(chosen)):
        record, row = records[i], weights[chosen[i]].view(np.uint32)
        for j in range(len(row)):
            record[j] = row[j]
        record[len(row)] = owners[chosen[i]] - 1
        record[len(row) + 1] = checksum(record, first + i, writes)


@kernel
def is_of(frames: Any, record: Any, number: Any, place: Any) -> Any:
    """True if this is the record of the row at a place, undamaged."""
    last = len(record) - 1
    return record[last - 1] == place and record[last] == checksum(record, number, frames.writes[number // frames.segment])


@kernel
def read_record(frames: Any, number: Any, place: Any, values: Any) -> Any:
    """Fill `values` with the weights and state of the row in a record. Return False if it cannot be read."""
    size = 4 * len(frames.record)
    done = _pread(frames.descriptor, frames.record.ctypes.data, size, number * size)
    if done != size or not is_of(frames, frames.record, number, place):
        frames.counts[FAILED] = number + 1
        return False
    words = values.view(np.uint32)
    for j in range(len(words)):
        words[j] = frames.record[j]
    frames.counts[READ] += 1
    return True


@kernel
def bring_back(frames: Any, weights: Any, place: Any) -> Any:
    """Move a row from the file to memory. Return its frame; -1: it cannot be read, and stays where it is. `weights`: of all frames,
    with the state."""
    at = frames.at[place]
    number = -1 - np.int64(at)
    frame = take_frame(frames, place)
    if read_record(frames, number, place, weights[frame]):
        free_record(frames, number)
        return frame
    free_frame(frames, frame)
    frames.at[place] = at
    return np.int64(-1)


@kernel
def bring_segment_back(rows: Any, segment: Any, records: Any) -> Any:
    """Move what is left of a segment to memory. `records`: all of it. Return False if some of it is damaged, and stays there."""
    frames = rows.frames
    for i in range(len(records)):
        number, place = segment * frames.segment + i, np.int64(records[i, len(records[i]) - 2])
        if place < len(frames.at) and frames.at[place] == -1 - number and is_of(frames, records[i], number, place):
            frame = take_frame(frames, place)
            rows.values[frame].view(np.uint32)[:] = records[i, : rows.values.shape[1]]
            free_record(frames, number)
    return frames.live[segment] == 0


@kernel
def copy_values(rows: Any, places: Any, values: Any) -> None:
    """Fill `values` with the weights and states of rows, and leave each where it is."""
    for i in range(len(places)):
        copy_row(rows, rows.frames, places[i], values[i])


@kernel
def copy_row(rows: Any, frames: Any, place: Any, values: Any) -> None:
    """As `copy_values`. `frames`: of the rows."""
    if frames is None:
        values[:] = rows.values[place]
    else:
        at = frame_of(frames, place)
        if at >= 0:
            values[:] = rows.values[at]
        else:
            read_record(frames, -1 - at, place, values)
