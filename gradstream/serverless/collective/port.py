"""The port of a worker in a job without servers whose workers may be on several machines. It also holds the whole center.

    a turn:   the workers gather the entries of all;
              each handles the entries from outside, then those of the workers in rank order, on its own center;
              where a round closes, one allreduce brings each the mean of the pushes, and all make the same step

The buckets of the allreduce go before the entries, where the workers expect all to push: see `TurnVectors`.

With a `device`, all vectors lie on it, those of the shard included: on a GPU NCCL adds them up, and none passes through the
host's memory. If the device is the CPU, gloo adds them up; so tests have the same code.

The decisions are those of a job with servers: see `gradstream.serverless.turn_port`. The mean is rounded in another order. Worker 0
reads the entries from outside, stores checkpoints and serves evaluators.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import torch
from msgspec.structs import replace
from torch import Tensor

from gradstream import metrics
from gradstream.center.entries import Buffers, Payload, Response
from gradstream.center.parameters.updates import PushUpdates
from gradstream.process.order import ProcessOrder, label
from gradstream.serverless.awaited import ReportAwaited, report_nothing
from gradstream.serverless.collective.copied_shard import CopiedShard
from gradstream.serverless.collective.device_group import DeviceGroup
from gradstream.serverless.collective.group import GlooGroup
from gradstream.serverless.collective.mailbox import CollectiveMailbox
from gradstream.serverless.collective.vectors import TurnVectors, pack_buffers
from gradstream.serverless.outgoing import OutgoingEntries
from gradstream.serverless.outside import OutsideEntries
from gradstream.serverless.turn_port import TurnPort
from gradstream.shard_server.hosted_shard import HostedShard
from gradstream.shard_server.settings import ServerSettings
from gradstream.wire.telemetry.reporter import Reporter
from gradstream.wire.transport.layout import Layout
from gradstream.wire.transport.messages import Header
from gradstream.wire.transport.retransmissions import Retransmissions


class WorkerTurn(msgspec.Struct, frozen=True, array_like=True):
    """The part of one worker in a turn."""

    entries: list[bytes]
    """Packed headers."""
    outside: list[bytes] = []
    """From worker 0: headers that others have written into the log."""
    buffers: bytes = b""
    """Those of its push, packed."""
    went_ahead: bool = False
    """The vector of its push went before this."""
    meets: bool = False
    """From worker 0: all meet anew after this turn."""


encode_turn, decode_turn = msgspec.msgpack.Encoder().encode, msgspec.msgpack.Decoder(WorkerTurn).decode


class CollectivePort(TurnPort):
    """A `gradstream.training.port.Port`. Where a worker's training ends, `serve` goes on until the job is over.

    Worker 0 reports for its shard under the name of server 0, so that metrics read alike with servers and without."""

    def __init__(
        self,
        order: ProcessOrder,
        folder: Path,
        layout: Layout,
        settings: ServerSettings,
        on_wait: Callable[[float], None] = lambda seconds: None,
        on_awaited: ReportAwaited = report_nothing,
        device: torch.device | None = None,
    ) -> None:
        """Wait until every worker has built its model. `device`: that of all vectors, of the shard's and of those that travel;
        None: the CPU.

        Raises: UserError: the others cannot reach this machine. PlaneLost: the attempt is over."""
        super().__init__(order, on_wait, on_awaited)
        self._layout, self._device, self._buffers, self._told_bytes = layout, device, b"", 0
        if self._rank == 0:
            self._outside = OutsideEntries(self._routes.home, self._j, settings, self._redis)
        self._group = self._connect()
        self._vectors = TurnVectors(self._group, self._rank, layout, device)
        self._center = torch.zeros_like(self._vectors.out) if order.spec.strategy.leaves_theta else None
        self._outgoing = OutgoingEntries(self._rank, order.spec.codec, layout, self._vectors.out, self._put_buffers)
        self._hosted = self._host(order, folder, settings) if self._rank == 0 else None
        self._holder = self._hosted or self._copy(order, folder)
        self.shard = self._holder.shard
        self._vectors.note_whole(self.shard.gate.pending)

    def _connect(self) -> GlooGroup:
        """Wait for all workers. Raises: as `__init__`."""
        given = self._redis, self._routes.home, self._j, self._rank, range(self._count), self._look
        return DeviceGroup(*given, self._device) if self._device else GlooGroup(*given)

    def _copy(self, order: ProcessOrder, folder: Path) -> CopiedShard:
        return CopiedShard(order, folder, self._layout, self._vectors, self._destination, self._device)

    def _host(self, order: ProcessOrder, folder: Path, settings: ServerSettings) -> HostedShard:
        self._reporter = reporter = Reporter(order.plane, self._j, f"{label('server', 0)}.{order.incarnation}")
        retransmissions = Retransmissions(lambda count: reporter.point(metrics.RETRANSMISSIONS, count, rank=0))
        given = self._redis, self._routes, order, settings, retransmissions
        mailbox = CollectiveMailbox(*given, self._vectors, self._destination, on_device=self._device is not None)
        mailbox.layout = self._layout
        return HostedShard(order, folder, reporter, settings, mailbox, self._device)

    @property
    def out(self) -> Tensor:
        return self._vectors.out

    @property
    def centers(self) -> list[Tensor]:
        """The one vector into which centers arrive, where the worker does not change it; else they are the shard's own."""
        return [] if self._center is None else [self._center]

    def _destination(self, response: Response) -> Tensor | None:
        return self._center if self._is_mine(response) else None

    def _is_mine(self, response: Response) -> bool:
        return (response.rank, response.incarnation) == (self._rank, self._incarnation)

    def _put_buffers(self, buffers: Buffers | None) -> None:
        self._buffers = pack_buffers(buffers)

    @property
    def can_send_ahead(self) -> bool:
        return self._count > 1

    def send_ahead(self, seq: int, x: Tensor, start: int) -> None:
        self._vectors.send_ahead(x, start)

    def serve(self) -> None:
        """Take turns until the job is over and its files are stored. Raises: Unavailable, PlaneLost among them."""
        while not self.shard.ended:
            self._take_turn()
        self._group.close()
        self._finish()

    def _finish(self) -> None:
        if self._hosted and self._outside:
            self._outside.close()
            self._hosted.report.now()
            self._hosted.finish()
            self._reporter.close()

    def _take_turn(self) -> None:
        outside = self._take_outside()
        self._turn += 1
        went_ahead = self._vectors.end_sending(pushes=self._outgoing.has_push)
        given, self._buffers = WorkerTurn(self._outgoing.take(), outside, self._buffers, went_ahead), b""
        found = [decode_turn(packed) for packed in self._group.gather(encode_turn(given))]
        self._vectors.begin_turn(
            {rank: one.buffers for rank, one in enumerate(found)}, hold_round=all(one.went_ahead for one in found)
        )
        entries = found[0].outside + [entry for one in found for entry in one.entries]
        self._is_idle = not entries
        for number, packed in enumerate(entries):
            self._handle(f"{self._turn}-{number}", packed, len(entries) - number - 1)
        self._vectors.complete(self.shard.gate.pending)
        self._vectors.end_turn()
        self._after_turn()

    def _after_turn(self) -> None:
        if self._hosted:
            self._hosted.copy_pieces()
            if self._is_idle:
                self._hosted.report.idle()

    def _handle(self, position: str, packed: bytes, queued: int) -> None:
        began, waited = time.perf_counter(), self._group.seconds
        header = Header.unpack(packed)
        assert header is not None, "the entry that creates the log is left out"
        if self.shard.center:
            self.shard.center.find_mean = self._find_mean
        output = self._holder.handle_entry(position, header)
        self._vectors.note_responses(output.responses)
        self._inbox.extend(self._arrived(response) for response in output.responses if self._is_mine(response))
        if self._hosted and self._outside:
            self._outside.note_accounts(self._hosted.changed_accounts(header.entry, output))
            self._hosted.report.handled(time.perf_counter() - began - (self._group.seconds - waited), queued)

    def _find_mean(self, us: PushUpdates) -> Tensor:
        return self._vectors.find_mean(us)

    def _arrived(self, response: Response) -> Response:
        if self._center is None or response.payload is None:
            return response
        return replace(response, payload=Payload(self._center, response.payload.buffers))

    @property
    def nbytes(self) -> int:
        """Bytes of a whole vector with its buffers."""
        return self._layout.nbytes(0)

    def take_traffic(self) -> tuple[int, int, int]:
        """Return the bytes sent, before and after coding, and received since the last call. An allreduce receives as much as it
        sends."""
        sent, self._told_bytes = self._group.nbytes - self._told_bytes, self._group.nbytes
        return sent, sent, sent
