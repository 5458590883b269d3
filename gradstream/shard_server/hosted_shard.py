"""A shard with its transport, files and reports: all that follows from one entry of the log."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

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
from gradstream.center.ledger import Account
from gradstream.center.parameters.hosting import TableHosting
from gradstream.center.shard import Shard
from gradstream.observations.histograms import Observations
from gradstream.process.order import ProcessOrder
from gradstream.shard_server.mailbox import Mailbox
from gradstream.shard_server.report import ServerReport
from gradstream.shard_server.response_messages import Incarnation
from gradstream.shard_server.saving.checkpoint_files import CheckpointFiles
from gradstream.shard_server.saving.checkpoint_report import CheckpointReport
from gradstream.shard_server.saving.export_files import ExportFiles
from gradstream.shard_server.saving.table_summaries import TableSummaries
from gradstream.shard_server.settings import ServerSettings
from gradstream.shard_server.staging import Staging
from gradstream.wire.telemetry.reporter import Reporter
from gradstream.wire.transport.layout import Layout
from gradstream.wire.transport.messages import Header

if TYPE_CHECKING:
    from gradstream.center.tables.hosted import HostedTables  # needs numba, which jobs without tables never import


class HostedShard:
    """The rank of the process is the number of its shard."""

    def __init__(
        self,
        order: ProcessOrder,
        folder: Path,
        reporter: Reporter,
        settings: ServerSettings,
        mailbox: Mailbox,
        device: torch.device | None = None,
    ) -> None:
        """`device`: see `Shard`."""
        self._order, self._mailbox = order, mailbox
        self._files = CheckpointFiles(order, folder)
        self._exports = ExportFiles(
            order, lambda place, count: reporter.point(metrics.EXPORTS_FAILED, count, rank=order.rank, step=place)
        )
        self._summaries = TableSummaries(order, settings.summary_every)
        self.shard = Shard(order.spec, device, TableHosting(order.spec, order.rank, folder, rows_in_checkpoints=False))
        self.shard.checkpoint_making.schedule.waits_for_commits = not order.store.is_folder
        self._staging = Staging(device) if device else None
        self.report = ServerReport(reporter, order, self.shard, settings)
        self._checkpoint_report = CheckpointReport(reporter, order, self.shard.checkpoint_making.schedule)
        if resumed := self._files.resumed():
            mailbox.layout, state, rows = resumed
            self.shard.load(state, rows, mailbox.layout.pieces(order.rank))

    def handle_entry(self, position: str, header: Header) -> Output:
        """Handle the next entry of the log, which lies at `position`. Raises: Unavailable, PlaneLost among them. ProtocolError."""
        entry = header.entry
        if header.layout is not None and self._mailbox.layout is None:
            self._mailbox.layout = Layout.load(header.layout)
        payload = None
        if self.shard.is_news(entry):
            if isinstance(entry, Init | Push | Pull | Lookup):
                payload = self._fetch(header, (entry.rank, entry.incarnation), seq_of(entry))
            self._free(entry, header.read)
        if isinstance(entry, Join):
            local = self._order.rank in header.shared
            self._mailbox.add_incarnation((entry.rank, entry.incarnation), local, header.device)
        if isinstance(entry, Resend):
            self._mailbox.resend_messages((entry.rank, entry.incarnation), entry.opened[self._order.rank])
        if isinstance(entry, Rejected) and entry.brings == "response" and self.shard.is_news(entry):
            self._mailbox.resend_response((entry.rank, entry.incarnation), entry.number, position)
        if isinstance(entry, Committed):
            (self._exports if entry.what == "export" else self._files).note_commit(entry.number, self._tables)
        making = self.shard.checkpoint_making
        if isinstance(entry, Saved | Leave) and making.waits_only_for(entry.rank):
            making.may_copy = self._files.may_copy()
        is_first = self.shard.center is None
        output = self.shard.handle(entry, payload, self._mailbox.destination)
        if is_first and self._tables:
            self._files.put_start_rows(self._tables)
        self._after(output, position)
        self._checkpoint_report.handled(entry)
        if isinstance(entry, Join | Leave):
            self.report.members_changed()
        return output

    def _after(self, output: Output, position: str) -> None:
        if output.export and self.shard.center:
            self._exports.begin(output.export.number, self.shard.center, self.shard.passes.closed, base=output.export.base)
        if output.checkpoint:
            assert self._mailbox.layout is not None, "there is a center, so there was an Init"
            self._files.write(output.checkpoint, self._mailbox.layout, self._tables)
            self._checkpoint_report.made(output.checkpoint[0])
            self._exports.bound_memory(self._tables)
        responses = self._staging.give(output.responses, self._mailbox.has_center_of) if self._staging else output.responses
        self._mailbox.write_responses(responses, position)
        self.report.decided(output.decisions)
        self.report.passed(output.passes)

    def changed_accounts(self, entry: Entry, output: Output) -> dict[int, Account]:
        """Return the accounts of the ledger that the handling of `entry` has changed, by rank."""
        ranks = {decision.rank for decision in output.decisions} | ({entry.rank} if isinstance(entry, Push) else set[int]())
        return {rank: self.shard.ledger.accounts[rank] for rank in sorted(ranks)}

    def copy_pieces(self) -> None:
        """Copy some rows of what is being saved, between two entries of the log."""
        self._files.pending.copy_piece()
        self._exports.pending.copy_piece()
        if self._tables and self.shard.center:
            self._summaries.read_portion(self._tables, self.shard.center)

    @property
    def has_rows_to_read(self) -> bool:
        """There is work between two entries of the log."""
        return self._files.pending.may_copy or self._exports.pending.may_copy or self._summaries.is_reading

    def finish(self) -> None:
        """Wait until all files are stored. Raises: Unavailable."""
        self._files.finish()
        if self._order.spec.export and self.shard.center and not self._order.store.is_folder:
            self._exports.begin(LAST_EXPORT, self.shard.center, self.shard.passes.closed, base=False)
        if self._tables and self.shard.center:
            self._summaries.finish(self._tables, self.shard.center)
        self._exports.finish()

    @property
    def _tables(self) -> HostedTables | None:
        return self.shard.center.tables if self.shard.center else None

    def _fetch(self, header: Header, incarnation: Incarnation, seq: int) -> Payload:
        beside = self._mailbox.rows.fetch(header, incarnation, seq)
        rows, asks = beside or (None, None)
        if isinstance(header.entry, Pull | Lookup):
            return Payload(torch.empty(0), rows=rows)
        payload = self._mailbox.fetch(header, incarnation, seq)
        if self._staging and not (header.on_device or self._mailbox.fetches_on_device):
            payload = self._staging.take(payload, incarnation)
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
