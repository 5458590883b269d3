"""DC-ASGD: asynchronous SGD with the delay of each gradient compensated.

    worker i:  pull theta; g = grad f(theta); push g
    server:    theta <- opt(theta, g + lambda g^2 (theta - theta_pulled))                 elementwise
    adaptive:  MS <- m MS + (1 - m) g^2;  lambda = lambda_0 / sqrt(MS + eps)

g^2 stands for the diagonal of the Hessian, so the bracket is the gradient's Taylor expansion at where the center has moved to.
The server keeps what *each* worker pulled; with a single copy for all of them (MXNet) it is another algorithm.

Source: Zheng et al. 2017, "Asynchronous Stochastic Gradient Descent with Delay Compensation", equations 10 and 14.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal, Self

from pydantic import Field, model_validator

from gradstream.bounds import Number
from gradstream.gate import Mode
from gradstream.strategies.base import Recurrence, ServerSide, ShardSide, Strategy, Updates, WorkerSide
from gradstream.strategies.intent import STALENESS, Intent

if TYPE_CHECKING:
    from torch import Tensor


class DcAsgd(Strategy, frozen=True):
    """DC-ASGD: asynchronous SGD, each gradient corrected for how far the center has moved."""

    name: Literal["dc_asgd"] = "dc_asgd"
    intent: ClassVar[Intent] = STALENESS
    gates: ClassVar[frozenset[Mode]] = frozenset({"ssp", "asp"})
    descends: ClassVar[Literal["worker", "server"]] = "server"
    keeps_base: ClassVar[bool] = True
    apply_vectors: ClassVar[int] = 1
    recurrence: ClassVar[Recurrence] = "gradients"  # near a minimum, where g^2 (theta - base) is of the third order
    symbols: ClassVar[dict[str, str]] = {"lambda": "lam"}
    lam: Number = Field(0.04, ge=0, description="Strength of the compensation (lambda); adaptive: lambda_0, 2 in the paper")
    adaptive: bool = Field(False, description="Divide the strength by the root mean square of the gradients (DC-ASGD-a)")
    decay: float = Field(0.95, ge=0, lt=1, description="adaptive: decay of the mean square (m)")
    eps: Number = Field(1e-7, gt=0, description="adaptive: constant that is added to the mean square")

    @model_validator(mode="after")
    def _adaptive_options(self) -> Self:
        if not self.adaptive and (self.decay, self.eps) != (0.95, 1e-7):
            raise ValueError("'decay' and 'eps' mean nothing without 'adaptive: true'; remove them")
        return self

    @property
    def server_slots(self) -> int:
        return int(self.adaptive)

    def round(self, w: WorkerSide, ps: ServerSide) -> None:
        ps.pull(w.theta)
        ps.push(w.grad())

    def apply(self, s: ShardSide, us: Updates) -> None:
        for u in us:
            kept = [s.slot("mean_square")] if self.adaptive else []
            s.descend(s.by_parts(self._compensated, u.x, s.theta, u.base, *kept))

    def _compensated(self, g: Tensor, theta: Tensor, base: Tensor, mean: Tensor | None = None) -> Tensor:
        square = g * g
        if mean is not None:
            mean.mul_(self.decay).add_(square, alpha=1 - self.decay)
            square = square / (mean + self.eps).sqrt()
        return g + self.lam * square * (theta - base)
