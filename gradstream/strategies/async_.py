"""Asynchronous SGD: every gradient is applied when it arrives.

    worker i:  pull theta; g = grad f(theta); push g
    server:    theta <- opt(theta, g)

With `gate: {ssp: s}` no worker runs more than s rounds ahead (stale synchronous parallel); with `max_staleness: R` older
gradients are dropped (Ringmaster ASGD).

Source: Dean et al. 2012, "Large Scale Distributed Deep Networks", with n_push = n_fetch = 1.
"""

from typing import ClassVar, Literal

from gradstream.gate import Mode
from gradstream.strategies.base import Hogwild, Recurrence, ServerSide, Strategy, WorkerSide
from gradstream.strategies.intent import UNEQUAL, Intent


class Async(Strategy, frozen=True):
    """Asynchronous SGD: each gradient applied on arrival, no worker waits."""

    name: Literal["async"] = "async"
    intent: ClassVar[Intent] = UNEQUAL
    gates: ClassVar[frozenset[Mode]] = frozenset({"ssp", "asp"})
    descends: ClassVar[Literal["worker", "server"]] = "server"
    hogwild: ClassVar[Hogwild | None] = "gradients"
    recurrence: ClassVar[Recurrence] = "gradients"

    def round(self, w: WorkerSide, ps: ServerSide) -> None:
        ps.pull(w.theta)
        ps.push(w.grad())
