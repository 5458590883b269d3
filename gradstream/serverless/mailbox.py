"""The mailbox of a shard that a worker holds: workers meet in shared memory, and evaluators are served as by a server."""

from __future__ import annotations

from redis import Redis
from torch import Tensor

from gradstream.center.entries import EVALUATOR, Payload, Response
from gradstream.process.order import ProcessOrder
from gradstream.serverless.memory import TurnMemory
from gradstream.shard_server.mailbox import Mailbox
from gradstream.shard_server.response_messages import Incarnation
from gradstream.shard_server.settings import ServerSettings
from gradstream.wire.redis.routes import Routes
from gradstream.wire.transport.messages import Header
from gradstream.wire.transport.retransmissions import Retransmissions


class TurnMailbox(Mailbox):
    """`begin_turn` comes before the entries of each turn."""

    def __init__(
        self,
        redis: Redis,
        routes: Routes,
        order: ProcessOrder,
        settings: ServerSettings,
        retransmissions: Retransmissions,
        memory: TurnMemory,
    ) -> None:
        super().__init__(redis, routes, order, settings, retransmissions)
        self._memory, self._rank = memory, order.rank
        self.begin_turn()

    def begin_turn(self) -> None:
        self.responses: list[Response] = []
        """The responses of this turn to the worker that holds this shard, without their vectors."""
        self.has_vectors = False
        """A vector was written for some worker, so all wait until every shard has written its slice."""
        self._version: int | None = None
        """Version of the center that lies in shared memory since this turn."""

    def fetch(self, header: Header, incarnation: Incarnation, seq: int) -> Payload:
        self.has_vectors = True  # so that no worker overwrites it while another shard reads it
        return self._memory.take_out(incarnation[0])

    def destination(self, response: Response) -> Tensor | None:
        if self._version is not None:
            assert response.version == self._version, "the center changes once in a turn, and then it is sent"
            return None
        if self._pull_codec.lossy:
            return None
        self._version = response.version
        return self._memory.center_slice()

    def write_responses(self, responses: list[Response], position: str) -> None:
        for response in responses:
            if response.rank != EVALUATOR:
                self._write_to_worker(response)
        super().write_responses([response for response in responses if response.rank == EVALUATOR], position)

    def _write_to_worker(self, response: Response) -> None:
        if response.rank == self._rank:
            self.responses.append(response)
        if response.payload is None:
            return
        self.has_vectors = True
        x, buffers = response.payload.x, response.payload.buffers
        if response.brings == "response":
            self._memory.put_response(response.rank, self._pull_codec.arrives(x), buffers)
        elif self._pull_codec.lossy and self._version is None:
            self._version = response.version
            self._memory.put_center(self._pull_codec.arrives(x), buffers)
        else:
            self._memory.put_center(None, buffers)

    def add_incarnation(self, incarnation: Incarnation, local: bool, device: str = "") -> None:
        if incarnation[0] == EVALUATOR:
            super().add_incarnation(incarnation, local, device)

    def drop_incarnation(self, incarnation: Incarnation) -> None:
        if incarnation[0] == EVALUATOR:
            super().drop_incarnation(incarnation)
