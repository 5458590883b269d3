"""The shard's end of the data plane: payloads in, messages and center slices out.

Vectors to and from an incarnation on this host lie in shared memory, and its messages go through a pipe (`LocalWorker`)."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace
from redis import Redis
from torch import Tensor

from gradstream.center.entries import EVALUATOR, Payload, Response
from gradstream.codecs.base import Codec
from gradstream.codecs.coding import Decoding
from gradstream.codecs.raw import RAW
from gradstream.own_pages import own_copy, own_empty
from gradstream.process.order import ProcessOrder
from gradstream.shard_server.incarnation_rows import IncarnationRows
from gradstream.shard_server.local import LocalWorkers
from gradstream.shard_server.remote import RemoteWorkers
from gradstream.shard_server.response_messages import Incarnation, ResponseMessages
from gradstream.shard_server.response_vectors import ResponseVectors
from gradstream.shard_server.settings import ServerSettings
from gradstream.wire.gpu.memory import DeviceMemory
from gradstream.wire.redis.routes import Routes
from gradstream.wire.transport.layout import Layout
from gradstream.wire.transport.messages import ON_DEVICE, SHARED, Header, Part, ResponseMessage
from gradstream.wire.transport.retransmissions import Retransmissions


class Mailbox:
    fetches_on_device = False
    """`fetch` returns vectors that lie on the device of the shard."""

    def __init__(
        self,
        redis: Redis,
        routes: Routes,
        order: ProcessOrder,
        settings: ServerSettings,
        retransmissions: Retransmissions,
        *,
        device: DeviceMemory | None = None,
    ) -> None:
        """`device`: the shard computes on it; None: on the CPU."""
        self.layout: Layout | None = None
        """Known from the first `Init`, or from the checkpoint."""
        self._shard = order.rank
        self.rows = IncarnationRows(routes, order)
        self._codec: Codec = order.spec.codec
        self._pull_codec: Codec = order.spec.pull_codec
        self._local = LocalWorkers(Path(order.shared.folder) if order.shared else None, order.rank, order.spec, device)
        self._remote = RemoteWorkers(routes, order.plane_id, order.rank, settings.payload_timeout, self._decoding)
        self.take_in = self._remote.take_in
        self._messages = ResponseMessages(redis, order.plane_id, order.rank, settings.responses_kept, retransmissions)
        self._vectors = ResponseVectors(self._remote, order.plane_id, order.rank)
        self._filled: set[Incarnation] = set()
        """Incarnations whose next center already lies in their buffer; `write_responses` clears it."""
        self._kept_responses: dict[Incarnation, Response] = {}
        """The last response to each incarnation on another host that brought another vector than the center: it must be kept for a
        resend, since it cannot be made anew."""

    def fetch(self, header: Header, incarnation: Incarnation, seq: int) -> Payload:
        """Return this shard's part of the header's payload. Redis has freed it before the shard answers.

        Raises: PlaneLost, if it is damaged and no good resend comes in time."""
        assert self.layout is not None, "the layout came with the first Init"
        if seq and (local := self._local.get(incarnation)):
            local.into, local.wants_device = header.into, header.on_device
            payload = local.vectors(self.layout).take_out(self._shard)
            return payload._replace(x=local.out_on_device) if header.on_device else payload
        data, decoded = self._remote.fetch(
            incarnation, seq, header.parts[self._shard], lambda: self._messages.request_resend(incarnation, seq)
        )
        if not seq:  # theta_0 is never rounded, and its memory stays the center's
            self._remote.forget_incarnation(incarnation)
        if decoded is None:
            return self.layout.view(data, self._shard)
        return Payload(decoded, self.layout.buffers(data, self._shard))

    def _decoding(self, seq: int, memory: memoryview) -> Decoding | None:
        """Return the decoding of a coded push that is about to arrive, which decodes it part by part; None: not coded."""
        if not seq or not self._codec.lossy or self.layout is None or len(memory) != self.layout.coded(self._codec, self._shard):
            return None
        mine = self.layout.slices[self._shard]
        out = own_empty(mine.stop - mine.start, self.layout.torch_dtype)
        return self.layout.decoding(self._codec, memory, self._shard, out)

    def destination(self, response: Response) -> Tensor | None:
        """Return the buffer for the center of a worker on this host. The caller fills it before `write_responses`."""
        incarnation = (response.rank, response.incarnation)
        local = self._local.get(incarnation)
        if local is None or self._pull_codec.lossy or self.layout is None:
            return None
        self._filled.add(incarnation)
        return local.center_slice(self.layout)

    def has_center_of(self, response: Response) -> bool:
        """Return whether the center that this response brings is in its worker's buffer, or on its way there."""
        return response.brings == "center" and (response.rank, response.incarnation) in self._filled

    def write_responses(self, responses: list[Response], position: str) -> None:
        """Write the responses' vectors into shared memory, then the messages, then the vectors in Redis. Messages through Redis are
        repeatable. Raises: PlaneLost."""
        messages: list[tuple[Incarnation, bytes]] = []
        for response in responses:
            incarnation = (response.rank, response.incarnation)
            number = self._messages.next_number(incarnation)
            where, part = self._store_vector(response, number, position)
            local = self._local.get(incarnation)
            rows = self.rows.store(response, number, local=local is not None)
            message = self._messages.pack_message(incarnation, ResponseMessage(number, response, where, part, rows=rows))
            if local:
                local.responses.put(message)
                continue
            messages.append((incarnation, message))
            if response.brings == "response" and response.payload:  # its rows are read before its vector is rejected
                self._kept_responses.pop(incarnation, None)
                kept = response.payload._replace(x=own_copy(response.payload.x), rows=None)
                self._kept_responses[incarnation] = replace(response, payload=kept)
        self._filled.clear()
        self._messages.write_messages(messages, what="writing responses")
        self._vectors.write_vectors()  # after the messages: their readers read while we write

    def resend_messages(self, incarnation: Incarnation, opened: int) -> None:
        """Resend the messages after this number, whose vectors still lie in place. Raises: PlaneLost."""
        messages = self._messages.sent_after(incarnation, opened)
        if local := self._local.get(incarnation):
            for message in messages:
                local.responses.put(message)
        else:
            self._messages.write_messages([(incarnation, message) for message in messages], what="resending messages")

    def resend_response(self, incarnation: Incarnation, number: int, position: str) -> None:
        """Send a response in a new message, since its reader has rejected its vector, or that of another shard."""
        local = self._local.get(incarnation)
        if local is None:
            self.write_responses([self._kept_responses[incarnation]], position)
        elif message := self._messages.renumber_sent(incarnation, number):  # the vector lies there
            local.responses.put(message)

    def add_incarnation(self, incarnation: Incarnation, local: bool, device: str = "") -> None:
        """Note a new incarnation. `local`: it is on this host, and has made its vectors in shared memory. `device`: see
        `Header`."""
        if not local:
            self._remote.watch_incarnation(incarnation)
            return
        self._local.add_incarnation(incarnation, device)

    def free_read_vectors(self, incarnation: Incarnation, read: int) -> None:
        """Note that an incarnation has read so many messages, and remove vectors without further readers."""
        self._vectors.free_read_vectors(incarnation, read)
        self.rows.free_read(incarnation, read)

    def drop_incarnation(self, incarnation: Incarnation) -> None:
        """Drop an incarnation, which reads and writes no more."""
        if local := self._local.get(incarnation):
            local.leave()
        self.rows.drop_incarnation(incarnation)
        self.free_read_vectors(incarnation, self._messages.last_number(incarnation))
        self._remote.drop_incarnation(incarnation)
        self._messages.drop_incarnation(incarnation)
        self._kept_responses.pop(incarnation, None)

    def _store_vector(self, response: Response, number: int, position: str) -> tuple[str, Part | None]:
        """Store the vector of a response, whose message has this number. In Redis it lies after `ResponseVectors.write_vectors`."""
        if response.payload is None or response.brings == "rows":
            return "", None
        assert self.layout is not None, "there is a center, so there was an Init"
        incarnation = (response.rank, response.incarnation)
        codec = RAW if response.rank == EVALUATOR else self._pull_codec
        if local := self._local.get(incarnation):
            there = self.has_center_of(response)
            x = None if there else codec.arrives(response.payload.x)
            local.put_center(self.layout, x, response)
            return ON_DEVICE if there and local.uses_device else SHARED, Part(0, 0)
        where = self._vectors.add_reader(response, number, position, codec, self.layout)
        return where, Part(self.layout.coded(codec, self._shard), 0)
