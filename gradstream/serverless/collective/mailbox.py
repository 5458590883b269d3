"""The mailbox of worker 0, which stores the center and serves evaluators as a server does. Workers take their responses from the
turn."""

from __future__ import annotations

from redis import Redis
from torch import Tensor

from gradstream.center.entries import EVALUATOR, Init, Payload, Push, Response
from gradstream.center.shard import Destination
from gradstream.process.order import ProcessOrder
from gradstream.serverless.collective.vectors import TurnVectors
from gradstream.shard_server.mailbox import Mailbox
from gradstream.shard_server.response_messages import Incarnation
from gradstream.shard_server.settings import ServerSettings
from gradstream.wire.redis.routes import Routes
from gradstream.wire.transport.messages import Header
from gradstream.wire.transport.retransmissions import Retransmissions


class CollectiveMailbox(Mailbox):
    def __init__(
        self,
        redis: Redis,
        routes: Routes,
        order: ProcessOrder,
        settings: ServerSettings,
        retransmissions: Retransmissions,
        vectors: TurnVectors,
        destination: Destination,
        *,
        on_device: bool = False,
    ) -> None:
        """`destination`: see `gradstream.center.shard.Destination`. `on_device`: the vectors lie where the shard computes."""
        super().__init__(redis, routes, order, settings, retransmissions)
        self.fetches_on_device = on_device
        self._of_turn, self._destination_of_worker = vectors, destination

    def fetch(self, header: Header, incarnation: Incarnation, seq: int) -> Payload:
        assert isinstance(header.entry, Init | Push), "only these bring a vector"
        return self._of_turn.payload_of(header.entry)

    def destination(self, response: Response) -> Tensor | None:
        return self._destination_of_worker(response)

    def has_center_of(self, response: Response) -> bool:
        return response.rank != EVALUATOR

    def write_responses(self, responses: list[Response], position: str) -> None:
        super().write_responses([response for response in responses if response.rank == EVALUATOR], position)

    def add_incarnation(self, incarnation: Incarnation, local: bool, device: str = "") -> None:
        if incarnation[0] == EVALUATOR:
            super().add_incarnation(incarnation, local, device)

    def drop_incarnation(self, incarnation: Incarnation) -> None:
        if incarnation[0] == EVALUATOR:
            super().drop_incarnation(incarnation)
