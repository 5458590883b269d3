"""The mailbox of the one shard that worker 0 holds: workers are served in shared memory, and evaluators as by a server."""

from __future__ import annotations

from msgspec.structs import replace
from redis import Redis
from torch import Tensor

from gradstream.center.entries import EVALUATOR, Buffers, Payload, Response
from gradstream.process.order import ProcessOrder
from gradstream.serverless.holder.connections import WorkerConnections
from gradstream.shard_server.mailbox import Mailbox
from gradstream.shard_server.response_messages import Incarnation
from gradstream.shard_server.settings import ServerSettings
from gradstream.wire.redis.routes import Routes
from gradstream.wire.transport.messages import SHARED, Header, ResponseMessage
from gradstream.wire.transport.retransmissions import Retransmissions
from gradstream.wire.transport.shm import Shared


class HolderMailbox(Mailbox):
    """All workers read one center. It changes only when a round closes: then no live worker computes with it."""

    def __init__(
        self,
        redis: Redis,
        routes: Routes,
        order: ProcessOrder,
        settings: ServerSettings,
        retransmissions: Retransmissions,
        memory: Shared,
        connections: WorkerConnections,
    ) -> None:
        """`memory`: of worker 0, whose first center is that of all."""
        super().__init__(redis, routes, order, settings, retransmissions)
        self._memory, self._connections = memory, connections
        self._version: int | None = None
        """Version of the center that lies in shared memory."""
        self._is_new = False
        """It changed while responses to this entry were written."""
        self._own: list[Response] = []

    def take_own(self) -> list[Response]:
        """Remove and return the responses to worker 0, with their vectors."""
        taken, self._own = self._own, []
        return taken

    def fetch(self, header: Header, incarnation: Incarnation, seq: int) -> Payload:
        return self._vectors_of(incarnation).take_out(0)

    def _vectors_of(self, incarnation: Incarnation) -> Shared:
        return self._memory if incarnation[0] == 0 else self._connections.vectors(incarnation)

    def destination(self, response: Response) -> Tensor | None:
        if self._pull_codec.lossy or response.version == self._version:
            return None
        self._version, self._is_new = response.version, True
        return self._memory.center_slice(0, 0)

    def write_responses(self, responses: list[Response], position: str) -> None:
        for response in responses:
            if response.rank != EVALUATOR:
                self._write_to_worker(response)
        self._is_new = False
        super().write_responses([response for response in responses if response.rank == EVALUATOR], position)

    def _write_to_worker(self, response: Response) -> None:
        if payload := response.payload:
            if response.brings == "response":
                self._put_response(response, payload)
            else:
                self._put_center(response, payload)
        if response.rank == 0:
            at = int(response.brings == "response")
            taken = payload and Payload(self._memory.centers[at], self._memory.center_buffers(at))
            self._own.append(replace(response, payload=taken))
            return
        message = ResponseMessage(0, response, SHARED if payload else "")
        self._connections.add_response((response.rank, response.incarnation), message.pack(), vector=payload is not None)

    def _put_response(self, response: Response, payload: Payload) -> None:
        vectors = self._vectors_of((response.rank, response.incarnation))
        vectors.put_center(int(response.rank == 0), 0, self._pull_codec.arrives(payload.x), payload.buffers)

    def _put_center(self, response: Response, payload: Payload) -> None:
        """Buffers change with each push. A worker that comes within a round gets those of the round's beginning, if another one may
        still read them."""
        x: Tensor | None = None
        if self._pull_codec.lossy and response.version != self._version:
            self._version, self._is_new = response.version, True
            x = self._pull_codec.arrives(payload.x)
        buffers: Buffers | None = payload.buffers
        if buffers and not self._is_new and self._connections.read_vectors:
            buffers = None
        self._memory.put_center(0, 0, x, buffers)

    def add_incarnation(self, incarnation: Incarnation, local: bool, device: str = "") -> None:
        if incarnation[0] == EVALUATOR:
            super().add_incarnation(incarnation, local, device)

    def drop_incarnation(self, incarnation: Incarnation) -> None:
        if incarnation[0] == EVALUATOR:
            super().drop_incarnation(incarnation)
        else:
            self._connections.end(incarnation)
