"""A worker's (or evaluator's) end of the data plane: a `Port`.

Out: the vector's slices go to where their shards find them; when all of them lie there, the header goes into the log. No
header, and nothing has happened. In: every shard answers every entry in the order of the log, so the n-th messages of all
shards belong together. Shards on this host are *local*: their vectors lie in shared memory and their messages come through a pipe.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from pathlib import Path

import torch
from msgspec.structs import replace
from torch import Tensor

from gradstream.center.entries import EVALUATOR, Entry, Init, Join, Payload, Push, Rejected, Response, moved_in_all, seq_of
from gradstream.codecs.base import Codec
from gradstream.codecs.coding import Residual
from gradstream.codecs.raw import RAW
from gradstream.errors import PlaneLost
from gradstream.process.order import PlaneAccess, SharedMemory
from gradstream.wire.center_receiver import CenterReceiver, UnreadableCenter
from gradstream.wire.gpu.found_vectors import FoundVectors
from gradstream.wire.gpu.memory import DeviceMemory
from gradstream.wire.redis.client import BLOCK, connect
from gradstream.wire.redis.routes import Routes
from gradstream.wire.sharded_rows import ShardedRows
from gradstream.wire.transport.layout import Layout
from gradstream.wire.transport.local import LocalServers
from gradstream.wire.transport.log_writer import LogWriter
from gradstream.wire.transport.messages import Header, ResponseMessage
from gradstream.wire.transport.remote import RemoteServers
from gradstream.wire.transport.response_inbox import ResponseInbox
from gradstream.wire.transport.retransmissions import Retransmissions
from gradstream.wire.transport.shm import device_vectors_file
from gradstream.wire.vector_sender import VectorSender

log = logging.getLogger(__name__)

MAX_RETRIES = 20
"""Unreadable centers in a row after which the port gives up."""


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
        retransmissions: Retransmissions | None = None,
        shared: SharedMemory | None = None,
        centers: int = 1,
        device: DeviceMemory | None = None,
        into: Tensor | None = None,
    ) -> None:
        """`codec` is for pushes, `pull_codec` for centers. The port calls `on_wait(seconds)` about every second with the time that
        it has waited for its next response. `device`: the worker computes on it; None: on the CPU. `centers`, `into`: see
        `CenterReceiver`."""
        routes = Routes(access, j)
        access = routes.home
        self._rank, self._incarnation, self._layout, self._on_wait = rank, incarnation, layout, on_wait
        self.retransmissions = retransmissions or Retransmissions()
        """Counts the messages and vectors that this port rejected."""
        self._local = LocalServers.make(shared, rank, incarnation, layout, centers)
        remote = RemoteServers(routes, j, rank, incarnation, self.retransmissions)
        self._log = LogWriter(access, j)
        self._vectors = VectorSender(layout, codec, self._local, remote)
        self._centers = CenterReceiver(layout, RAW if rank == EVALUATOR else pull_codec, self._local, remote, centers, into)
        redis = connect(access.url, user=access.user, password=access.password)
        self._responses = ResponseInbox(
            redis, j, (rank, incarnation), layout.servers, self._local, remote, self._log, self.retransmissions
        )
        self._rows = ShardedRows(routes, j, (rank, incarnation), layout.servers, shared, self._local.shards)
        self._on_device: FoundVectors | None = None
        if device and self._local.vectors and shared:
            self._local.vectors.register(device)
            if not (codec.lossy or pull_codec.lossy) and layout.servers == 1:
                file = device_vectors_file(Path(shared.folder), rank, incarnation)
                self._on_device = FoundVectors(device, file, layout.size, layout.torch_dtype, centers)
        self._opened = 0
        """Messages of each shard that the port has opened, and whose vectors it has copied."""
        self._in_vain = 0
        """Vectors in a row that the port has rejected."""

    @property
    def out(self) -> Tensor | None:
        return self._vectors.out

    @property
    def centers(self) -> list[Tensor]:
        return self._centers.buffers

    def send(self, entry: Entry, payload: Payload | None = None, residual: Residual | None = None) -> None:
        parts = self._vectors.send(entry, payload, residual) if payload and isinstance(entry, Init | Push) else ()
        rows = self._rows.send(seq_of(entry), payload.rows, payload.asks) if payload and payload.rows is not None else ()
        layout = self._layout.as_dict() if isinstance(entry, Init) else None
        shared = tuple(sorted(self._local.shards)) if isinstance(entry, Join) else ()
        observed = payload.observed.pack() if payload and payload.observed else ""
        into, passes_over = self._centers.assign_buffer(entry), payload.passes_over if payload else None
        header = Header(entry, parts, layout, shared, into, rows, self._opened, observed, passes_over)
        packed = self._with_device(header).pack()
        self.confirm()
        self._log.post(packed)
        if not isinstance(entry, Push):
            self.confirm()

    def _with_device(self, header: Header) -> Header:
        """Complete a header, and give the turn in memory of the GPU to the shard."""
        if self._on_device is None:
            return header
        self._on_device.finish_copies()
        is_join, is_push = isinstance(header.entry, Join), isinstance(header.entry, Push)
        return replace(
            header, device=self._on_device.name if is_join else "", on_device=is_push and self._on_device.vectors is not None
        )

    @property
    def can_send_ahead(self) -> bool:
        return self._vectors.can_send_ahead

    def send_ahead(self, seq: int, x: Tensor, start: int) -> None:
        self._vectors.send_ahead(seq, x, start)

    def confirm(self) -> None:
        """Make sure that the entry sent last is in the log; to write it twice does no harm. Raises: PlaneLost."""
        self._log.confirm()

    def receive(self) -> Response:
        response = self.receive_within(float("inf"))
        assert response is not None, "the wait had no end"
        return response

    def receive_within(self, seconds: float) -> Response | None:
        """Return the next response; None if none came in so many seconds. See `gradstream.training.port.Port`."""
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
            response = self._join_messages(messages)
            self._opened = messages[0].number
        return response

    def _join_messages(self, messages: list[ResponseMessage]) -> Response | None:
        """Join the messages of all shards. None: a vector is rejected, and the response will be resent."""
        response = messages[0].response
        if response.moved is not None:
            response = replace(response, moved=moved_in_all(message.response for message in messages))
        if response.brings == "nothing":
            return response
        self._rows.receive(messages)
        if response.brings == "rows":
            return replace(response, payload=Payload(torch.empty(0), rows=self._rows.take(response.seq)))
        try:
            payload = self._centers.receive(messages)._replace(rows=self._rows.take(response.seq))
        except UnreadableCenter as error:
            self._reject(messages[0], str(error))
            return None
        self._in_vain = 0
        if self._on_device and self._on_device.look() and (found := self._on_device.vectors):
            self._vectors.out, self._centers.on_device = found.out, found.centers
        return replace(response, payload=payload)

    def _reject(self, message: ResponseMessage, what: str) -> None:
        """Reject the vector of a message, so that a resend comes. Raises: PlaneLost, after `MAX_RETRIES` failures in a row."""
        if self._in_vain == MAX_RETRIES:
            raise PlaneLost(f"{what} is not there, or damaged, and {MAX_RETRIES} others in its place were, too")
        log.warning("%s is not there, or damaged: it is rejected, and a resend requested", what)
        self._in_vain += 1
        self.retransmissions.add()
        response = message.response
        assert response.brings == "center" or response.brings == "response", "only a vector can be damaged"
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

    @property
    def shares(self) -> bool:
        """True if this incarnation has its vectors in shared memory."""
        return self._local.vectors is not None

    @property
    def nbytes(self) -> int:
        """Bytes of a whole vector with its buffers, without a codec."""
        return sum(map(self._layout.nbytes, range(self._layout.servers)))

    def take_traffic(self) -> tuple[int, int, int]:
        """Return the bytes of vectors and rows since the last call: sent, the same without a codec, received."""
        vectors, centers, rows = self._vectors, self._centers, self._rows
        traffic = (
            vectors.bytes_sent + rows.bytes_sent,
            vectors.bytes_raw + rows.bytes_sent,
            centers.bytes_received + rows.bytes_received,
        )
        vectors.bytes_sent = vectors.bytes_raw = centers.bytes_received = rows.bytes_sent = rows.bytes_received = 0
        return traffic
