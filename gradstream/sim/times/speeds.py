"""Speeds of workers: the time of one mini-batch, as a multiple of `Costs.step`.

constant           1                                 all alike: pushes come in turn
lognormal:0.3      drawn anew for each, mean 1       a shared machine; 0.3 is the spread (sigma)
memoryless         exponential, mean 1               the textbook's queue: every order of pushes can happen
straggler:5        1, but 5 for the last rank        straggler:5:2 for the last two
1,1,2.5            divided by the rank's own speed   one number for each worker; 2 is twice as fast
recorded:FILE      as a recorded job had it          see `gradstream.sim.times.recorded`
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


class Speeds:
    """A distribution. Each worker draws from a generator of its own, so the order of workers does not matter."""

    def factor(self, rank: int, workers: int, own: random.Random) -> float:
        """Return the time of this rank's next mini-batch, as a multiple of `Costs.step`."""
        raise NotImplementedError

    def slow(self, rank: int, workers: int) -> bool:
        """Return whether the rank is known to be slower than others: reports show these apart."""
        return False

    def check(self, workers: int) -> None:
        """Raises: ValueError, if so many workers cannot have it."""


@dataclass(frozen=True)
class ConstantSpeeds(Speeds):
    def factor(self, rank: int, workers: int, own: random.Random) -> float:
        return 1.0


@dataclass(frozen=True)
class Lognormal(Speeds):
    sigma: float

    def __post_init__(self) -> None:
        if not 0 <= self.sigma <= 3:
            raise ValueError(f"lognormal: a spread of {self.sigma:g} makes no sense; give one from 0 to 3, e.g. lognormal:0.3")

    def factor(self, rank: int, workers: int, own: random.Random) -> float:
        return math.exp(own.gauss(0.0, self.sigma) - self.sigma**2 / 2)


@dataclass(frozen=True)
class Memoryless(Speeds):
    def factor(self, rank: int, workers: int, own: random.Random) -> float:
        return own.expovariate(1.0)


@dataclass(frozen=True)
class Straggler(Speeds):
    times: float = 5.0
    """As long as the others."""
    count: int = 1

    def __post_init__(self) -> None:
        if not (0 < self.times < math.inf) or self.count < 1:
            raise ValueError("straggler: say how many times as long, and how many workers, e.g. straggler:5 or straggler:5:2")

    def factor(self, rank: int, workers: int, own: random.Random) -> float:
        return self.times if self.slow(rank, workers) else 1.0

    def slow(self, rank: int, workers: int) -> bool:
        return rank >= workers - self.count

    def check(self, workers: int) -> None:
        if self.count >= workers > 1:
            raise ValueError(f"straggler: {self.count} of {workers} workers leave no worker at full speed; lower the number")


@dataclass(frozen=True)
class Listed(Speeds):
    speeds: tuple[float, ...]
    """By rank; 2 takes half the time."""

    def __post_init__(self) -> None:
        if not all(0 < speed < math.inf for speed in self.speeds):
            raise ValueError("speeds must be above 0")

    def factor(self, rank: int, workers: int, own: random.Random) -> float:
        return 1 / self.speeds[rank]

    def slow(self, rank: int, workers: int) -> bool:
        return self.speeds[rank] < max(self.speeds)

    def check(self, workers: int) -> None:
        if len(self.speeds) != workers:
            raise ValueError(f"speeds: {len(self.speeds)} are given for {workers} workers; give one number for each")


@dataclass(frozen=True)
class Recorded(Speeds):
    """Each mini-batch takes what a random one of the recorded worker took. With more workers than were recorded, they begin
    again from the first."""

    seconds: tuple[tuple[float, ...], ...]
    """Times of mini-batches, by recorded worker."""

    def __post_init__(self) -> None:
        if not self.seconds or not all(self.seconds):
            raise ValueError("recorded: there is no mini-batch in it")

    def factor(self, rank: int, workers: int, own: random.Random) -> float:
        mine = self.seconds[rank % len(self.seconds)]
        return mine[own.randrange(len(mine))]


def parse(text: str) -> Speeds:
    """Parse one of the forms in the module's docstring. Raises: ValueError; OSError, for a file."""
    name, _, rest = text.partition(":")
    try:
        if name == "recorded" and rest:
            from gradstream.sim.times.recorded import read

            return read(Path(rest))
        if name in _FORMS:
            made: Speeds = _FORMS[name](*rest.split(":")) if rest else _FORMS[name]()
            return made
        return Listed(tuple(float(part) for part in text.split(",")))
    except TypeError as error:
        raise ValueError(f"'{text}': '{name}' takes other numbers; {_EXAMPLES}") from error
    except ValueError as error:
        if "convert" in str(error) or "invalid literal" in str(error):
            raise ValueError(f"'{text}' names no speeds; {_EXAMPLES}") from error
        raise


def _straggler(times: str = "5", count: str = "1") -> Speeds:
    return Straggler(float(times), int(count))


_FORMS: dict[str, Callable[..., Any]] = {
    "constant": ConstantSpeeds,
    "memoryless": Memoryless,
    "straggler": _straggler,
    "lognormal": lambda sigma: Lognormal(float(sigma)),
}
_EXAMPLES = "use constant, lognormal:0.3, memoryless, straggler:5, recorded:FILE, or one number per worker like 1,1,2.5"
