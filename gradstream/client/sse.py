"""Server-sent events, as bytes come from the socket. No I/O here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple


class ServerSentEvent(NamedTuple):
    id: str | None
    event: str
    data: str


def events(lines: Iterable[str]) -> Iterator[ServerSentEvent]:
    """Yield the complete events of lines without line ends; an event that a lost connection truncated is left out."""
    id: str | None = None
    event, data = "message", list[str]()
    for line in lines:
        if not line:
            if data:
                yield ServerSentEvent(id, event, "\n".join(data))
            event, data = "message", []
            continue
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            data.append(value)
        elif name == "event":
            event = value
        elif name == "id":
            id = value
