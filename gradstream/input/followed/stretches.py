"""The passes of data that grows: each file, so many examples, or so many seconds of event time.

A *stretch* is the rows of one file that are of one pass. Files and their rows alone decide which there are, so all workers find the
same ones, whenever a file comes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gradstream.spec.input import Data


class Stretch(NamedTuple):
    file: int
    first: int
    """The number of its first row in the file."""
    rows: int
    number: int
    """The number of its pass."""
    ends_pass: bool
    """Its pass is known to end with it."""


class Passes:
    """Divides files into stretches, one file after the other."""

    def __init__(self, data: Data) -> None:
        self._length, self._span = data.pass_examples, data.pass_seconds
        self._rows = 0
        """Rows of all files so far."""
        self._number = -1
        """The pass of the last example, if passes go by time."""
        self._window = -np.inf
        """Its event time, in lengths of a pass, rounded down."""

    @property
    def by_time(self) -> bool:
        return self._span is not None

    def divide(self, file: int, rows: int, times: NDArray[np.float64] | None = None) -> list[Stretch]:
        """Return the stretches of the next file. `times`: event times of its rows, in seconds, if passes go by time."""
        if times is not None:
            return list(self._by_time(file, times))
        if self._length is None:
            return [Stretch(file, 0, rows, file, ends_pass=True)]
        return list(self._by_examples(file, rows, self._length))

    def _by_examples(self, file: int, rows: int, length: int) -> Iterator[Stretch]:
        first = 0
        while first < rows:
            number, filled = divmod(self._rows, length)
            count = min(length - filled, rows - first)
            yield Stretch(file, first, count, number, ends_pass=filled + count == length)
            first, self._rows = first + count, self._rows + count

    def _by_time(self, file: int, times: NDArray[np.float64]) -> Iterator[Stretch]:
        """An example that goes back in time is of the running pass. A file alone does not say that a pass ends with it."""
        if not len(times):
            return
        assert self._span is not None, "times are given if passes go by time"
        windows = np.maximum.accumulate(np.concatenate([[self._window], np.floor(times / self._span)]))
        begins = [*np.flatnonzero(np.diff(windows))]
        self._window = float(windows[-1])
        if not begins or begins[0]:
            begins.insert(0, 0)  # the running pass goes on in this file
            self._number -= 1
        for begin, end in zip(begins, [*begins[1:], len(times)], strict=True):
            self._number += 1
            yield Stretch(file, int(begin), int(end - begin), self._number, ends_pass=end < len(times))
