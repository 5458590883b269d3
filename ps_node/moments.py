"""When versions of the center were made, as far as it is remembered."""

from __future__ import annotations

from array import array

KEPT = 4096
"""Versions: 32 kB."""


class Moments:
    """Of the versions that are made from now on. Those that a cut brought have no time."""

    def __init__(self) -> None:
        self._times = array("d", bytes(8 * KEPT))
        self._first = self._newest = -1

    def see(self, version: int, now: float) -> None:
        """The center has this version after an entry of the log; an entry makes one version at most. `now`: seconds of a clock that
        never goes back."""
        if self._first < 0:
            self._first, self._newest = version + 1, version
        elif version > self._newest:
            self._times[version % KEPT], self._newest = now, version

    def since(self, version: int, now: float) -> float | None:
        """Seconds since this version was made. None: that is not known, or not any more."""
        if version < self._first or not self._newest - KEPT < version <= self._newest:
            return None
        return now - self._times[version % KEPT]
