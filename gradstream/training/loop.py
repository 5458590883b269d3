"""The worker's loop, in the simulator and on the platform."""

from __future__ import annotations

from gradstream.strategies.base import Strategy
from gradstream.training.link import Link
from gradstream.training.replica import Replica


def train(strategy: Strategy, w: Replica, ps: Link) -> None:
    """Rounds until the data has ended and all of it is pushed, or the job is stopped. The worker has joined; leaving is the
    caller's. A strategy whose rounds begin with a push makes its last round without data."""
    while w.batches.has_work and ps.begin():
        strategy.round(w, ps)
