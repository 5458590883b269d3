"""The making of a checkpoint: the shard announces it to all workers, each saves its state at its next boundary, and then the
shard copies its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradstream.center.checkpoint_schedule import CheckpointSchedule
from gradstream.center.entries import Checkpoint, Committed, Entry
from gradstream.center.gate import GateKeeper
from gradstream.center.members import Members
from gradstream.center.parameters.center import Center
from gradstream.center.responses import Held, Responses
from gradstream.center.waiting import WaitingRanks
from gradstream.center.watchers import Watchers
from gradstream.spec import JobSpec

CheckpointPart = tuple[int, list[int], dict[str, Any] | None]
"""This shard's part of a checkpoint; see `Output.checkpoint`."""


class CheckpointMaking:
    """`gate` and what follows it are the shard's."""

    def __init__(
        self, spec: JobSpec, members: Members, gate: GateKeeper, waiting: WaitingRanks, responses: Responses, watchers: Watchers
    ) -> None:
        self._spec, self._members, self._gate, self._waiting, self._responses = spec, members, gate, waiting, responses
        self._watchers = watchers
        self.schedule = CheckpointSchedule()
        self.may_copy = True
        """This process may hold one more copy of its part. If not, the part is left out, so the checkpoint is never committed."""

    def note_entry(self, entry: Entry, *, ending: bool) -> None:
        """`ending`: it is too late for a checkpoint."""
        match entry:
            case Checkpoint(number) if not ending and self.schedule.ask(number) and not self._waits_inside:
                self._announce()
            case Committed(number, what="checkpoint"):
                self.schedule.note_commit(number)

    def ask_if_due(self, samples: int, *, ending: bool) -> None:
        """Ask for a checkpoint by samples, once for each multiple; `ending`: it is too late for one."""
        due = self.schedule.is_due(samples) and not ending
        if due and self.schedule.ask_next() and not self._waits_inside:
            self._announce()

    def announce_with_close(self) -> None:
        """Announce a checkpoint that was asked for, as the round closes."""
        if self.schedule.asked:
            self._announce()

    def waits_only_for(self, rank: int) -> bool:
        """Return whether a state of this rank, or its leave, makes the checkpoint."""
        return bool(self.schedule.making) and all(each.saved for other, each in self._members.items() if other != rank)

    def make(self, center: Center | None, state: Callable[[], dict[str, Any]]) -> CheckpointPart | None:
        """Return the checkpoint once every live worker stands at a boundary and has written its state. None: not yet.

        Each worker gets a fresh center, and passes the gate again if it had passed it, as in a job that resumes from here."""
        members = self._members
        if not (self.schedule.making and center and members) or not all(member.saved for member in members.values()):
            return None
        made = self.schedule.making, sorted(members), state() if self.may_copy else None
        self.schedule.note_made()
        for rank, member in sorted(members.items()):
            at_gate = rank in self._waiting or rank in self._gate.pending
            free = not at_gate and not self._watchers.hold_workers
            go = free and bool(self._gate.free([rank], members, center.samples))
            if not at_gate and not go:
                self._waiting.add(rank, Held())
            seq, member.saved = member.saved, 0
            self._responses.center_to(rank, seq, "saved", go=go)
        return made

    @property
    def _waits_inside(self) -> bool:
        """True if workers wait for the round's close within their round, where they cannot save. Then the shard announces a
        checkpoint with the close, so that all workers, or none, begin another round before they save."""
        return self._spec.effective_gate.mode == "bsp" and not self._spec.strategy.pulls_every_round

    def _announce(self) -> None:
        self._responses.tell_all("checkpoint", checkpoint=self.schedule.announce())
