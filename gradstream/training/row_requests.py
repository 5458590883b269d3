"""The rows of embedding tables that a link gets for its replica: asked for along with a push, or looked up when the model asks."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from gradstream.center.entries import Payload
from gradstream.center.tables.payload import FoundRows, RowKeys, of_kind
from gradstream.training.replica import Replica
from gradstream.training.tickets import Ticket


class RowRequests:
    def __init__(self, w: Replica, send_lookup: Callable[[Mapping[str, RowKeys]], Ticket], wait: Callable[[Ticket], None]) -> None:
        """`send_lookup` posts a lookup of these keys. `wait` waits until a ticket is answered."""
        self._w, self._send_lookup, self._wait = w, send_lookup, wait
        self._tables = w.model.with_tables
        self._asked: Ticket | None = None
        """The last push, if it asks for rows and has no response yet."""
        self._is_void = False
        """A checkpoint was made since then."""
        if self._tables:
            self._tables.look_up_with(self.look_up, self._await_asked)

    def keys_ahead(self) -> Mapping[str, RowKeys] | None:
        """Return the keys that a push may ask for: those of as many mini-batches as it ends. None: they are not known."""
        if self._tables is None or not self._w.batches.steps:
            return None
        began = time.perf_counter()
        keys = self._tables.keys_ahead(self._w.t, self._w.batches.steps)
        self._w.batches.compute_seconds += time.perf_counter() - began  # a gradient takes its mini-batch in that time, too
        return keys

    def note_push(self, ticket: Ticket, asks: Mapping[str, RowKeys] | None) -> None:
        self._asked, self._is_void = None if asks is None else ticket, False

    def receive(self, ticket: Ticket, payload: Payload) -> None:
        """Take the rows of a response."""
        if payload.rows is None or self._tables is None:
            return
        found = of_kind(FoundRows, payload.rows)
        if ticket is not self._asked:
            ticket.rows = found
            return
        self._asked = None
        if not self._is_void:
            self._tables.hold_asked_rows(found)

    def forget_asked(self) -> None:
        """Look up anew what a push has asked for, as a job does that resumes from the checkpoint that was made."""
        self._is_void = True
        if self._tables:
            self._tables.forget_asked_rows()

    def look_up(self, keys: Mapping[str, RowKeys]) -> Mapping[str, FoundRows]:
        """Return the rows of these keys in the tables, as they are when the entry reaches the log."""
        ticket = self._send_lookup(keys)
        self._w.batches.untimed(lambda: self._wait(ticket))()
        return ticket.rows or {}

    def _await_asked(self) -> None:
        asked = self._asked
        if asked is not None:
            self._w.batches.untimed(lambda: self._wait(asked))()
