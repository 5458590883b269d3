"""Batches that are not in blocks yet, taken apart once for all charts of a page, which ask one after another. No database."""

from __future__ import annotations

import threading
from collections import OrderedDict

from backend.metrics import payloads
from backend.metrics.points import Group, decode

MOST = 8 * 2**20
"""Bytes that are kept, of any number of jobs."""
_OF_A_GROUP = 400
"""Bytes that a group of few points takes beside them."""


class Apart:
    """What was taken apart last. It is found by the very bytes that were, so it is never that of another batch."""

    def __init__(self, most: int = MOST) -> None:
        self.most, self.bytes = most, 0
        self._kept: OrderedDict[bytes, tuple[list[Group], int]] = OrderedDict()
        self._lock = threading.Lock()

    def groups(self, payload: bytes) -> list[Group]:
        """Of a batch as it is stored. Several may read them; nobody changes them."""
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
