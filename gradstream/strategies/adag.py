"""Accumulated gradient normalization: a window of local steps, pushed as their mean.

    worker i:  pull theta; lambda local steps from it; push (theta_pulled - theta_i) / lambda
    server:    theta <- theta - x

Dividing by the window makes the size of a push independent of it, so windows can be about three times DOWNPOUR's. A last,
shorter window is divided by its own length.

Naming: dist-keras calls this rule ADAG; the thesis behind it calls it AGN and keeps "ADAG" for its distance rule.
Source: Hermans 2017, "On Scalable Deep Learning and Parallelizing Gradient Descent", chapter 3.
"""

from typing import ClassVar, Literal

from pydantic import Field

from gradstream.bounds import Count
from gradstream.strategies.base import Hogwild, Recurrence, ServerSide, Strategy, WorkerSide
from gradstream.strategies.intent import UNEQUAL, Intent


class Adag(Strategy, frozen=True):
    """Accumulated gradient normalization: the mean of a window of local steps."""

    name: Literal["adag"] = "adag"
    intent: ClassVar[Intent] = UNEQUAL
    round_vectors: ClassVar[int] = 4
    hogwild: ClassVar[Hogwild | None] = "steps"
    recurrence: ClassVar[Recurrence] = "windows"
    window: Count = Field(12, ge=1, description="Local steps per push (lambda)")

    def push_share(self) -> float:
        return 1 / self.window

    def round(self, w: WorkerSide, ps: ServerSide) -> None:
        ps.pull(w.theta)
        base = w.theta.clone()
        made = w.local(self.window)
        ps.push((base - w.theta) / made)
