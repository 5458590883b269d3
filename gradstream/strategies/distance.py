"""The distance rule: each weight of a push counts less, the further the center has moved at that weight.

    worker i:  pull theta; lambda local steps from it; push theta_pulled - theta_i
    server:    theta <- theta - x / ((theta - theta_pulled)^2 / gamma + 1)                elementwise

Staleness as a distance instead of a count: what others have changed elsewhere in the model costs nothing. The server keeps
what each worker pulled, so a push is no larger than in other rules.

Naming: the thesis calls this rule ADAG, dist-keras "Experimental". In Gradstream `adag` is what dist-keras calls so.
Source: Hermans 2017, "On Scalable Deep Learning and Parallelizing Gradient Descent", chapter 4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from gradstream.bounds import Count, Number
from gradstream.gate import Mode
from gradstream.strategies.base import Hogwild, ServerSide, ShardSide, Strategy, Updates, WorkerSide
from gradstream.strategies.intent import STALENESS, Intent

if TYPE_CHECKING:
    from torch import Tensor


class Distance(Strategy, frozen=True):
    """The distance rule: each weight counts less, the further the center has moved there."""

    name: Literal["distance"] = "distance"
    intent: ClassVar[Intent] = STALENESS
    round_vectors: ClassVar[int] = 2
    gates: ClassVar[frozenset[Mode]] = frozenset({"ssp", "asp"})
    keeps_base: ClassVar[bool] = True
    apply_vectors: ClassVar[int] = 1
    hogwild: ClassVar[Hogwild | None] = "steps"
    window: Count = Field(5, ge=1, description="Local steps per push (lambda)")
    gamma: Number = Field(1e-4, gt=0, description="Squared distance of a weight at which its step is halved")

    def round(self, w: WorkerSide, ps: ServerSide) -> None:
        ps.pull(w.theta)
        base = w.theta.clone()
        w.local(self.window)
        ps.push(base - w.theta)

    def apply(self, s: ShardSide, us: Updates) -> None:
        for u in us:
            s.descend(s.by_parts(self._shortened, u.x, s.theta, u.base))

    def _shortened(self, x: Tensor, theta: Tensor, base: Tensor) -> Tensor:
        return x / ((theta - base) ** 2 / self.gamma + 1)
