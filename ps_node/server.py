"""The server loop: read the log, and hand each entry to the shard."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import torch

from gradstream import metrics
from gradstream.center.shard import Shard
from gradstream.process.order import ProcessOrder
from gradstream.shard_server.hosted_shard import HostedShard
from gradstream.shard_server.log_reader import LogReader
from gradstream.shard_server.mailbox import Mailbox
from gradstream.shard_server.settings import ServerSettings
from gradstream.wire.gpu.memory import DeviceMemory
from gradstream.wire.redis import ids, keys
from gradstream.wire.redis.client import connect, retry
from gradstream.wire.redis.routes import Routes
from gradstream.wire.telemetry.reporter import Reporter
from gradstream.wire.transport.messages import Header
from gradstream.wire.transport.retransmissions import Retransmissions


class Server:
    def __init__(
        self,
        order: ProcessOrder,
        folder: Path,
        reporter: Reporter,
        settings: ServerSettings,
        device: torch.device | None = None,
        memory: DeviceMemory | None = None,
    ) -> None:
        """`device`: see `Shard`. `memory`: of that device; None: of the CPU."""
        routes = Routes(order.plane, order.plane_id)
        access = routes.home
        self._order, self._settings = order, settings
        self._redis = connect(access.url, user=access.user, password=access.password)
        self._j = order.plane_id
        retransmissions = Retransmissions(lambda count: reporter.point(metrics.RETRANSMISSIONS, count))
        mailbox = Mailbox(self._redis, routes, order, settings, retransmissions, device=memory)
        self._hosted = HostedShard(order, folder, reporter, settings, mailbox, device)
        self._reader = LogReader(access, order.plane_id, order.rank, settings.read_count, mailbox.take_in)
        self._report = self._hosted.report
        self._handled = 0
        self.leaving = False

    @property
    def shard(self) -> Shard:
        return self._hosted.shard

    def leave(self) -> None:
        """End after the entry that is being handled, and tell the ledger as of that one. Also from a signal's handler."""
        self.leaving = True

    def run(self) -> None:
        """Until the job is over and all files are stored, or `leave`. Raises: Unavailable, PlaneLost among them."""
        while not (self.shard.ended or self.leaving):
            batch = self._reader.read(wait=not self._hosted.has_rows_to_read)
            for number, (position, header) in enumerate(batch):
                if self.leaving:
                    break
                began = time.perf_counter()
                if header:
                    self._handle(position, header)
                self._reader.handled(position)
                self._report.handled(time.perf_counter() - began, queued=len(batch) - number - 1)
                self._hosted.copy_pieces()
            if not batch:
                self._hosted.copy_pieces()
                self._report.idle()
        self._reader.tell()
        self._report.now()
        if self.shard.ended:
            self._hosted.finish()

    def _handle(self, position: str, header: Header) -> None:
        output = self._hosted.handle_entry(position, header)
        self._handled += 1
        if self._order.rank == 0:
            self._reader.accounts |= self._hosted.changed_accounts(header.entry, output)
            if self._handled % self._settings.trim_every == 0:
                self._trim_log()

    def _trim_log(self) -> None:
        """Shard 0 drops what every shard has handled."""
        places: Any = retry(lambda: self._redis.hgetall(keys.pos(self._j)), what="reading the shards' places")
        if len(places) == self._order.spec.roles.server.shards:
            lowest = min((place.decode() for place in places.values()), key=ids.place)
            retry(lambda: self._redis.xtrim(keys.log(self._j), minid=lowest, approximate=True), what="trimming the log")
