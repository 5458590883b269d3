"""How a shard makes a cut: it is announced to all workers, each saves its state at its next boundary, and then the shard copies
its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradstream.center.answers import Answers, Held
from gradstream.center.center import Center
from gradstream.center.cuts import Cuts
from gradstream.center.gate import GateKeeper
from gradstream.center.members import Members
from gradstream.center.waiting import Waiting
from gradstream.center.watchers import Watchers
from gradstream.spec import JobSpec

Cut = tuple[int, list[int], dict[str, Any]]
"""See `Outcome.cut`."""


class CutMaking:
    """`gate` and what follows it are the shard's."""

    def __init__(
        self, spec: JobSpec, members: Members, gate: GateKeeper, waiting: Waiting, answers: Answers, watchers: Watchers
    ) -> None:  # fmt: skip
        self._spec, self._members, self._gate, self._waiting, self._answers = spec, members, gate, waiting, answers
        self._watchers = watchers
        self.cuts = Cuts()

    def ask(self, number: int) -> None:
        if self.cuts.ask(number) and not self._waits_inside:
            self._announce()

    def ask_if_due(self, samples: int, *, ending: bool) -> None:
        """By samples, once for each multiple; `ending`: it is too late for a cut."""
        due = self.cuts.is_due(samples) and not ending
        if due and self.cuts.ask_next() and not self._waits_inside:
            self._announce()

    def announce_with_close(self) -> None:
        """A round closes: one that was asked for is announced."""
        if self.cuts.asked:
            self._announce()

    def make(self, center: Center | None, state: Callable[[], dict[str, Any]]) -> Cut | None:
        """Every live worker stands at a boundary and has written its state: here is the cut. None: not yet.

        Each gets a fresh center, and who had passed the gate passes it again: so it goes in a job that resumes from here."""
        members = self._members
        if not (self.cuts.making and center and members) or not all(member.saved for member in members.values()):
            return None
        made = self.cuts.making, sorted(members), state()
        self.cuts.making = 0
        for rank, member in sorted(members.items()):
            at_gate = rank in self._waiting or rank in self._gate.pending
            free = not at_gate and not self._watchers.hold_workers
            go = free and bool(self._gate.free([rank], members, center.samples))
            if not at_gate and not go:
                self._waiting.add(rank, Held())
            seq, member.saved = member.saved, 0
            self._answers.center_to(rank, seq, "saved", go=go)
        return made

    @property
    def _waits_inside(self) -> bool:
        """Workers wait for the round's close inside of their round, where they cannot save: a cut is announced with the close, so
        that all of them, or none, begin another round before they save."""
        return self._spec.effective_gate.mode == "bsp" and not self._spec.strategy.pulls_every_round

    def _announce(self) -> None:
        self._answers.tell_all("cut", cut=self.cuts.announce())
