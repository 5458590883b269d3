"""The sending of a worker's vectors to all shards: into shared memory on its host, by streams of Redis to the others."""

from __future__ import annotations

from torch import Tensor

from gradstream.center.entries import Entry, Init, Payload, Push, seq_of
from gradstream.codecs.base import Codec
from gradstream.codecs.coding import Residual, carry
from gradstream.codecs.raw import RAW
from gradstream.wire.transport.layout import Coded, Layout, reused
from gradstream.wire.transport.local import LocalServers
from gradstream.wire.transport.messages import Part
from gradstream.wire.transport.remote import RemoteServers


class VectorSender:
    def __init__(self, layout: Layout, codec: Codec, local: LocalServers, remote: RemoteServers) -> None:
        self._layout, self._codec, self._local, self._remote = layout, codec, local, remote
        self.out: Tensor | None = local.vectors.out if local.vectors else None
        """The buffer in shared memory that a push is sent from; None: it can be sent from any."""
        self._coded_slices: dict[int, bytearray] = {}
        """Memory for the coded slices of shards."""
        self.bytes_sent = 0
        """Bytes of pushes alone, as they travelled through Redis."""
        self.bytes_raw = 0
        """Bytes of the same pushes without a codec."""

    def send(self, entry: Entry, payload: Payload, residual: Residual | None) -> tuple[Part, ...]:
        """Put a vector where its shards find it. Returns the part of each shard, for the header."""
        layout, shards = self._layout, range(self._layout.servers)
        codec = RAW if isinstance(entry, Init) else self._codec
        local = self._local.shards if isinstance(entry, Push) else frozenset[int]()
        sent = self._remote.send(seq_of(entry), {k: self._encode(codec, payload, k, residual) for k in shards if k not in local})
        if local:
            self._put_into_shared_memory(codec, payload, residual)
        if isinstance(entry, Push):  # theta_0, which goes out once, would blur what a codec saves
            self.bytes_sent += sum(part.nbytes for part in sent.values())
            self.bytes_raw += sum(map(layout.nbytes, sent))
        return tuple(sent.get(k, Part(0, 0)) for k in shards)

    def _encode(self, codec: Codec, payload: Payload, shard: int, residual: Residual | None) -> Coded:
        part = self._layout.part(payload, shard)
        if not codec.lossy:
            return Coded(self._layout.encode(codec, part))
        data = reused(self._coded_slices, shard, self._layout.coded(codec, shard))
        return self._layout.coding(codec, part, shard, memoryview(data), residual)

    def _put_into_shared_memory(self, codec: Codec, payload: Payload, residual: Residual | None) -> None:
        assert self._local.vectors is not None, "local shards share memory with this worker"
        assert self.out is not None, "a process that pushes has a buffer to push from"
        if codec.lossy:
            for mine in (self._layout.slices[k] for k in sorted(self._local.shards)):  # what a shard would have decoded
                carry(codec, payload.x[mine], self.out[mine], residual, mine.start)
        elif payload.x.data_ptr() != self.out.data_ptr():
            self.out.copy_(payload.x)
        self._local.vectors.put_out(payload.buffers)

    def send_ahead(self, seq: int, x: Tensor, start: int) -> None:
        """Send `x` from `start` on ahead of its header; see `gradstream.training.port.Port`."""
        if start < 0:
            self._remote.forget_sent_ahead()
        for shard, mine in enumerate(self._layout.slices):
            if 0 <= start < mine.stop and self._can_send_ahead(shard):
                first = max(0, start - mine.start)
                self._remote.send_ahead(shard, seq, RAW.encode(x[mine]), first * x.itemsize)

    @property
    def can_send_ahead(self) -> bool:
        return any(self._can_send_ahead(shard) for shard in range(self._layout.servers))

    def _can_send_ahead(self, shard: int) -> bool:
        """Return whether a shard's slice may go ahead: not in shared memory, not coded, and not with buffers behind it, which are
        not known yet."""
        alone = shard > 0 or not self._layout.floats + self._layout.ints
        return alone and shard not in self._local.shards and not self._codec.lossy
