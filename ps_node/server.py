"""The server loop: read the log, fetch the payload, let the shard machine decide, answer, report."""

from __future__ import annotations

import logging
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from gradstream import metrics
from gradstream.center.entries import (
    LAST_EXPORT,
    Committed,
    Entry,
    Init,
    Join,
    Leave,
    Lookup,
    Output,
    Payload,
    ProtocolError,
    Pull,
    Push,
    Rejected,
    Resend,
    Saved,
    seq_of,
)
from gradstream.center.parameters.hosting import TableHosting
from gradstream.center.shard import Shard, nowhere
from gradstream.observations.histograms import Observations
from gradstream.process.order import ProcessOrder
from gradstream.wire.redis import ids, keys
from gradstream.wire.redis.client import connect, retry
from gradstream.wire.redis.routes import Routes
from gradstream.wire.telemetry.reporter import Reporter
from gradstream.wire.transport.layout import Layout
from gradstream.wire.transport.messages import Header
from gradstream.wire.transport.retransmissions import Retransmissions
from ps_node.log import LogReader
from ps_node.mailbox import Mailbox
from ps_node.report import ServerReport
from ps_node.response_messages import Incarnation
from ps_node.saving.checkpoint_files import CheckpointFiles
from ps_node.saving.export_files import ExportFiles
from ps_node.saving.table_summaries import TableSummaries
from ps_node.settings import ServerSettings
from ps_node.staging import Staging

if TYPE_CHECKING:
    from gradstream.center.tables.hosted import HostedTables  # needs numba, which jobs without tables never import

log = logging.getLogger(__name__)


class Server:
    def __init__(
        self,
        order: ProcessOrder,
        folder: Path,
        reporter: Reporter,
        settings: ServerSettings,
        device: torch.device | None = None,
    ) -> None:
        """`device`: see `Shard`."""
        routes = Routes(order.plane, order.plane_id)
        access = routes.home
        self._order, self._settings = order, settings
        self._files = CheckpointFiles(order, folder)
        self._exports = ExportFiles(
            order, lambda place, count: reporter.point(metrics.EXPORTS_FAILED, count, rank=order.rank, step=place)
        )
        self._summaries = TableSummaries(order, settings.summary_every)
        self._redis = connect(access.url, user=access.user, password=access.password)
        self._j = order.plane_id
        self.shard = Shard(order.spec, device, TableHosting(order.spec, order.rank, folder, rows_in_checkpoints=False))
        self._staging = Staging(device) if device else None
        retransmissions = Retransmissions(lambda count: reporter.point(metrics.RETRANSMISSIONS, count))
        self._mailbox = Mailbox(self._redis, routes, order, settings, retransmissions)
        self._destination = nowhere if device else self._mailbox.destination
        self._reader = LogReader(access, order.plane_id, order.rank, settings.read_count, self._mailbox.take_in)
        self._report = ServerReport(reporter, order, self.shard, settings)
        self._handled = 0
        self.leaving = False
        if resumed := self._files.resumed():
            self._mailbox.layout, state, rows = resumed
            self.shard.load(state, rows, self._mailbox.layout.pieces(order.rank))

    def leave(self) -> None:
        """End after the entry that is being handled, and tell the ledger as of that one. Also from a signal's handler."""
        self.leaving = True

    def run(self) -> None:
        """Until the job is over and all files are stored, or `leave`. Raises: Unavailable, PlaneLost among them."""
        while not (self.shard.ended or self.leaving):
            batch = self._reader.read(wait=not self._has_rows_to_read)
            for number, (position, header) in enumerate(batch):
                if self.leaving:
                    break
                began = time.perf_counter()
                if header:
                    self._handle(position, header)
                self._reader.handled(position)
                self._report.handled(time.perf_counter() - began, queued=len(batch) - number - 1)
                self._copy_pieces()
            if not batch:
                self._copy_pieces()
                self._report.idle()
        self._reader.tell()
        self._report.now()
        if self.shard.ended:
            self._finish_files()

    def _copy_pieces(self) -> None:
        self._files.pending.copy_piece()
        self._exports.pending.copy_piece()
        if self._tables and self.shard.center:
            self._summaries.read_portion(self._tables, self.shard.center)

    @property
    def _has_rows_to_read(self) -> bool:
        """There is work between two entries of the log."""
        return self._files.pending.may_copy or self._exports.pending.may_copy or self._summaries.is_reading

    def _finish_files(self) -> None:
        self._files.finish()
        if self._order.spec.export and self.shard.center and not self._order.store.is_folder:
            self._exports.begin(LAST_EXPORT, self.shard.center, self.shard.passes.closed, base=False)
        if self._tables and self.shard.center:
            self._summaries.finish(self._tables, self.shard.center)
        self._exports.finish()

    def _handle(self, position: str, header: Header) -> None:
        entry = header.entry
        if header.layout is not None and self._mailbox.layout is None:
            self._mailbox.layout = Layout.load(header.layout)
        payload = None
        if self.shard.is_news(entry):
            if isinstance(entry, Init | Push | Pull | Lookup):
                payload = self._fetch(header, (entry.rank, entry.incarnation), seq_of(entry))
            self._free(entry, header.read)
        if isinstance(entry, Join):
            self._mailbox.add_incarnation((entry.rank, entry.incarnation), local=self._order.rank in header.shared)
        if isinstance(entry, Resend):
            self._mailbox.resend_messages((entry.rank, entry.incarnation), entry.opened[self._order.rank])
        if isinstance(entry, Rejected) and entry.brings == "response" and self.shard.is_news(entry):
            self._mailbox.resend_response((entry.rank, entry.incarnation), entry.number, position)
        if isinstance(entry, Committed):
            (self._exports if entry.what == "export" else self._files).note_commit(entry.number, self._tables)
        is_first = self.shard.center is None
        output = self.shard.handle(entry, payload, self._destination)
        if is_first and self._tables:
            self._files.put_start_rows(self._tables)
        if output.export and self.shard.center:
            self._exports.begin(output.export.number, self.shard.center, self.shard.passes.closed, base=output.export.base)
        if self._order.rank == 0:
            self._note_accounts(entry, output)
        self._after(output, position)
        if isinstance(entry, Join | Leave):
            self._report.members_changed()

    @property
    def _tables(self) -> HostedTables | None:
        return self.shard.center.tables if self.shard.center else None

    def _note_accounts(self, entry: Entry, output: Output) -> None:
        accounts = self.shard.ledger.accounts
        if isinstance(entry, Push):
            self._reader.accounts[entry.rank] = accounts[entry.rank]
        for decision in output.decisions:
            self._reader.accounts[decision.rank] = accounts[decision.rank]

    def _fetch(self, header: Header, incarnation: Incarnation, seq: int) -> Payload:
        beside = self._mailbox.rows.fetch(header, incarnation, seq)
        rows, asks = beside or (None, None)
        if isinstance(header.entry, Pull | Lookup):
            return Payload(torch.empty(0), rows=rows)
        payload = self._mailbox.fetch(header, incarnation, seq)
        payload = self._staging.take(payload, incarnation) if self._staging else payload
        if isinstance(header.entry, Init) and self._mailbox.layout:
            payload = payload._replace(parameters=self._mailbox.layout.pieces(self._order.rank))
        observed = self._observations(header)
        return payload._replace(rows=rows, observed=observed, asks=asks, passes_over=header.passes_over)

    def _observations(self, header: Header) -> Observations | None:
        """Return what a push brings of them to shard 0. Raises: ProtocolError: they are damaged."""
        if self._order.rank != 0 or not header.observed:
            return None
        try:
            return Observations.unpack(header.observed)
        except ValueError as error:
            raise ProtocolError(str(error)) from error

    def _after(self, output: Output, position: str) -> None:
        if output.checkpoint:
            assert self._mailbox.layout is not None, "there is a center, so there was an Init"
            self._files.write(output.checkpoint, self._mailbox.layout, self._tables)
            self._exports.bound_memory(self._tables)
        self._mailbox.write_responses(self._staging.give(output.responses) if self._staging else output.responses, position)
        self._report.decided(output.decisions)
        self._report.passed(output.passes)
        self._handled += 1
        if self._order.rank == 0 and self._handled % self._settings.trim_every == 0:
            self._trim_log()

    def _free(self, entry: Entry, read: int) -> None:
        """Free what this entry's writer has read. After a leave or a newer join, that incarnation reads nothing any more."""
        match entry:
            case Push() | Pull() | Lookup() | Saved():
                self._mailbox.free_read_vectors((entry.rank, entry.incarnation), read)
            case Leave():
                self._gone((entry.rank, entry.incarnation))
            case Join() if entry.incarnation > 0:
                self._gone((entry.rank, entry.incarnation - 1))

    def _gone(self, incarnation: Incarnation) -> None:
        self._mailbox.drop_incarnation(incarnation)
        if self._staging:
            self._staging.drop_incarnation(incarnation)

    def _trim_log(self) -> None:
        """Shard 0 drops what every shard has handled."""
        places: Any = retry(lambda: self._redis.hgetall(keys.pos(self._j)), what="reading the shards' places")
        if len(places) == self._order.spec.roles.server.shards:
            lowest = min((place.decode() for place in places.values()), key=ids.place)
            retry(lambda: self._redis.xtrim(keys.log(self._j), minid=lowest, approximate=True), what="trimming the log")
