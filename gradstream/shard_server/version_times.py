"""Version timestamps: the times at which the newest versions of the center were made."""

from __future__ import annotations

from array import array

KEPT = 4096
"""Versions whose time is kept: 32 kB."""


class VersionTimes:
    """Timestamps of the versions that are made from now on. Versions from a checkpoint have none."""

    def __init__(self) -> None:
        self._times = array("d", bytes(8 * KEPT))
        self._first = self._newest = -1

    def see(self, version: int, now: float) -> None:
        """Note the center's version after an entry of the log; an entry makes one version at most. `now`: seconds of a clock that
        never goes back."""
        if self._first < 0:
            self._first, self._newest = version + 1, version
        elif version > self._newest:
            self._times[version % KEPT], self._newest = now, version

    def since(self, version: int, now: float) -> float | None:
        """Return the seconds since this version was made. None: not known, or not any more."""
        if version < self._first or not self._newest - KEPT < version <= self._newest:
            return None
        return now - self._times[version % KEPT]
