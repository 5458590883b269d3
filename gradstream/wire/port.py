"""A worker's (or evaluator's) end of the gradient plane: a `Port`.

Out: the vector's slices go to where their shards find them; when all of them lie there, the header goes into the log. No
header, and nothing has happened. In: every shard answers every entry in the order of the log, so the n-th messages of all
shards belong together. Shards on this host are *local*: their vectors lie in shared memory and their messages come through a pipe.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace
from torch import Tensor

from gradstream.center.entries import EVALUATOR, Buffers, Entry, Init, Join, Payload, Push, Rejected, Response, moved_in_all, seq_of
from gradstream.codecs.base import Codec
from gradstream.codecs.coding import Decoding, Residual, carry
from gradstream.codecs.raw import RAW
from gradstream.errors import PlaneLost
from gradstream.process.order import PlaneAccess, SharedMemory
from gradstream.wire.log_writer import LogWriter
from gradstream.wire.redis.client import BLOCK, connect
from gradstream.wire.redis.routes import Routes
from gradstream.wire.transport.layout import Coded, Layout, reused
from gradstream.wire.transport.messages import SHARED, Header, Part, ResponseMessage
from gradstream.wire.transport.pipe import ResponsePipe
from gradstream.wire.transport.remote import RemoteServers
from gradstream.wire.transport.response_inbox import ResponseInbox
from gradstream.wire.transport.shm import NoRoom, Shared

log = logging.getLogger(__name__)

MAX_RETRIES = 20
"""Unreadable centers in a row after which the port gives up."""


class _Unreadable(Exception):
    """The vector of a message is damaged, or does not come; the text of the error names it."""


class RedisPort:
    def __init__(
        self,
        access: PlaneAccess,
        j: str,
        rank: int,
        incarnation: int,
        layout: Layout,
        codec: Codec,
        pull_codec: Codec,
        on_wait: Callable[[float], None] = lambda seconds: None,
        *,
        shared: SharedMemory | None = None,
        pipeline: int = 0,
    ) -> None:
        """`codec` is for pushes, `pull_codec` for centers. The port calls `on_wait(seconds)` about every second with the time that
        it has waited for its next response. `pipeline`: pushes that may be under way while their worker computes."""
        routes = Routes(access, j)
        access = routes.home
        redis, self._log = connect(access.url, user=access.user, password=access.password), LogWriter(access, j)
        self._rank, self._incarnation, self._layout, self._on_wait = rank, incarnation, layout, on_wait
        self._codec, self._pull_codec = codec, RAW if rank == EVALUATOR else pull_codec
        self._in_vain = 0
        """Vectors in a row that the port has rejected."""
        self._opened = 0
        """Messages of each shard that the port has opened, and whose vectors it has copied."""
        self._shared: Shared | None = None
        self._pipe: ResponsePipe | None = None
        self._local = frozenset[int]()
        if shared and shared.servers:
            self._share(Path(shared.folder), frozenset(shared.servers), pipeline)
        self.out = self._shared.out if self._shared else None
        self.centers = self._shared.centers if self._shared else [layout.vector() for _ in range(1 + pipeline)]
        self._into = 0
        """Index of the center buffer that the response to the newest push comes into."""
        self._coming: dict[int, int] = {}
        """Indices of the center buffers for the responses to pushes, by seq. Other responses come when no push is under way."""
        self.bytes_sent = self.bytes_received = 0
        """Bytes of vectors alone, as they travelled."""
        self.bytes_raw = 0
        """Bytes of the sent vectors without a codec."""
        self._remote = RemoteServers(routes, j, rank, incarnation)
        self._responses = ResponseInbox(redis, j, (rank, incarnation), layout.servers, local=self._local, pipe=self._pipe)
        self._responses.on_payload_wanted = self._remote.resend
        self._responses.on_doubt = self._log.check_last
        self._retransmissions = 0
        self._responses.on_rejected = self._remote.on_damage = self._count_retransmission
        self.on_damage: Callable[[int], None] = lambda count: None
        """Called with the number of vectors and messages so far that came damaged and whose resend was requested."""
        self._coming_in, self._going_out = dict[int, bytearray](), dict[int, bytearray]()
        """Coded slices of shards."""

    def send(self, entry: Entry, payload: Payload | None = None, residual: Residual | None = None) -> None:
        parts = self._lay_down(entry, payload, residual) if payload else ()
        layout = self._layout.as_dict() if isinstance(entry, Init) else None
        shared = tuple(sorted(self._local)) if isinstance(entry, Join) else ()
        packed = Header(entry, parts, layout, shared, self._next_center(entry), self._opened).pack()
        self.confirm()
        self._log.post(packed)
        if not isinstance(entry, Push):
            self.confirm()

    def flow(self, seq: int, x: Tensor, start: int) -> None:
        if start < 0:
            self._remote.drop()
        for shard, mine in enumerate(self._layout.slices):
            if 0 <= start < mine.stop and self._flows(shard):
                first = max(0, start - mine.start)
                self._remote.flow(shard, seq, RAW.encode(x[mine]), first * x.itemsize)

    @property
    def flows(self) -> bool:
        return any(self._flows(shard) for shard in range(self._layout.servers))

    def _flows(self, shard: int) -> bool:
        """Return whether a shard's slice may go ahead: not in shared memory, not coded, and not with buffers behind it, which are
        not known yet."""
        alone = shard > 0 or not self._layout.floats + self._layout.ints
        return alone and shard not in self._local and not self._codec.lossy

    def confirm(self) -> None:
        """Make sure that the entry sent last is in the log; to write it twice does no harm. Raises: PlaneLost."""
        self._log.confirm()

    def receive(self) -> Response:
        response = self.receive_within(float("inf"))
        assert response is not None, "the wait had no end"
        return response

    def receive_within(self, seconds: float) -> Response | None:
        """Return the next response; None if none came in so many seconds. See `gradstream.train.link.Port`."""
        self.confirm()
        began, response = time.monotonic(), None
        while response is None:
            while not self._responses.complete:
                waited = time.monotonic() - began
                if waited >= seconds:
                    return None
                self._responses.collect(min(BLOCK, seconds - waited))
                if waited > BLOCK:
                    self._on_wait(waited)
            messages = self._responses.take()
            if any(message.response.shared() != messages[0].response.shared() for message in messages):
                raise PlaneLost(f"shards disagree: {messages}")
            response = self._joined(messages)
            self._opened = messages[0].number
        return response

    def _next_center(self, entry: Entry) -> int:
        """Return the index of the buffer for the response's center: not the one in which the worker computes meanwhile."""
        if isinstance(entry, Push):
            self._into = (self._into + 1) % len(self.centers)
            self._coming[entry.seq] = self._into
        return self._into

    def _joined(self, messages: list[ResponseMessage]) -> Response | None:
        """Join the messages of all shards. None: a vector is rejected, and the response will be resent."""
        response = messages[0].response
        if response.moved is not None:
            response = replace(response, moved=moved_in_all(message.response for message in messages))
        if response.brings == "nothing":
            return response
        buffers, into = None, self._coming.pop(response.seq, self._into)
        center = self.centers[into]
        try:
            for shard, message in enumerate(messages):
                out = center[self._layout.slices[shard]]
                if message.where != SHARED:
                    buffers = self._fetch(shard, message, out) or buffers
                elif shard == 0 and self._shared:
                    buffers = self._shared.center_buffers(into)
        except _Unreadable as unreadable:
            self._coming[response.seq] = into
            self._reject(messages[0], str(unreadable))
            return None
        self._in_vain = 0
        return replace(response, payload=Payload(center, buffers))

    def _reject(self, message: ResponseMessage, what: str) -> None:
        """Reject the vector of a message, so that a resend comes. Raises: PlaneLost, after `MAX_RETRIES` failures in a row."""
        if self._in_vain == MAX_RETRIES:
            raise PlaneLost(f"{what} is not there, or damaged, and {MAX_RETRIES} others in its place were, too")
        log.warning("%s is not there, or damaged: it is rejected, and a resend requested", what)
        self._in_vain += 1
        self._count_retransmission()
        response = message.response
        assert response.brings != "nothing", "only a vector can be damaged"
        self.send(
            Rejected(
                self._rank,
                self._incarnation,
                message.number,
                response.seq,
                response.outcome,
                response.go,
                response.version,
                response.brings,
            )
        )

    def _share(self, folder: Path, servers: frozenset[int], pipeline: int) -> None:
        """Make this incarnation's vectors and its pipe; without room for them, everything goes through Redis."""
        incarnation = (self._rank, self._incarnation)
        try:
            pipe = ResponsePipe(folder, *incarnation)  # first: without it, the vectors would be room for nothing
            self._shared = Shared.make(folder, *incarnation, self._layout, 1 + pipeline)
            self._pipe, self._local = pipe, servers
        except (NoRoom, OSError) as error:
            log.warning("no shared memory, so vectors go through Redis: %s", error)

    def _fetch(self, shard: int, message: ResponseMessage, out: Tensor) -> Buffers | None:
        """Read a shard's slice of the center into `out`; return the buffers that came with it. Raises: _Unreadable."""
        assert message.part is not None, "a message that brings a vector says how long it is"
        nbytes = message.part.nbytes
        self.bytes_received += nbytes
        if not self._pull_codec.lossy and nbytes == out.nbytes:
            self._read(shard, message, RAW.encode(out))  # the bytes of `out` itself
            return None
        data = reused(self._coming_in, shard, nbytes)
        if not self._pull_codec.lossy:
            self._read(shard, message, memoryview(data))
            return self._layout.decode(RAW, data, shard, out).buffers
        self._read(shard, message, memoryview(data), self._layout.decoding(self._pull_codec, data, shard, out))
        return self._layout.buffers(data, shard)

    def _read(self, shard: int, message: ResponseMessage, place: memoryview, decoding: Decoding | None = None) -> None:
        if not self._remote.fetch(shard, message.where, place, decoding):
            raise _Unreadable(f"the center {message.where} of shard {shard}")

    def _lay_down(self, entry: Entry, payload: Payload, residual: Residual | None) -> tuple[Part, ...]:
        """Put a vector into shared memory for shards on this host, and into the streams of the others."""
        local = self._local if isinstance(entry, Push) else frozenset[int]()
        codec = RAW if isinstance(entry, Init) else self._codec
        layout, shards = self._layout, range(self._layout.servers)
        sent = self._remote.send(seq_of(entry), {k: self._coded(codec, payload, k, residual) for k in shards if k not in local})
        if local and self._shared and self.out is not None:
            if codec.lossy:
                for mine in (layout.slices[k] for k in sorted(local)):  # what a shard would have decoded
                    carry(codec, payload.x[mine], self.out[mine], residual, mine.start)
            elif payload.x.data_ptr() != self.out.data_ptr():
                self.out.copy_(payload.x)
            self._shared.put_out(payload.buffers)
        if isinstance(entry, Push):  # theta_0, which goes out once, would blur what a codec saves
            self.bytes_sent += sum(part.nbytes for part in sent.values())
            self.bytes_raw += sum(map(layout.nbytes, sent))
        return tuple(sent.get(k, Part(0, 0)) for k in shards)

    def _coded(self, codec: Codec, payload: Payload, shard: int, residual: Residual | None) -> Coded:
        part = self._layout.part(payload, shard)
        if not codec.lossy:
            return Coded(self._layout.encode(codec, part))
        data = reused(self._going_out, shard, self._layout.coded(codec, shard))
        return self._layout.coding(codec, part, shard, memoryview(data), residual)

    def _count_retransmission(self) -> None:
        self._retransmissions += 1
        self.on_damage(self._retransmissions)

    @property
    def shares(self) -> bool:
        """True if this incarnation has its vectors in shared memory."""
        return self._shared is not None

    @property
    def nbytes(self) -> int:
        """Bytes of a whole vector with its buffers, without a codec."""
        return sum(map(self._layout.nbytes, range(self._layout.servers)))
