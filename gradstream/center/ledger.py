"""The ledger of pushes. For each worker, always: pushed = applied + deferred + dropped + pending."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Literal

from msgspec import Struct

from gradstream.gate import Gate

PushOutcome = Literal["applied", "deferred", "dropped"]
"""applied: it changed the center · deferred: it is kept for a later step of the server · dropped: it is not learned."""
Reason = Literal["stale", "quorum", "not_finite", "superseded"]
"""Why a push is dropped: it is staler than the gate allows; the quorum had closed its round; it holds a NaN or an infinity; a newer
incarnation has replaced its worker."""


class Decision(Struct, frozen=True):
    """The outcome of one push. Dropped pushes have their `staleness` too: 0 dropped must not look like 0 stale."""

    rank: int
    incarnation: int
    seq: int
    outcome: PushOutcome
    staleness: int
    steps: int
    examples: int
    norm: float
    reason: Reason | None = None
    """Null unless dropped."""


@dataclass(slots=True)
class Account:
    """The pushes of one rank, over all its incarnations in this attempt and up to the checkpoint that it resumed from."""

    pushed: int = 0
    applied: int = 0
    deferred: int = 0
    dropped: int = 0
    dropped_stale: int = 0
    dropped_quorum: int = 0
    dropped_not_finite: int = 0
    dropped_superseded: int = 0
    """The last four add up to `dropped`, except in a job that began before reasons were counted."""

    @property
    def pending(self) -> int:
        """Pushes that wait for their round to close."""
        return self.pushed - self.applied - self.deferred - self.dropped

    def pack(self) -> bytes:
        return b"%d %d %d %d" % (self.pushed, self.applied, self.deferred, self.dropped)

    @classmethod
    def unpack(cls, packed: bytes) -> Account:
        """Counts that a newer version adds are left out. Raises: ValueError."""
        pushed, applied, deferred, dropped, *_ = map(int, packed.split())
        return cls(pushed, applied, deferred, dropped)


class Ledger:
    def __init__(self) -> None:
        self.accounts: dict[int, Account] = defaultdict(Account)

    def pushed(self, rank: int) -> None:
        self.accounts[rank].pushed += 1

    def decide(self, decision: Decision) -> None:
        account = self.accounts[decision.rank]
        setattr(account, decision.outcome, getattr(account, decision.outcome) + 1)
        if decision.reason:
            counter = f"dropped_{decision.reason}"
            setattr(account, counter, getattr(account, counter) + 1)

    def state(self) -> dict[int, dict[str, int]]:
        return {rank: asdict(account) for rank, account in self.accounts.items()}

    def load(self, state: dict[int, dict[str, Any]]) -> None:
        self.accounts = defaultdict(Account, {rank: _load_account(account) for rank, account in state.items()})


_RENAMED = {"buffered": "deferred"}
"""Outcomes that checkpoints of an older version name otherwise."""


def _load_account(state: dict[str, int]) -> Account:
    return Account(**{_RENAMED.get(name, name): count for name, count in state.items()})


STARVED_ROUNDS = 20
"""A rank is starved after this many pushes per worker of the job have counted, none of them its own."""
STARVED_PUSHES = 3
"""At least this many pushes of that rank must have been dropped meanwhile."""


@dataclass(frozen=True, slots=True)
class StarvedWorker:
    """A worker whose pushes are always dropped: the model does not learn from its data."""

    rank: int
    dropped: int
    """Pushes dropped in a row."""

    def sentence(self, gate: Gate, *, ended: bool = False) -> str:
        """Describe what is wrong, and what to do about it. `ended`: the job is over."""
        if gate.quorum is not None:
            filled = "filled" if ended else "fill"
            why = f"the others {filled} the quorum of {gate.quorum} before it {'was' if ended else 'is'} done"
            do = "raise gate.quorum, give it a faster machine"
        elif gate.max_staleness is not None:
            why = f"they were {gate.max_staleness} or more updates stale"
            do = "raise gate.max_staleness, give it a faster machine"
        else:
            why, do = "they held values that are not finite", "lower strategy.lr, look for such values in its data"
        contributes = "did not contribute" if ended else "does not contribute"
        learned = "was not learned. In the next run," if ended else "is not learned;"
        return (
            f"Worker {self.rank} {contributes}: its last {self.dropped} pushes were all dropped, as {why}. "
            f"Its share of the data {learned} {do}, or train with fewer workers."
        )


class StarvationDetector:
    """Finds starved workers, each once, from the decisions in their order.

    A rank is starved if STARVED_ROUNDS pushes per worker have counted since it began or last counted, and its own were all
    dropped. If all had the same chance to count, that would happen to one in e^20."""

    def __init__(self, workers: int) -> None:
        self._enough = STARVED_ROUNDS * workers
        self._counted = 0
        self._since: dict[int, int] = {}
        """The number of pushes that had counted when the rank began, or last counted itself."""
        self._dropped: dict[int, int] = defaultdict(int)
        self._told: set[int] = set()

    def note(self, decision: Decision) -> StarvedWorker | None:
        rank = decision.rank
        if decision.outcome != "dropped":
            self._counted += 1
            self._since[rank], self._dropped[rank] = self._counted, 0
            return None
        self._dropped[rank] += 1
        missed = self._counted - self._since.setdefault(rank, self._counted)
        if rank in self._told or missed < self._enough or self._dropped[rank] < STARVED_PUSHES:
            return None
        self._told.add(rank)
        return StarvedWorker(rank, self._dropped[rank])


def starved_workers(decisions: Iterable[Decision], workers: int) -> list[StarvedWorker]:
    """Return the workers that do not contribute, in the order in which they are found."""
    detector = StarvationDetector(workers)
    return [found for found in map(detector.note, decisions) if found]
