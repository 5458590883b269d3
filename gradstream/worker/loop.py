"""The worker's loop, in the simulator and on the platform."""

from __future__ import annotations

from gradstream.strategies.base import Strategy
from gradstream.worker.link import Link
from gradstream.worker.replica import Replica


def train(strategy: Strategy, w: Replica, ps: Link) -> None:
    """Rounds until the data ends or the job is stopped. The worker has joined; leaving is the caller's."""
    while not w.done and ps.begin():
        strategy.round(w, ps)
