"""Which cut is wanted and which is being made. One at a time, each number once."""

from __future__ import annotations

from dataclasses import dataclass

from gradstream.spec.cadence import is_due


@dataclass(slots=True)
class Cuts:
    making: int = 0
    """The one that workers save their states for; 0: none."""
    asked: int = 0
    """One that is announced when the round closes; 0: none."""
    barred: bool = False
    """A worker was lost and the job will restart from its last cut, so none may be taken of what goes on without it."""
    _last: int = 0
    _every: int | None = None
    """Samples between two, where the job counts them; else the control plane asks for each."""
    _seen: int = 0
    """Samples of the center when it was last asked whether one is due."""

    def by_samples(self, every: int | None, samples: int) -> None:
        """From now on one is due at each multiple of `every`."""
        self._every, self._seen = every, samples

    def is_due(self, samples: int) -> bool:
        """Once for each multiple that the center has reached or passed."""
        before, self._seen = self._seen, samples
        return self._every is not None and is_due(before, samples, self._every)

    def ask_next(self) -> bool:
        """As `ask`, with the next number."""
        return self.ask(self._last + 1)

    def ask(self, number: int) -> bool:
        """False: this one was there already, another is being made, or none may be."""
        if number <= self._last or self.making or self.barred:
            return False
        self._last = self.asked = number
        return True

    def announce(self) -> int:
        """It is made from now on; its number."""
        self.making, self.asked = self.asked, 0
        return self.making

    def give_up(self) -> None:
        self.making = self.asked = 0
