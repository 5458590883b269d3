"""The data plane of one attempt, from outside: made, steered and removed by the control plane (or the local launcher)."""

from __future__ import annotations

import contextlib
from typing import Any, Literal

from redis import Redis

from gradstream.center.entries import Checkpoint, Committed, Entry, ExportModel, Join, Leave, StopWorkers
from gradstream.center.ledger import Account
from gradstream.metrics import Point
from gradstream.wire.redis import ids, keys
from gradstream.wire.redis.routes import everywhere, home
from gradstream.wire.telemetry import records
from gradstream.wire.transport.messages import ATTEMPT, FIELD, Header

_FIRST_ENTRIES = 100
_COMMANDS = (
    "+@connection",
    "+@stream",
    "+get",
    "+set",
    "+hset",
    "+hgetall",
    "+del",
    "+unlink",
    "+exists",
    "-@dangerous",
    "-client|tracking",
    "-xgroup",
    "+cluster|slots",
)


def account(j: str) -> str:
    """The Redis user of one attempt."""
    return f"gs-{j}"


def create(redis: Redis, j: str, *, password: str) -> None:
    """Make the log of an attempt and, on every instance, its account, which may touch only the keys of this attempt.

    Raises: RuntimeError, if a Redis would evict keys when it is full: that would lose gradients silently."""
    rights = [f"~{pattern}" for pattern in keys.patterns(j)]
    for each in everywhere(redis):
        policy = each.config_get("maxmemory-policy")["maxmemory-policy"]
        if policy != "noeviction":
            raise RuntimeError(f"the data plane's Redis has maxmemory-policy '{policy}'; set it to 'noeviction'")
        _acl(each, "SETUSER", account(j), "reset", "on", f">{password}", *rights, *_COMMANDS)
    redis = home(redis, j)
    if not redis.exists(keys.log(j)):
        redis.xadd(keys.log(j), {FIELD: ATTEMPT})
    if not redis.exists(keys.metrics(j)):
        made: Any = redis.xadd(keys.metrics(j), {b"source": b""})
        redis.xdel(keys.metrics(j), made)


def _acl(redis: Redis, *command: str) -> None:
    redis.execute_command("ACL", *command)  # type: ignore[no-untyped-call]


def exists(redis: Redis, j: str) -> bool:
    return bool(home(redis, j).exists(keys.log(j)))


def has_members(redis: Redis, j: str) -> bool:
    """Return whether a process has joined, by the first entries of the attempt's log."""
    found: Any = home(redis, j).xrange(keys.log(j), count=_FIRST_ENTRIES)
    headers = [Header.unpack(fields[FIELD]) for _, fields in found if FIELD in fields]
    return any(header is not None and isinstance(header.entry, Join) for header in headers)


def destroy(redis: Redis, j: str) -> None:
    """Fence the attempt off and remove its keys. Harmless to repeat."""
    home(redis, j).unlink(keys.log(j))
    for each in everywhere(redis):
        _acl(each, "DELUSER", account(j))
        for pattern in keys.patterns(j):
            for key in each.scan_iter(match=pattern, count=1000):
                each.unlink(key)


def control_checkpoint(redis: Redis, j: str, number: int) -> None:
    """Ask for checkpoint `number`; numbers count up within an attempt. Does nothing while another is being made."""
    post(redis, j, Checkpoint(number))


def control_export(redis: Redis, j: str, number: int, *, base: bool) -> bool:
    """Ask for an export. False: there is no log (any more)."""
    return post(redis, j, ExportModel(number, base))


def control_committed(
    redis: Redis, j: str, number: int, what: Literal["checkpoint", "export"] = "checkpoint", *, base_due: bool = False
) -> None:
    """Tell the servers that this checkpoint or export is committed. Harmless to repeat. `base_due`: see `Committed`."""
    post(redis, j, Committed(number, what, base_due))


def control_stop(redis: Redis, j: str, reason: str, rank: int | None = None) -> None:
    """Ask every worker to leave at its next boundary, or only the one of this rank while the others go on."""
    post(redis, j, StopWorkers(reason, rank))


def post_leave(redis: Redis, j: str, rank: int, incarnation: int, why: Literal["done", "stopped", "lost"] = "lost") -> None:
    """Post the leave of a worker (or evaluator, rank -1) that has exited."""
    post(redis, j, Leave(rank, incarnation, why))


def post(redis: Redis, j: str, entry: Entry) -> bool:
    """Append an entry to the attempt's log. False: there is no log (any more)."""
    return home(redis, j).xadd(keys.log(j), {FIELD: Header(entry).pack()}, nomkstream=True) is not None


def ledger(redis: Redis, j: str) -> dict[int, Account]:
    """Return the account of each rank, over all attempts up to this one, as of shard 0's last read; empty if the plane is gone.
    Invalid entries are left out, since user code may have written them."""
    found: Any = home(redis, j).hgetall(keys.ledger(j))
    accounts: dict[int, Account] = {}
    for rank, packed in found.items():
        with contextlib.suppress(ValueError):
            accounts[int(rank)] = Account.unpack(packed)
    return accounts


def read_metrics(redis: Redis, j: str, after: str = "0", count: int = 500) -> list[tuple[str, str, int, list[Point]]]:
    """Return batches after the id `after`, oldest first: (id, source, batch number, points). An unreadable batch has no points
    and the source "unreadable": user code shares its process's account and may have written it."""
    found: list[tuple[bytes, dict[bytes, bytes]]] = home(redis, j).xrange(keys.metrics(j), min=f"({after}", count=count)  # type: ignore[assignment]
    return [(entry.decode(), *_batch(fields)) for entry, fields in found]


def read_packed_metrics(redis: Redis, j: str, after: str = "0", count: int = 500) -> list[tuple[str, str, int, bytes]]:
    """Return batches with packed points, as `records.pack` makes them; the reader checks whether they are valid. Large batches
    come in smaller numbers, but always at least one if there is one."""
    found: Any = home(redis, j).eval(_SOME, 1, keys.metrics(j), after, count, _AT_ONCE)
    return [(entry.decode(), *_packed_batch(dict(zip(fields[::2], fields[1::2], strict=True)))) for entry, fields in found]


_AT_ONCE = 64 * 2**20
"""Bytes after which a read ends, with the batch that passes them: user code may have written batches of any size."""
_SOME = """
local found, bytes, last = {}, 0, ARGV[1]
while #found < tonumber(ARGV[2]) and bytes < tonumber(ARGV[3]) do
    local entry = redis.call('XRANGE', KEYS[1], '(' .. last, '+', 'COUNT', 1)[1]
    if not entry then break end
    for _, field in ipairs(entry[2]) do bytes = bytes + #field end
    found[#found + 1], last = entry, entry[1]
end
return found
"""


def _packed_batch(fields: dict[bytes, bytes]) -> tuple[str, int, bytes]:
    """Return an entry that is no batch with empty points, which no reader can unpack."""
    try:
        return fields[b"source"].decode(), int(fields[b"batch"]), fields[b"points"]
    except (KeyError, ValueError):
        return fields.get(b"source", b"unreadable")[:100].decode(errors="replace"), -1, b""


def _batch(fields: dict[bytes, bytes]) -> tuple[str, int, list[Point]]:
    try:
        points = records.unpack(fields[b"points"])
        return fields[b"source"].decode(), int(fields[b"batch"]), points
    except (KeyError, ValueError, TypeError):
        return "unreadable", 0, []


def trim_metrics(redis: Redis, j: str, upto: str) -> None:
    """Drop the batches up to and including the id `upto`, which the caller has stored."""
    home(redis, j).xtrim(keys.metrics(j), minid=ids.behind(upto), approximate=False)
