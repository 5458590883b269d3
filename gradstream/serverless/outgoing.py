"""The entries that a worker of a job without servers is about to hand over, and the vector of its push."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from gradstream.center.entries import Buffers, Entry, Init, Join, Payload, Push
from gradstream.codecs.base import Codec
from gradstream.codecs.coding import Residual, carry
from gradstream.wire.transport.layout import Layout
from gradstream.wire.transport.messages import Header


class OutgoingEntries:
    def __init__(self, rank: int, codec: Codec, layout: Layout, out: Tensor, put_buffers: Callable[[Buffers | None], None]) -> None:
        """`out`: shared memory for the vector, shape (size,); `put_buffers` puts the model's buffers beside it."""
        self._rank, self._codec, self._layout, self._out, self._put_buffers = rank, codec, layout, out, put_buffers
        self._entries: list[bytes] = []
        self.has_push = False
        """One of them is a push."""

    def __bool__(self) -> bool:
        return bool(self._entries)

    def add(self, entry: Entry, payload: Payload | None, residual: Residual | None) -> None:
        if payload and isinstance(entry, Init | Push):
            self._fill_out(entry, payload, residual)
        self.has_push |= isinstance(entry, Push)
        observed = payload.observed.pack() if payload and payload.observed else ""
        passes_over = payload.passes_over if payload else None
        shared = (self._rank,) if isinstance(entry, Join) else ()
        self._entries.append(Header(entry, shared=shared, observed=observed, passes_over=passes_over).pack())

    def take(self) -> list[bytes]:
        """Remove and return the packed headers."""
        taken, self._entries, self.has_push = self._entries, [], False
        return taken

    def _fill_out(self, entry: Init | Push, payload: Payload, residual: Residual | None) -> None:
        out = self._out
        if self._codec.lossy and isinstance(entry, Push):
            for mine in self._layout.slices:  # what a server would have decoded
                carry(self._codec, payload.x[mine], out[mine], residual, mine.start)
        elif payload.x.data_ptr() != out.data_ptr():
            out.copy_(payload.x)
        self._put_buffers(payload.buffers)
