"""The port of a worker in a job without servers. It also serves the shard of the worker's rank.

    a turn:   every worker writes its entries beside its vector;   all meet
              every shard handles the entries from outside, then those of the workers in rank order, each for its own slice,
              and leaves its slice in the one center of all;   all meet, if a vector was read or written

A turn takes place when every worker waits for a response. So the entries of all turns, one after the other, are the log of a job
with servers: the same machine decides the same, and the numbers have the same bits.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace
from torch import Tensor

from gradstream import metrics
from gradstream.center.entries import Entry, Payload, Response
from gradstream.codecs.coding import Residual
from gradstream.errors import PlaneLost
from gradstream.process.order import ProcessOrder, label
from gradstream.serverless.barrier import LOOK_INTERVAL, Barrier
from gradstream.serverless.mailbox import TurnMailbox
from gradstream.serverless.memory import TurnEntries, TurnMemory
from gradstream.serverless.outgoing import OutgoingEntries
from gradstream.serverless.outside import OutsideEntries
from gradstream.serverless.shared_folder import shared_folder, shared_memory_named
from gradstream.shard_server.hosted_shard import HostedShard
from gradstream.shard_server.settings import ServerSettings
from gradstream.wire.redis import keys
from gradstream.wire.redis.client import connect, retry
from gradstream.wire.redis.routes import Routes
from gradstream.wire.telemetry.reporter import Reporter
from gradstream.wire.transport.layout import Layout
from gradstream.wire.transport.messages import Header
from gradstream.wire.transport.retransmissions import Retransmissions


class ServerlessPort:
    """A `gradstream.train.port.Port`. Where a worker's training ends, `serve` goes on until the job is over.

    The shard reports under the name of a server of its rank, so that metrics read alike with servers and without."""

    can_send_ahead = False
    shares = True

    def __init__(
        self,
        order: ProcessOrder,
        folder: Path,
        layout: Layout,
        settings: ServerSettings,
        on_wait: Callable[[float], None] = lambda seconds: None,
    ) -> None:
        """Wait until every worker has built its model.

        Raises: UserError: the node has no shared memory for it. PlaneLost: the attempt is over."""
        shared = shared_folder(order)
        self._order, self._layout, self._on_wait = order, layout, on_wait
        self._rank, self._j, self._count = order.rank, order.plane_id, layout.servers
        routes = Routes(order.plane, order.plane_id)
        self._redis = connect(routes.home.url, user=routes.home.user, password=routes.home.password)
        self._inbox = deque[Response]()
        self._turn = self._handled = 0
        self._is_idle = False
        """The last turn had no entry."""
        self._reporter = reporter = Reporter(order.plane, self._j, f"{label('server', self._rank)}.{order.incarnation}")
        retransmissions = Retransmissions(lambda count: reporter.point(metrics.RETRANSMISSIONS, count, rank=order.rank))
        self._outside = OutsideEntries(routes.home, self._j, settings, self._redis) if self._rank == 0 else None
        with shared_memory_named():
            self._memory = TurnMemory(shared, self._rank, layout, responses=order.spec.strategy.responds)
            self._barrier = Barrier(shared, self._rank, self._count, self._look)
            self._barrier.wait_for_all()
            self._barrier.meet()
            self._memory.open_others()
        self._outgoing = OutgoingEntries(self._rank, order.spec.codec, layout, self._memory.out, self._memory.put_out)
        self._mailbox = TurnMailbox(self._redis, routes, order, settings, retransmissions, self._memory)
        self._mailbox.layout = layout
        self._hosted = HostedShard(order, folder, reporter, settings, self._mailbox)
        self.shard = self._hosted.shard

    @property
    def out(self) -> Tensor:
        return self._memory.out

    @property
    def centers(self) -> list[Tensor]:
        """The center of all, where no worker changes it; else each has its own theta."""
        return [self._memory.center] if self._order.spec.strategy.leaves_theta else []

    def send(self, entry: Entry, payload: Payload | None = None, residual: Residual | None = None) -> None:
        """Keep an entry for the next turn."""
        self._outgoing.add(entry, payload, residual)

    def send_ahead(self, seq: int, x: Tensor, start: int) -> None:
        """Nothing travels here."""

    def receive(self) -> Response:
        while not self._inbox:
            self._take_turn()
        return self._inbox.popleft()

    def receive_within(self, seconds: float) -> Response | None:
        """Return the next response; None if none came in so many seconds, or later if the others take longer for their turn."""
        began = time.monotonic()
        while not self._inbox and time.monotonic() - began < seconds:
            self._take_turn()
        return self._inbox.popleft() if self._inbox else None

    def serve(self) -> None:
        """Serve the shard until the job is over and its files are stored. Raises: Unavailable, PlaneLost among them."""
        while not self.shard.ended:
            self._take_turn()
        if self._outside:
            self._outside.close()
        self._hosted.report.now()
        self._hosted.finish()
        self._reporter.close()

    def _take_turn(self) -> None:
        outside = self._outside.take(LOOK_INTERVAL if self._is_idle and not self._outgoing else 0.0) if self._outside else []
        self._turn += 1
        self._memory.write_entries(self._turn, TurnEntries(self._outgoing.take(), outside))
        self._barrier.meet()
        found = [self._memory.read_entries(self._turn, rank) for rank in range(self._count)]
        self._is_idle = all(of_rank.is_empty for of_rank in found)
        entries = found[0].outside + [entry for of_rank in found for entry in of_rank.entries]
        self._mailbox.begin_turn()
        for number, packed in enumerate(entries):
            self._handle(f"{self._turn}-{number}", packed, len(entries) - number - 1)
        if self._mailbox.has_vectors:
            self._barrier.meet()
        self._inbox.extend(self._with_vector(response) for response in self._mailbox.responses)
        self._hosted.copy_pieces()
        if self._is_idle:
            self._hosted.report.idle()

    def _handle(self, position: str, packed: bytes, queued: int) -> None:
        began = time.perf_counter()
        header = Header.unpack(packed)
        assert header is not None, "the entry that creates the log is left out"
        output = self._hosted.handle_entry(position, header)
        if self._outside:
            self._outside.note_accounts(self._hosted.changed_accounts(header.entry, output))
        self._hosted.report.handled(time.perf_counter() - began, queued)

    def _with_vector(self, response: Response) -> Response:
        if response.payload is None:
            return response
        taken = self._memory.taken_response() if response.brings == "response" else self._memory.taken_center()
        return replace(response, payload=taken)

    def _look(self, waited: float) -> None:
        """Raises: PlaneLost: the attempt is over."""
        if self._outside:
            self._outside.check()
        if not retry(lambda: self._redis.exists(keys.log(self._j)), what="looking for the log"):
            raise PlaneLost("the log of this attempt is gone")
        self._on_wait(waited)

    @property
    def nbytes(self) -> int:
        """Bytes of a whole vector with its buffers."""
        return sum(map(self._layout.nbytes, range(self._count)))

    def take_traffic(self) -> tuple[int, int, int]:
        """Return the bytes that have travelled: none."""
        return 0, 0, 0
