"""The port of a worker: what a transport does for a link. `gradstream/wire/port.py` implements it over Redis and shared memory,
`gradstream/sim/port.py` in the simulator."""

from __future__ import annotations

from typing import Protocol

from torch import Tensor

from gradstream.center.entries import Entry, Payload, Response
from gradstream.codecs.coding import Residual


class Port(Protocol):
    """Carries entries to all shards and responses back. Vectors are whole here. They are on the CPU, or on the GPU that the worker
    shares with its shard."""

    @property
    def out(self) -> Tensor | None:
        """The buffer from which the port sends a vector without another copy; None: it can send from any. After a response it may
        be another one."""

    @property
    def centers(self) -> list[Tensor]:
        """The buffers into which centers arrive, in turn; empty: they arrive elsewhere. A worker whose rounds begin with a pull
        may train in them: each center arrives in another buffer than the one before, or there is only one."""

    def send(self, entry: Entry, payload: Payload | None = None, residual: Residual | None = None) -> None:
        """Post an entry. A push is in the log when the next entry is sent or a response received; other entries are at once.
        The payload must not change before its response has come. A lossy codec may overwrite `out` with the decoded values.
        `residual` holds the error of earlier pushes: it is added to this push, whose own error stays there."""

    @property
    def can_send_ahead(self) -> bool:
        """True if parts of a vector may go ahead of its header."""

    def send_ahead(self, seq: int, x: Tensor, start: int) -> None:
        """Send `x` from `start` on ahead of the push `seq` whose payload it will be. -1: nothing of it is final, nor of the
        parts that went."""

    def receive_within(self, seconds: float) -> Response | None:
        """Return the next response as `receive` does; None if none came in so many seconds, or if no time passes here."""

    def receive(self) -> Response:
        """Return the next response, joined from all shards; its vector is valid until the next response that brings one.

        Waits as long as the attempt lives. Raises: PlaneLost when it does not."""
