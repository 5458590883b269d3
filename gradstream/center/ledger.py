"""What became of every push: pushed = applied + buffered + dropped + pending, for each worker, always."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Literal

from msgspec import Struct

from gradstream.gate import Gate

Fate = Literal["applied", "buffered", "dropped"]
Reason = Literal["stale", "quorum", "not_finite", "superseded"]
"""Why a push is dropped: staler than the gate allows; after the quorum had closed its round; with a NaN or infinity in it; from an
incarnation that a newer one has replaced."""


class Decision(Struct, frozen=True):
    """What became of one push. `staleness` is counted for dropped ones too: 0 dropped must not look like 0 stale."""

    rank: int
    incarnation: int
    seq: int
    fate: Fate
    staleness: int
    steps: int
    examples: int
    norm: float
    reason: Reason | None = None
    """Null unless dropped."""


@dataclass(slots=True)
class Account:
    """The pushes of one rank, over all its incarnations in this attempt and the cut that it came from."""

    pushed: int = 0
    applied: int = 0
    buffered: int = 0
    dropped: int = 0
    dropped_stale: int = 0
    dropped_quorum: int = 0
    dropped_not_finite: int = 0
    dropped_superseded: int = 0
    """The last four add up to `dropped`, except in a job that began before reasons were counted."""

    @property
    def pending(self) -> int:
        """Waiting for their round to close."""
        return self.pushed - self.applied - self.buffered - self.dropped

    def pack(self) -> bytes:
        return b"%d %d %d %d" % (self.pushed, self.applied, self.buffered, self.dropped)

    @classmethod
    def unpack(cls, packed: bytes) -> Account:
        """Raises: ValueError."""
        pushed, applied, buffered, dropped = map(int, packed.split())
        return cls(pushed, applied, buffered, dropped)


class Ledger:
    def __init__(self) -> None:
        self.accounts: dict[int, Account] = defaultdict(Account)

    def pushed(self, rank: int) -> None:
        self.accounts[rank].pushed += 1

    def decide(self, decision: Decision) -> None:
        account = self.accounts[decision.rank]
        setattr(account, decision.fate, getattr(account, decision.fate) + 1)
        if decision.reason:
            counter = f"dropped_{decision.reason}"
            setattr(account, counter, getattr(account, counter) + 1)

    def state(self) -> dict[int, dict[str, int]]:
        return {rank: asdict(account) for rank, account in self.accounts.items()}

    def load(self, state: dict[int, dict[str, Any]]) -> None:
        self.accounts = defaultdict(Account, {rank: Account(**account) for rank, account in state.items()})


SILENT_ROUNDS = 20
"""Pushes that counted, for each worker of the job on average, without one of the rank that is silent."""
SILENT_PUSHES = 3
"""Pushes of that rank that were dropped meanwhile, at least."""


@dataclass(frozen=True, slots=True)
class Silent:
    """A worker whose pushes are always dropped: what it trains on is not learned."""

    rank: int
    dropped: int
    """In a row."""

    def sentence(self, gate: Gate) -> str:
        """What is wrong, and what to do about it."""
        if gate.quorum is not None:
            why = f"the others fill the quorum of {gate.quorum} before it is done"
            do = "raise gate.quorum, give it a faster machine"
        elif gate.max_staleness is not None:
            why = f"they were {gate.max_staleness} or more updates stale"
            do = "raise gate.max_staleness, give it a faster machine"
        else:
            why, do = "they held values that are not finite", "lower strategy.lr, look for such values in its data"
        return (
            f"Worker {self.rank} does not contribute: its last {self.dropped} pushes were all dropped, as {why}. "
            f"Its share of the data is not learned; {do}, or train with fewer workers."
        )


class Silence:
    """Finds workers that never contribute, each once, from the decisions in their order.

    A rank is silent if, since it began or last counted, the others had as many pushes counted as would be SILENT_ROUNDS for each
    worker, and its own were all dropped. If all had the same chance to count, that would happen to one in e^20."""

    def __init__(self, workers: int) -> None:
        self._enough = SILENT_ROUNDS * workers
        self._counted = 0
        self._since: dict[int, int] = {}
        """How many had counted when the rank began, or last counted itself."""
        self._dropped: dict[int, int] = defaultdict(int)
        self._told: set[int] = set()

    def note(self, decision: Decision) -> Silent | None:
        rank = decision.rank
        if decision.fate != "dropped":
            self._counted += 1
            self._since[rank], self._dropped[rank] = self._counted, 0
            return None
        self._dropped[rank] += 1
        missed = self._counted - self._since.setdefault(rank, self._counted)
        if rank in self._told or missed < self._enough or self._dropped[rank] < SILENT_PUSHES:
            return None
        self._told.add(rank)
        return Silent(rank, self._dropped[rank])


def silent(decisions: Iterable[Decision], workers: int) -> list[Silent]:
    """The workers that were found not to contribute, in the order in which that was found."""
    silence = Silence(workers)
    return [found for found in map(silence.note, decisions) if found]
