"""The port of a worker in a job without servers. It also serves the shard of the worker's rank.

    a turn:   every worker writes its entries beside its vector;   all meet
              every shard handles the entries from outside, then those of the workers in rank order, each for its own slice,
              and leaves its slice in the one center of all;   all meet, if a vector was read or written

The numbers have the bits of a job with servers: see `gradstream.serverless.turn_port`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace
from torch import Tensor

from gradstream import metrics
from gradstream.center.entries import Response
from gradstream.process.order import ProcessOrder, label
from gradstream.serverless.awaited import ReportAwaited, report_nothing
from gradstream.serverless.barrier import Barrier
from gradstream.serverless.mailbox import TurnMailbox
from gradstream.serverless.memory import TurnEntries, TurnMemory
from gradstream.serverless.outgoing import OutgoingEntries
from gradstream.serverless.outside import OutsideEntries
from gradstream.serverless.shared_folder import shared_folder, shared_memory_named
from gradstream.serverless.turn_port import TurnPort
from gradstream.shard_server.hosted_shard import HostedShard
from gradstream.shard_server.settings import ServerSettings
from gradstream.wire.telemetry.reporter import Reporter
from gradstream.wire.transport.layout import Layout
from gradstream.wire.transport.messages import Header
from gradstream.wire.transport.retransmissions import Retransmissions


class ServerlessPort(TurnPort):
    """A `gradstream.training.port.Port`. Where a worker's training ends, `serve` goes on until the job is over.

    The shard reports under the name of a server of its rank, so that metrics read alike with servers and without."""

    can_send_ahead = False

    def __init__(
        self,
        order: ProcessOrder,
        folder: Path,
        layout: Layout,
        settings: ServerSettings,
        on_wait: Callable[[float], None] = lambda seconds: None,
        on_awaited: ReportAwaited = report_nothing,
    ) -> None:
        """Wait until every worker has built its model.

        Raises: UserError: the node has no shared memory for it. PlaneLost: the attempt is over."""
        super().__init__(order, on_wait, on_awaited)
        shared, routes = shared_folder(order), self._routes
        self._order, self._layout = order, layout
        self._reporter = reporter = Reporter(order.plane, self._j, f"{label('server', self._rank)}.{order.incarnation}")
        retransmissions = Retransmissions(lambda count: reporter.point(metrics.RETRANSMISSIONS, count, rank=order.rank))
        if self._rank == 0:
            self._outside = OutsideEntries(routes.home, self._j, settings, self._redis)
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

    def send_ahead(self, seq: int, x: Tensor, start: int) -> None:
        """Nothing travels here."""

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
        outside = self._take_outside()
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

    @property
    def nbytes(self) -> int:
        """Bytes of a whole vector with its buffers."""
        return sum(map(self._layout.nbytes, range(self._count)))

    def take_traffic(self) -> tuple[int, int, int]:
        """Return the bytes that have travelled: none."""
        return 0, 0, 0
