"""The receiving of centers from all shards into a worker's buffers: from shared memory on its host, from Redis elsewhere."""

from __future__ import annotations

from torch import Tensor

from gradstream.center.entries import Buffers, Entry, Payload, Push
from gradstream.codecs.base import Codec
from gradstream.codecs.coding import Decoding
from gradstream.codecs.raw import RAW
from gradstream.wire.transport.layout import Layout, reused
from gradstream.wire.transport.local import LocalServers
from gradstream.wire.transport.messages import ON_DEVICE, SHARED, ResponseMessage
from gradstream.wire.transport.remote import RemoteServers
from gradstream.wire.transport.shm import is_last_center


class UnreadableCenter(Exception):
    """The vector of a message is damaged, or does not come; the text of the error names it."""


class CenterReceiver:
    def __init__(
        self, layout: Layout, codec: Codec, local: LocalServers, remote: RemoteServers, centers: int, into: Tensor | None = None
    ) -> None:
        """`centers`: see `count_centers`. `into`: the first of them if they do not come through shared memory; None: a vector
        that is made here, as the others are."""
        self._layout, self._codec, self._local, self._remote = layout, codec, local, remote
        given = [] if into is None else [into]
        made = (layout.vector() for _ in range(centers - len(given)))
        self.buffers = local.vectors.centers if local.vectors else [*given, *made]
        """The vectors that centers arrive in, in turn, each of shape (size,)."""
        self.on_device: list[Tensor] = []
        """The same for centers that lie in `DeviceVectors`; empty: there are none."""
        self._newest = 0
        """Index of the buffer for the response to the newest push."""
        self._expected: dict[int, int] = {}
        """Indices of the buffers for the responses to pushes, by seq. Other responses come when no push is under way."""
        self._coded_slices: dict[int, bytearray] = {}
        """Memory for the coded slices of shards."""
        self.bytes_received = 0
        """Bytes of vectors alone, as they travelled through Redis."""

    def assign_buffer(self, entry: Entry) -> int:
        """Return the index of the buffer for the response's center: not the one in which the worker computes meanwhile."""
        if isinstance(entry, Push):
            self._newest = (self._newest + 1) % len(self.buffers)
            self._expected[entry.seq] = self._newest
        return self._newest

    def receive(self, messages: list[ResponseMessage]) -> Payload:
        """Return the center that the messages of all shards bring. Raises: UnreadableCenter."""
        seq, buffers = messages[0].response.seq, None
        index = len(self.buffers) - 1 if is_last_center(messages[0].response) else self._expected.pop(seq, self._newest)
        on_device = messages[0].where == ON_DEVICE
        center = self.on_device[index] if on_device else self.buffers[index]
        try:
            for shard, message in enumerate(messages):
                if message.where not in (SHARED, ON_DEVICE):
                    buffers = self._fetch(shard, message, center[self._layout.slices[shard]]) or buffers
                elif shard == 0 and self._local.vectors:
                    buffers = self._local.vectors.center_buffers(index)
        except UnreadableCenter:
            self._expected[seq] = index
            raise
        return Payload(center, buffers)

    def _fetch(self, shard: int, message: ResponseMessage, out: Tensor) -> Buffers | None:
        """Read a shard's slice of the center into `out`; return the buffers that came with it. Raises: UnreadableCenter."""
        assert message.part is not None, "a message that brings a vector says how long it is"
        nbytes = message.part.nbytes
        self.bytes_received += nbytes
        if not self._codec.lossy and nbytes == out.nbytes:
            self._read(shard, message, RAW.encode(out))  # the bytes of `out` itself
            return None
        data = reused(self._coded_slices, shard, nbytes)
        if not self._codec.lossy:
            self._read(shard, message, memoryview(data))
            return self._layout.decode(RAW, data, shard, out).buffers
        self._read(shard, message, memoryview(data), self._layout.decoding(self._codec, data, shard, out))
        return self._layout.buffers(data, shard)

    def _read(self, shard: int, message: ResponseMessage, place: memoryview, decoding: Decoding | None = None) -> None:
        if not self._remote.fetch(shard, message.where, place, decoding):
            raise UnreadableCenter(f"the center {message.where} of shard {shard}")
