"""The checkpoints that were asked for, that are being made and that are being stored. One at a time, each number once."""

from __future__ import annotations

from dataclasses import dataclass

from gradstream.spec.cadence import is_due


@dataclass(slots=True)
class CheckpointSchedule:
    making: int = 0
    """The checkpoint for which workers save their states; 0: none."""
    asked: int = 0
    """The checkpoint that the shard will announce when the round closes; 0: none."""
    waits_for_commits: bool = False
    """Checkpoints are committed; those by samples that are due while one is being stored are skipped."""
    uncommitted: int = 0
    """The checkpoint that was made last, while the log has no word of its commit; 0: none."""
    skipped: int = 0
    """Checkpoints by samples that were skipped since that one was made."""
    barred: bool = False
    """A worker was lost and the job will restart from its last checkpoint, so no further one may be taken."""
    _last: int = 0
    _every: int | None = None
    """Samples between two checkpoints, if the job sets them by samples; else the control plane asks for each."""
    _seen: int = 0
    """Samples of the center at the last call of `is_due`."""

    def by_samples(self, every: int | None, samples: int) -> None:
        """Make a checkpoint due at each multiple of `every` from now on."""
        self._every, self._seen = every, samples

    def is_due(self, samples: int) -> bool:
        """Return whether a checkpoint is due: once for each multiple that the center has reached or passed."""
        before, self._seen = self._seen, samples
        return self._every is not None and is_due(before, samples, self._every)

    def ask_next(self) -> bool:
        """Ask for the checkpoint with the next number, as `ask` does. False also while the one before is being stored."""
        if self.uncommitted:
            self.skipped += 1
            return False
        return self.ask(self._last + 1)

    def ask(self, number: int) -> bool:
        """Ask for a checkpoint. False: it was made already, another is being made, or none may be."""
        if number <= self._last or self.making or self.barred:
            return False
        self._last = self.asked = number
        return True

    def announce(self) -> int:
        """Begin to make the checkpoint that was asked for, and return its number."""
        self.making, self.asked = self.asked, 0
        return self.making

    def note_made(self) -> None:
        """All processes have copied their parts, and store them."""
        self.uncommitted, self.making, self.skipped = self.making if self.waits_for_commits else 0, 0, 0

    def note_commit(self, number: int) -> None:
        if number == self.uncommitted:
            self.uncommitted = 0

    def give_up(self) -> None:
        self.making = self.asked = 0
