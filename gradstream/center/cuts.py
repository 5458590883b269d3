"""Which cut is wanted and which is being made. One at a time, each number once."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Cuts:
    making: int = 0
    """The one that workers save their states for; 0: none."""
    asked: int = 0
    """One that is announced when the round closes; 0: none."""
    barred: bool = False
    """A worker was lost and the job will restart from its last cut, so none may be taken of what goes on without it."""
    _last: int = 0

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
