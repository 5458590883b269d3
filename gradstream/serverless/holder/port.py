"""The port of worker 0 in a job without servers that goes on when another worker is lost. It also serves the one shard.

    another worker:   writes its entries beside its vector;   rings the doorbell of worker 0
    worker 0:         while it waits for a response: handles its own entries, those from outside, and those of each ring;
                      writes the responses and the center;   rings the doorbells of those that have some

Worker 0 waits for no certain worker: the log, in which its agent notes the leave of a lost one, decides who belongs to a round.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

from torch import Tensor

from gradstream import metrics
from gradstream.center.entries import Entry, Payload, Response
from gradstream.codecs.coding import Residual
from gradstream.process.order import ProcessOrder, label
from gradstream.serverless.barrier import LOOK_INTERVAL
from gradstream.serverless.holder.connections import WorkerConnections
from gradstream.serverless.holder.doorbell import Doorbell
from gradstream.serverless.holder.mailbox import HolderMailbox
from gradstream.serverless.holder.memory import holders_doorbell_file, over_file
from gradstream.serverless.outgoing import OutgoingEntries
from gradstream.serverless.outside import OutsideEntries
from gradstream.serverless.shared_folder import shared_folder, shared_memory_named
from gradstream.shard_server.hosted_shard import HostedShard
from gradstream.shard_server.settings import ServerSettings
from gradstream.wire.redis.client import connect
from gradstream.wire.redis.routes import Routes
from gradstream.wire.telemetry.reporter import Reporter
from gradstream.wire.transport.layout import Layout
from gradstream.wire.transport.messages import Header
from gradstream.wire.transport.retransmissions import Retransmissions
from gradstream.wire.transport.shm import Shared


class HolderPort:
    """A `gradstream.training.port.Port`. Where the training of worker 0 ends, `serve` goes on until the job is over.

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
        """Raises: UserError: the node has no shared memory for it."""
        self._layout, self._on_wait, spec = layout, on_wait, order.spec
        self._leaves_theta = spec.strategy.leaves_theta
        self._inbox = deque[Response]()
        self._handled = 0
        self._shared, responses = shared_folder(order), int(spec.strategy.responds)
        with shared_memory_named():
            self._memory = Shared.make(self._shared, 0, 0, layout, 1 + responses)
            self._doorbell = Doorbell(holders_doorbell_file(self._shared))  # its file says that the center is there
        assert self._memory.out is not None, "a worker has a vector to push from"
        self._outgoing = OutgoingEntries(0, spec.codec, layout, self._memory.out, self._memory.put_out)
        self._connections = WorkerConnections(self._shared, layout, spec.roles.worker.count, responses)
        routes = Routes(order.plane, order.plane_id)
        redis = connect(routes.home.url, user=routes.home.user, password=routes.home.password)
        self._reporter = reporter = Reporter(order.plane, order.plane_id, f"{label('server', 0)}.{order.incarnation}")
        retransmissions = Retransmissions(lambda count: reporter.point(metrics.RETRANSMISSIONS, count, rank=0))
        self._mailbox = HolderMailbox(redis, routes, order, settings, retransmissions, self._memory, self._connections)
        self._mailbox.layout = layout
        self._hosted = HostedShard(order, folder, reporter, settings, self._mailbox)
        self.shard = self._hosted.shard
        self._outside = OutsideEntries(routes.home, order.plane_id, settings, redis, self._doorbell.wake)

    @property
    def out(self) -> Tensor | None:
        return self._memory.out

    @property
    def centers(self) -> list[Tensor]:
        """The center of all, where no worker changes it; else each has its own theta."""
        return self._memory.centers[:1] if self._leaves_theta else []

    def send(self, entry: Entry, payload: Payload | None = None, residual: Residual | None = None) -> None:
        """Keep an entry until this worker waits for a response."""
        self._outgoing.add(entry, payload, residual)

    def send_ahead(self, seq: int, x: Tensor, start: int) -> None:
        """Nothing travels here."""

    def receive(self) -> Response:
        began = time.monotonic()
        while not self._inbox:
            if not self._serve(LOOK_INTERVAL):
                self._on_wait(time.monotonic() - began)
        return self._inbox.popleft()

    def receive_within(self, seconds: float) -> Response | None:
        deadline = time.monotonic() + seconds
        while not self._inbox and (left := deadline - time.monotonic()) > 0:
            self._serve(min(left, LOOK_INTERVAL))
        return self._inbox.popleft() if self._inbox else None

    def serve(self) -> None:
        """Serve the shard until the job is over and its files are stored. Raises: Unavailable, PlaneLost among them."""
        while not self.shard.ended:
            self._serve(LOOK_INTERVAL)
        over_file(self._shared).touch()  # a worker that comes now would wait for ever
        self._outside.close()
        self._hosted.report.now()
        self._hosted.finish()
        self._reporter.close()

    def _serve(self, seconds: float) -> bool:
        """Handle the entries that are there, waiting up to `seconds` for some. False: none came. Raises: PlaneLost."""
        entries, outside = self._outgoing.take(), self._outside.take(0.0)
        rings = self._doorbell.wait(0.0 if entries or outside else seconds)
        for ring in rings:
            entries += self._connections.take_entries(ring)
        entries += outside  # the leave of a lost worker comes after all that it has rung for
        for number, packed in enumerate(entries):
            self._handle(packed, len(entries) - number - 1)
        self._connections.flush()
        self._inbox.extend(self._mailbox.take_own())
        self._hosted.copy_pieces()
        if not entries:
            self._hosted.report.idle()
        return bool(entries or rings)

    def _handle(self, packed: bytes, queued: int) -> None:
        began = time.perf_counter()
        header = Header.unpack(packed)
        assert header is not None, "the entry that creates the log is left out"
        self._handled += 1
        output = self._hosted.handle_entry(str(self._handled), header)
        self._outside.note_accounts(self._hosted.changed_accounts(header.entry, output))
        self._hosted.report.handled(time.perf_counter() - began, queued)

    @property
    def nbytes(self) -> int:
        """Bytes of a whole vector with its buffers."""
        return self._layout.nbytes(0)

    def take_traffic(self) -> tuple[int, int, int]:
        """Return the bytes that have travelled: none."""
        return 0, 0, 0
