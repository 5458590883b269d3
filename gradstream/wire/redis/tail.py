"""A Redis that came back without the end of its log: from an older file, or before the last second had reached the disk.

A process that continues there would diverge from those that have read or written the missing entries. The readers count: a log that
has had fewer entries than they have read has lost some. A writer looks for its own last entry. Both ask only after a lost
connection or in doubt.
"""

from __future__ import annotations

from typing import Any

from redis import exceptions

from gradstream.errors import PlaneLost
from gradstream.wire.redis import ids
from gradstream.wire.redis.resp import Resp

_AT_ONCE = 1000
_LOST = (
    "the plane's Redis came back without the end of this attempt's log ({what}), as after a restart from an older file; a new "
    "attempt begins from the last checkpoint"
)


def check_read(redis: Resp, key: str, position: str, entries: int) -> None:
    """For a reader that has read so many entries since the log began, the last of them at `position`.

    Raises: PlaneLost: some of them are not there any more. And what `Resp.ask` raises."""
    info = _info(redis, key)
    if info is None or b"entries-added" not in info:
        return  # gone, which others find; or a Redis before version 7, which does not count
    added, behind, last = int(info[b"entries-added"]), 0, info[b"last-generated-id"].decode()
    after = position
    while ids.place(after) < ids.place(last):
        [found] = redis.ask(("XRANGE", key, f"({after}", last, "COUNT", _AT_ONCE))
        if not found:
            break
        behind, after = behind + len(found), found[-1][0].decode()
    if added < entries + behind or ids.place(last) < ids.place(position):
        raise PlaneLost(_LOST.format(what=f"{entries + behind} entries were read there, and it has had {added}"))


def check_written(redis: Resp, key: str, entry: str) -> None:
    """For the writer of this entry. An entry that shards have handled and removed may be gone.

    Raises: PlaneLost: it is not there any more. And what `Resp.ask` raises."""
    info = _info(redis, key)
    [found] = redis.ask(("XRANGE", key, entry, entry))
    if info is None or found:
        return
    first = info[b"first-entry"]
    if ids.place(info[b"last-generated-id"].decode()) < ids.place(entry) or (
        first and ids.place(first[0].decode()) < ids.place(entry)
    ):
        raise PlaneLost(_LOST.format(what=f"the entry {entry} was written there"))


def _info(redis: Resp, key: str) -> dict[bytes, Any] | None:
    try:
        [flat] = redis.ask(("XINFO", "STREAM", key))
    except exceptions.ResponseError:
        return None
    return dict(zip(flat[::2], flat[1::2], strict=True))
