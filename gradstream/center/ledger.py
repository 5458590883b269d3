"""What became of every push: pushed = applied + buffered + dropped + pending, for each worker, always."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict, dataclass
from typing import Any, Literal

Fate = Literal["applied", "buffered", "dropped"]


@dataclass(frozen=True, slots=True)
class Decision:
    """What became of one push. `staleness` is counted for dropped ones too: 0 dropped must not look like 0 stale."""

    rank: int
    incarnation: int
    seq: int
    fate: Fate
    staleness: int
    steps: int
    examples: int
    norm: float


@dataclass(slots=True)
class Account:
    """The pushes of one rank, over all its incarnations in this attempt and the cut that it came from."""

    pushed: int = 0
    applied: int = 0
    buffered: int = 0
    dropped: int = 0

    @property
    def pending(self) -> int:
        """Waiting for their round to close."""
        return self.pushed - self.applied - self.buffered - self.dropped


class Ledger:
    def __init__(self) -> None:
        self.accounts: dict[int, Account] = defaultdict(Account)

    def pushed(self, rank: int) -> None:
        self.accounts[rank].pushed += 1

    def decide(self, decision: Decision) -> None:
        account = self.accounts[decision.rank]
        setattr(account, decision.fate, getattr(account, decision.fate) + 1)

    def state(self) -> dict[int, dict[str, int]]:
        return {rank: asdict(account) for rank, account in self.accounts.items()}

    def load(self, state: dict[int, dict[str, Any]]) -> None:
        self.accounts = defaultdict(Account, {rank: Account(**account) for rank, account in state.items()})
