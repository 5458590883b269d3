"""Partitions whose leader does not answer: since when, and for how long they are waited for."""

from __future__ import annotations

import logging
import time
from collections.abc import Collection

from gradstream.data.kafka_topic.name import TopicName

log = logging.getLogger(__name__)

LEADER_TIMEOUT = 600.0
"""Seconds for which a partition may be without a leader."""
_NOTED_AFTER = 10.0
"""Seconds after which it is reported: an election takes a moment."""


class LeaderWatch:
    def __init__(self, name: TopicName) -> None:
        self.name, self._since = name, dict[int, float]()
        self._noted = set[int]()

    @property
    def missing(self) -> tuple[int, ...]:
        """Partitions that are reported to be without a leader."""
        return tuple(sorted(self._noted))

    def note(self, missing: Collection[int]) -> None:
        """Take the partitions whose leader does not answer now. Raises: InvalidWorkload: one has been so for too long."""
        now = time.monotonic()
        for partition in self._noted - set(missing):
            log.warning("partition %d of %s has a leader again after %.0f s", partition, self.name, now - self._since[partition])
        self._since = {partition: self._since.get(partition, now) for partition in missing}
        for partition in sorted(partition for partition, since in self._since.items() if now - since >= _NOTED_AFTER):
            if now - self._since[partition] >= LEADER_TIMEOUT:
                raise self.name.leaderless(partition, LEADER_TIMEOUT)
            if partition not in self._noted:
                log.warning(
                    "partition %d of %s has no leader that answers; it is waited for up to %.0f s. Bring its broker back, or elect "
                    "another leader",
                    partition,
                    self.name,
                    LEADER_TIMEOUT,
                )
        self._noted = {partition for partition, since in self._since.items() if now - since >= _NOTED_AFTER}
