"""Tickets: the entries of a worker that wait for their response."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor

from gradstream.center.entries import Lookup, Pull, Push, Response, Saved
from gradstream.center.tables.payload import FoundRows
from gradstream.codecs.coding import Residual


@dataclass(slots=True)
class Ticket:
    """An entry that waits for its response."""

    out: Tensor | None
    """The vector that the response's vector is copied into."""
    is_push: bool
    examples: int
    residual: Residual | None
    """The residual of which this push carried some."""
    answered: bool = False
    rows: Mapping[str, FoundRows] | None = None
    """The rows that a lookup found."""


class Tickets:
    """The tickets of one incarnation, by the number of their entry. Entries are numbered from 1, in the order of sending."""

    def __init__(self) -> None:
        self._open: dict[int, Ticket] = {}
        self._last = 0

    def __len__(self) -> int:
        return len(self._open)

    @property
    def next_seq(self) -> int:
        return self._last + 1

    @property
    def has_push(self) -> bool:
        """True if a push is under way."""
        return any(ticket.is_push for ticket in self._open.values())

    def open(self, entry: Push | Pull | Lookup | Saved, out: Tensor | None, residual: Residual | None) -> Ticket:
        self._last = entry.seq
        is_push = isinstance(entry, Push)
        ticket = self._open[entry.seq] = Ticket(out, is_push, entry.examples if isinstance(entry, Push) else 0, residual)
        return ticket

    def close(self, response: Response) -> Ticket | None:
        """Return the ticket that this response answers; None: it answers no entry, as a checkpoint or a stop does."""
        ticket = self._open.pop(response.seq, None)
        if ticket:
            ticket.answered = True
        return ticket
