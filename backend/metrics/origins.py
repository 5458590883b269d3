"""Which series an attempt's own processes can have, and how many others there may be. User code shares its process's account on the
data plane, so points may come under any name, rank and source. No database here."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from gradstream.metrics import CATALOGUE

MAX_SERIES = 10_000
"""Series of one attempt, beside those of the platform."""
MAX_SERIES_PER_SOURCE = 5_000
"""Such series of one process."""
MAX_NAMES = 5_000
"""Names of such series."""
_FEW = 64
"""Ranks that are believed of every job."""
_LABEL = re.compile(r"(?:(worker|server|peers)-([0-9]{1,9})(?:/[0-9]{1,3})?|evaluator|controller)")
"""With the number of a peer behind the slash."""

SeriesKey = tuple[str, str, int]
"""Source (a label), name, rank."""


@dataclass(frozen=True, slots=True)
class Origins:
    """Ranks and sources that an attempt can have."""

    ranks: int = _FEW

    @classmethod
    def of_job(cls, workers: int, spec: dict[str, Any], shards: int | None) -> Origins:
        roles = spec.get("roles") or {}
        servers = shards or (roles.get("server") or {}).get("count")
        machines = ((roles.get("worker") or {}).get("group") or {}).get("machines", 1)
        return cls(max(workers * machines, servers if isinstance(servers, int) else 1, _FEW))

    def believes(self, source: str, rank: int) -> bool:
        """Return whether a process of this label and this rank can be there."""
        found = _LABEL.fullmatch(source)
        return found is not None and int(found[2] or 0) < self.ranks and -1 <= rank < self.ranks

    def is_own(self, source: str, name: str, rank: int) -> bool:
        """Return whether the platform itself measures this there. Names and ranks bound such series; all are stored."""
        if name not in CATALOGUE or not self.believes(source, rank):
            return False
        found = _LABEL.fullmatch(source)
        return found is None or found[1] != "worker" or rank in (-1, int(found[2]))


class SeriesCapacity:
    """Number of series that may still begin in an attempt, for each process and in all."""

    def __init__(self, known: Iterable[SeriesKey], origins: Origins) -> None:
        self._origins = origins
        self._known = known
        self._others: Counter[str] | None = None
        """Series that are not the platform's own, by source; counted when the first of them begins."""
        self._names: set[str] = set()

    def admit(self, source: str, name: str, rank: int) -> bool:
        """Return whether a new series may begin, which then counts."""
        if self._origins.is_own(source, name, rank):
            return True
        if self._others is None:
            others = [key for key in self._known if not self._origins.is_own(*key)]
            self._others, self._names = Counter(key[0] for key in others), {key[1] for key in others}
        full = self._others.total() >= MAX_SERIES or self._others[source] >= MAX_SERIES_PER_SOURCE
        if full or (len(self._names) >= MAX_NAMES and name not in self._names):
            return False
        self._others[source] += 1
        self._names.add(name)
        return True
