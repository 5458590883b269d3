"""The reports of a shard. Shard 0 alone reports staleness and the ledger, since all shards decide alike."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gradstream import metrics
from gradstream.center.dealing.dealer import ENDLESS
from gradstream.center.ledger import Decision, StarvationDetector
from gradstream.center.parameters.center import Center
from gradstream.center.shard import Shard
from gradstream.metrics import Metric
from gradstream.metrics.dealt import DEALT
from gradstream.observations.passes import ClosedPass
from gradstream.process.order import ProcessOrder
from gradstream.shard_server.memory_left import memory_left
from gradstream.shard_server.settings import ServerSettings
from gradstream.shard_server.version_times import VersionTimes
from gradstream.wire.telemetry.reporter import Reporter

if TYPE_CHECKING:
    from gradstream.center.tables.hosted import HostedTables  # needs numba, which jobs without tables never import

MAX_TABLES = 64
"""Tables whose rows are reported one by one."""
_LONGEST = 100
"""Characters of their names: those of metrics are bounded."""


class ServerReport:
    def __init__(self, reporter: Reporter, order: ProcessOrder, shard: Shard, settings: ServerSettings) -> None:
        self._reporter, self._shard, self._first = reporter, shard, order.rank == 0
        self._every = settings.report_every
        self._since = time.monotonic()
        self._due = self._since + self._every
        self._busy = 0.0
        self._told_size = False
        self._entries = self._queued = self._steps = 0
        self._version_times = VersionTimes()
        self._starvation = StarvationDetector(order.spec.roles.worker.count)
        self._active: dict[int, bool] = {}
        """True if each rank takes part, as last reported. Empty until training begins."""
        self._decided = False
        self._observed = 0
        """Examples observed, as last reported."""

    def members_changed(self) -> None:
        """Report after a join or a leave which workers take part, once training has begun. A lost worker comes back, so it still
        counts."""
        shard = self._shard
        if not (self._first and shard.started and shard.center):
            return
        left = {rank for rank, leave in shard.members.left.items() if leave.why != "lost" and rank not in shard.members}
        for rank, active in [*((rank, True) for rank in sorted(shard.members)), *((rank, False) for rank in sorted(left))]:
            if self._active.get(rank) != active:
                self._active[rank] = active
                place = {"samples": shard.center.samples, "version": shard.center.version}
                self._reporter.point(metrics.ACTIVE, float(active), rank=rank, **place)

    def decided(self, decisions: Sequence[Decision]) -> None:
        """Report after each entry every decided push, its staleness if it counted, and workers that contribute nothing."""
        center = self._shard.center
        if not self._first or center is None:
            return
        now = time.monotonic()
        if decisions and not self._decided:  # so that the first pushes are in the ledger when the version that they made is shown
            self._decided, self._due = True, min(self._due, now)
        self._version_times.see(center.version, now)
        for d in decisions:
            account = self._shard.ledger.accounts[d.rank]
            values = {metrics.NORM: d.norm}
            if d.outcome != "dropped":  # what was dropped is in the ledger; here it would make what counted look stale
                values[metrics.STALENESS] = d.staleness
                before = center.version - (d.outcome == "applied")
                seconds = self._version_times.since(before - d.staleness + 1, now) if d.staleness else 0.0
                if seconds is not None:
                    values[metrics.STALENESS_SECONDS] = seconds
            if found := self._starvation.note(d):
                values[metrics.STARVED] = found.dropped
            place = {"rank": d.rank, "step": account.pushed, "samples": center.samples, "version": center.version}
            self._reporter.points(values, **place)

    def handled(self, seconds: float, queued: int) -> None:
        """Note the seconds that an entry took, and the number of entries that wait behind it."""
        self._busy += seconds
        self._entries += 1
        self._queued = max(self._queued, queued)
        self._tell_size()
        if time.monotonic() >= self._due:
            self.now()

    def idle(self) -> None:
        if self._entries and time.monotonic() >= self._due:
            self.now()

    def _tell_size(self) -> None:
        """Report the size of the slice once, as soon as it is known: the shard count of `auto` depends on it."""
        center = self._shard.center
        if center is None or self._told_size:
            return
        self._told_size = True
        largest = {metrics.LARGEST: center.largest_bytes} if center.largest_bytes else {}
        sizes = {**largest, metrics.SLICE: center.theta.nbytes}
        self._reporter.points(sizes, samples=center.samples, version=center.version)

    def now(self) -> None:
        moment = time.monotonic()
        self._due = moment + self._every
        center = self._shard.center
        if center is None or not self._entries:
            return
        self._steps += self._entries
        place = {"step": self._steps, "samples": center.samples, "version": center.version}
        busy = min(1.0, self._busy / max(moment - self._since, 1e-9))
        values = {metrics.APPLY: self._busy / self._entries, metrics.QUEUE: self._queued, metrics.BUSY: busy}
        self._reporter.points(values | _table_values(center), **place)
        self._since = moment
        self._busy, self._entries, self._queued = 0.0, 0, 0
        if self._first:
            for rank, account in sorted(self._shard.ledger.accounts.items()):
                accounts = {metric: getattr(account, metric.name.removeprefix("ledger/")) for metric in metrics.LEDGER}
                reasons = {metric: getattr(account, metric.name.removeprefix("ledger/")) for metric in metrics.REASONS}
                accounts |= {metric: count for metric, count in reasons.items() if count}
                self._reporter.points(accounts, rank=rank, **place)
            self._report_dealt(place)
            self._report_observed(place)

    def _report_dealt(self, place: dict[str, int]) -> None:
        """Report who has the mini-batches, if they are dealt on demand."""
        counts = self._shard.dealer.counts()
        if counts.planned and counts.planned < ENDLESS:
            self._reporter.points(dict(zip(DEALT, counts, strict=True)), **place)

    def passed(self, passes: Sequence[ClosedPass]) -> None:
        """Report the figures of passes that are over."""
        center = self._shard.center
        if center is None:
            return
        for number, found in passes:
            values = {metrics.PASSED[key]: value for key, value in found.items() if math.isfinite(value)}
            self._reporter.points(values, step=number, samples=center.samples, version=center.version)

    def _report_observed(self, place: dict[str, int]) -> None:
        """Report the figures of what workloads observed, if there is more of it. One without a meaning yet is left out."""
        counted = self._shard.observed.counted
        if counted.examples == self._observed:
            return
        self._observed = counted.examples
        found = {metrics.OBSERVED[key]: value for key, value in counted.figures().items() if math.isfinite(value)}
        if found:
            self._reporter.points(found, **place)


def _table_values(center: Center) -> dict[Metric, float]:
    """The embedding tables of this shard in numbers; empty for a model without tables."""
    if center.tables is None:
        return {}
    totals, staleness = center.tables.totals(), center.tables.take_staleness()
    account, tables = totals.account, list(center.tables.tables.values())
    values: dict[Metric, float] = {
        metrics.ROWS: totals.rows,
        metrics.CANDIDATES: totals.candidates,
        metrics.TABLE_BYTES: totals.nbytes,
        metrics.TABLE_MEMORY_LEFT: memory_left(),
        metrics.ROWS_MADE: totals.made,
        metrics.ROWS_EVICTED: totals.evicted_rows,
        metrics.CANDIDATES_EVICTED: totals.evicted_candidates,
        metrics.KEYS_APPLIED: account.applied,
        metrics.KEYS_COUNTED: account.counted,
        metrics.KEYS_MISSED: account.missed,
        metrics.KEYS_DROPPED: account.dropped,
    }
    values |= _cold_values(center.tables)
    if staleness.keys:
        values |= {metrics.ROW_STALENESS: staleness.mean, metrics.ROW_STALENESS_HIGHEST: staleness.highest}
    return values | {metrics.rows_of_table(table.name): table.alive for table in tables[:MAX_TABLES] if len(table.name) <= _LONGEST}


def _cold_values(hosted: HostedTables) -> dict[Metric, float]:
    """The rows on the disk; empty if no table is bounded in memory."""
    tiers = [table.tier for table in hosted.tables.values() if table.tier]
    if not tiers:
        return {}
    values: dict[Metric, float] = {
        metrics.ROWS_COLD: sum(tier.cold for tier in tiers),
        metrics.COLD_BYTES: sum(tier.file_bytes for tier in tiers),
        metrics.ROWS_BEYOND: sum(tier.in_memory - tier.bound for tier in tiers if tier.disk_error),
    }
    looked_up, cold = map(sum, zip(*(tier.take_lookups() for tier in tiers), strict=True))
    return values | ({metrics.COLD_LOOKUPS: cold / looked_up} if looked_up else {})
