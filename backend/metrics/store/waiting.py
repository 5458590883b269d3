"""Batches that are not in blocks yet, decoded once for all charts of a page, which ask one after another. No database."""

from __future__ import annotations

import threading
from collections import OrderedDict

from backend.metrics.store import payloads
from backend.metrics.store.points import Group, decode

MAX_BYTES = 8 * 2**20
"""Bytes that are kept, of any number of jobs."""
_OF_A_GROUP = 400
"""Bytes that a group of few points takes beside them."""


class Apart:
    """The batches decoded last. Each is found by its very bytes, so it is never confused with another."""

    def __init__(self, most: int = MAX_BYTES) -> None:
        self.most, self.bytes = most, 0
        self._kept: OrderedDict[bytes, tuple[list[Group], int]] = OrderedDict()
        self._lock = threading.Lock()

    def groups(self, payload: bytes) -> list[Group]:
        """Return the groups of a batch as it is stored. They are read-only, as several threads may read them."""
        with self._lock:
            if payload in self._kept:
                self._kept.move_to_end(payload)
                return self._kept[payload][0]
        found = decode(payloads.unpack(payload)).groups()
        for group in found:
            group.points.flags.writeable = False
        self._keep(payload, found)
        return found

    def _keep(self, payload: bytes, found: list[Group]) -> None:
        size = len(payload) + sum(_OF_A_GROUP + len(group.name) + group.points.nbytes for group in found)
        with self._lock:
            if size > self.most or payload in self._kept:
                return
            self._kept[payload] = found, size
            self.bytes += size
            while self.bytes > self.most:
                _, (_, gone) = self._kept.popitem(last=False)
                self.bytes -= gone


apart = Apart()
