"""The shard's end of the data plane: payloads in, messages and center slices out.

Vectors to and from an incarnation on this host lie in shared memory, and its messages go through a pipe (`LocalWorker`)."""

from __future__ import annotations

from collections import defaultdict, deque
from pathlib import Path

import torch
from msgspec.structs import replace
from redis import Redis
from torch import Tensor

from gradstream.center.entries import EVALUATOR, Payload, Response
from gradstream.codecs.base import Codec
from gradstream.codecs.coding import Decoding
from gradstream.codecs.raw import RAW
from gradstream.process.order import ProcessOrder
from gradstream.wire.redis import keys
from gradstream.wire.redis.client import retry
from gradstream.wire.redis.routes import Routes
from gradstream.wire.transport.layout import Coded, Layout, reused
from gradstream.wire.transport.messages import FIELD, SHARED, Header, Part, ResponseMessage
from gradstream.wire.transport.retransmissions import Retransmissions
from ps_node.local import LocalWorker
from ps_node.remote import RemoteWorkers
from ps_node.settings import ServerSettings

Incarnation = tuple[int, int]
"""(rank, number of the incarnation) of a process that writes payloads and reads responses."""
_KEPT = 32
"""Messages per incarnation that can be resent; it never has more than a few that it has not read."""


class Mailbox:
    def __init__(
        self, redis: Redis, routes: Routes, order: ProcessOrder, settings: ServerSettings, retransmissions: Retransmissions
    ) -> None:
        self.layout: Layout | None = None
        """Known from the first `Init`, or from the checkpoint."""
        self._redis, self._j, self._shard, self._settings = redis, order.plane_id, order.rank, settings
        self._codec: Codec = order.spec.codec
        self._pull_codec: Codec = order.spec.pull_codec
        self._folder = Path(order.shared.folder) if order.shared else None
        self._centers = 1 + order.spec.pipeline
        self._local: dict[Incarnation, LocalWorker] = {}
        self._remote = RemoteWorkers(routes, self._j, self._shard, settings.payload_timeout, self._decoding)
        self.take_in = self._remote.take_in
        self._filled: set[Incarnation] = set()
        """Incarnations whose next center already lies in their buffer; `write_responses` clears it."""
        self._coded_responses: dict[int, bytearray] = {}
        """Memory for the coded vectors of the responses to one entry."""
        self._numbers: dict[Incarnation, int] = defaultdict(int)
        self._retransmissions = retransmissions
        self._sent: dict[Incarnation, deque[tuple[int, bytes]]] = defaultdict(lambda: deque(maxlen=_KEPT))
        """The newest messages, with their numbers."""
        self._kept_responses: dict[Incarnation, Response] = {}
        """The last response to each incarnation on another host that brought another vector than the center: it must be kept for a
        resend, since it cannot be made anew."""
        self._readers: dict[str, dict[Incarnation, int]] = {}
        """The vectors in Redis, each with its remaining readers and the numbers of their messages."""

    def fetch(self, header: Header, incarnation: Incarnation, seq: int) -> Payload:
        """Return this shard's part of the header's payload. Redis has freed it before the shard answers.

        Raises: PlaneLost, if it is damaged and no good resend comes in time."""
        assert self.layout is not None, "the layout came with the first Init"
        if seq and (local := self._local.get(incarnation)):
            local.into = header.into
            return local.vectors(self.layout).take_out(self._shard)
        data, decoded = self._remote.fetch(
            incarnation, seq, header.parts[self._shard], lambda: self._request_resend(incarnation, seq)
        )
        if not seq:  # theta_0 is never rounded, and its memory stays the center's
            self._remote.forget_incarnation(incarnation)
        if decoded is None:
            return self.layout.view(data, self._shard)
        return Payload(decoded, self.layout.buffers(data, self._shard))

    def _decoding(self, seq: int, memory: bytearray) -> Decoding | None:
        """Return the decoding of a coded push that is about to arrive, which decodes it part by part; None: not coded."""
        if not seq or not self._codec.lossy or self.layout is None or len(memory) != self.layout.coded(self._codec, self._shard):
            return None
        mine = self.layout.slices[self._shard]
        out = torch.empty(mine.stop - mine.start, dtype=self.layout.torch_dtype)
        return self.layout.decoding(self._codec, memory, self._shard, out)

    def destination(self, response: Response) -> Tensor | None:
        """Return the buffer for the center of a worker on this host. The caller fills it before `write_responses`."""
        incarnation = (response.rank, response.incarnation)
        local = self._local.get(incarnation)
        if local is None or self._pull_codec.lossy or self.layout is None:
            return None
        self._filled.add(incarnation)
        return local.vectors(self.layout).center_slice(local.into, self._shard)

    def write_responses(self, responses: list[Response], position: str) -> None:
        """Write the responses' vectors into shared memory, then the messages, then the vectors in Redis. Messages through Redis are
        repeatable. Raises: PlaneLost."""
        stamped: list[tuple[str, bytes]] = []
        centers: list[tuple[str, Coded]] = []
        for response in responses:
            incarnation = (response.rank, response.incarnation)
            self._numbers[incarnation] += 1
            where, part = self._store_vector(response, position, centers)
            message = ResponseMessage(self._numbers[incarnation], response, where, part).pack()
            self._sent[incarnation].append((self._numbers[incarnation], message))
            if response.brings == "response" and incarnation not in self._local:
                self._kept_responses[incarnation] = response
            if local := self._local.get(incarnation):
                local.responses.put(message)
            else:
                stamped.append((keys.responses(self._j, self._shard, *incarnation), message))
        self._filled.clear()
        if stamped:
            retry(lambda: self._write(stamped), what="writing responses")
        self._remote.write(centers)  # after the messages: their readers read while we write

    def resend_messages(self, incarnation: Incarnation, opened: int) -> None:
        """Resend the messages after this number, whose vectors still lie in place. Raises: PlaneLost."""
        messages = [message for number, message in self._sent[incarnation] if number > opened]
        if local := self._local.get(incarnation):
            for message in messages:
                local.responses.put(message)
        elif messages:
            key = keys.responses(self._j, self._shard, *incarnation)
            retry(lambda: self._write([(key, message) for message in messages]), what="resending messages")

    def resend_response(self, incarnation: Incarnation, number: int, position: str) -> None:
        """Send a response in a new message, since its reader has rejected its vector, or that of another shard."""
        if incarnation not in self._local:
            self.write_responses([self._kept_responses[incarnation]], position)
        elif packed := dict(self._sent[incarnation]).get(number):  # the vector lies there
            self._numbers[incarnation] += 1
            message = replace(ResponseMessage.unpack(packed), number=self._numbers[incarnation]).pack()
            self._sent[incarnation].append((self._numbers[incarnation], message))
            self._local[incarnation].responses.put(message)

    def _write(self, stamped: list[tuple[str, bytes]]) -> None:
        pipe = self._redis.pipeline(transaction=False)
        for key, packed in stamped:
            pipe.xadd(key, {FIELD: packed}, maxlen=self._settings.responses_kept, approximate=True)
        pipe.execute()

    def add_incarnation(self, incarnation: Incarnation, local: bool) -> None:
        """Note a new incarnation. `local`: it is on this host, and has made its vectors in shared memory."""
        if not local:
            self._remote.watch_incarnation(incarnation)
            return
        assert self._folder is not None, "an incarnation on this host has its files in this host's folder"
        self._local[incarnation] = LocalWorker(
            self._folder, incarnation, self._shard, 1 if incarnation[0] == EVALUATOR else self._centers
        )

    def free_read_vectors(self, incarnation: Incarnation, read: int) -> None:
        """Note that an incarnation has read so many messages, and remove vectors without further readers."""
        for where, readers in list(self._readers.items()):
            if readers.get(incarnation, read + 1) <= read:
                del readers[incarnation]
                if not readers:
                    del self._readers[where]
                    self._remote.unlink(keys.center(self._j, self._shard, where))

    def drop_incarnation(self, incarnation: Incarnation) -> None:
        """Drop an incarnation, which reads and writes no more."""
        if local := self._local.get(incarnation):
            local.leave()
        self.free_read_vectors(incarnation, self._numbers[incarnation])
        self._remote.drop_incarnation(incarnation)
        self._sent.pop(incarnation, None)
        self._kept_responses.pop(incarnation, None)

    def _store_vector(self, response: Response, position: str, centers: list[tuple[str, Coded]]) -> tuple[str, Part | None]:
        """Store the vector of a response. In Redis, all readers at this position share one center; other vectors have one reader.

        Vectors that are still to be written to Redis are added to `centers`."""
        if response.payload is None:
            return "", None
        assert self.layout is not None, "there is a center, so there was an Init"
        incarnation = (response.rank, response.incarnation)
        codec = RAW if response.rank == EVALUATOR else self._pull_codec
        if local := self._local.get(incarnation):
            there = response.brings == "center" and incarnation in self._filled
            x = None if there else codec.arrives(response.payload.x)
            local.vectors(self.layout).put_center(local.into, self._shard, x, response.payload.buffers)
            return SHARED, Part(0, 0)
        is_evaluator = response.rank == EVALUATOR  # it may be given an older center than the workers at the same place of the log
        mine = response.brings != "center" or is_evaluator
        where = f"{position}:{response.rank}.{response.incarnation}" if mine else position
        if where not in self._readers:
            centers.append((where, self._coded(codec, response.payload, len(centers))))
        self._readers.setdefault(where, {})[incarnation] = self._numbers[incarnation]
        return where, Part(self.layout.coded(codec, self._shard), 0)

    def _coded(self, codec: Codec, payload: Payload, number: int) -> Coded:
        """Return the responses' vector of this number, which is encoded while it is written."""
        assert self.layout is not None, "there is a center, so there was an Init"
        if not codec.lossy:
            return Coded(self.layout.encode(codec, payload))
        data = reused(self._coded_responses, number, self.layout.coded(codec, self._shard))
        return self.layout.coding(codec, payload, self._shard, memoryview(data))

    def _request_resend(self, incarnation: Incarnation, seq: int) -> None:
        message = ResponseMessage(0, Response(*incarnation, seq, "ok", 0, 0, 0), resend=seq)
        key = keys.responses(self._j, self._shard, *incarnation)
        retry(lambda: self._redis.xadd(key, {FIELD: message.pack()}), what="requesting a resend of an update")
        self._retransmissions.add()
