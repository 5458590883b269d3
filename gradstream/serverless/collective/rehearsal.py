"""A rehearsal of a turn: it finds the vectors that the workers must exchange, before any of them acts on an entry."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, NoReturn

from gradstream.center.entries import Init, Payload
from gradstream.center.gate import Pending
from gradstream.center.parameters.updates import PushUpdates
from gradstream.center.shard import Shard
from gradstream.serverless.collective.machine_copy import rehearsing_copy
from gradstream.wire.transport.messages import Header


class Rehearsed(NamedTuple):
    """At most one of `init` and `updates` is there."""

    handled: int
    """Entries that the turn handles. It ends with the one that changes the center; the others wait for the next turn."""
    init: Init | None = None
    """Its vector makes the center."""
    updates: PushUpdates | None = None
    """Their mean changes the center."""
    pending: Pending = {}  # noqa: RUF012
    """Without both: pushes that wait for their round after the turn."""


class _RoundCloses(Exception):
    def __init__(self, updates: PushUpdates) -> None:
        super().__init__()
        self.updates = updates


def rehearse(shard: Shard, headers: Sequence[Header], payload_of: Callable[[Header, Shard], Payload | None]) -> Rehearsed:
    """Leave `shard` as it is. Raises: ProtocolError."""
    copied = rehearsing_copy(shard)
    if copied.center:
        copied.center.find_mean = _stop
    for number, header in enumerate(headers):
        if isinstance(header.entry, Init) and copied.is_news(header.entry):
            return Rehearsed(number + 1, init=header.entry)
        try:
            copied.handle(header.entry, payload_of(header, copied))
        except _RoundCloses as closes:
            return Rehearsed(number + 1, updates=closes.updates)
    return Rehearsed(len(headers), pending=copied.gate.pending)


def _stop(updates: PushUpdates) -> NoReturn:
    raise _RoundCloses(updates)
