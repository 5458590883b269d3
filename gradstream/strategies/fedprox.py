"""FedProx: FedAvg with local steps that are pulled back to the center they began at.

    worker k in the cohort:  pull theta; E epochs of steps along grad + mu (theta_k - theta); push theta - theta_k
    server:                  theta <- theta - sum_k n_k (theta - theta_k) / sum_k n_k

The pull is the gradient of mu/2 |theta_k - theta|^2, the squared norm. With mu = 0 it is FedAvg, bit for bit.

Source: Li et al. 2020, "Federated Optimization in Heterogeneous Networks".
"""

from typing import ClassVar, Literal

from pydantic import Field

from gradstream.bounds import Count, Number
from gradstream.gate import Gate, Mode
from gradstream.strategies.base import ServerSide, Strategy, WorkerSide
from gradstream.strategies.intent import UNEQUAL_DATA, Intent


class FedProx(Strategy, frozen=True):
    """FedProx: FedAvg whose local steps are held near the center."""

    name: Literal["fedprox"] = "fedprox"
    intent: ClassVar[Intent] = UNEQUAL_DATA
    round_vectors: ClassVar[int] = 6
    gates: ClassVar[frozenset[Mode]] = frozenset({"bsp"})
    gate: ClassVar[Gate] = Gate(mode="bsp")
    epochs: Count = Field(1, ge=1, description="Passes of a worker over its own examples per round (E)")
    mu: Number = Field(0.01, ge=0, description="Strength of the pull towards the center")

    def steps_per_push(self, epoch: int | None = None) -> int | None:
        return None if epoch is None else max(1, self.epochs * epoch)

    def round(self, w: WorkerSide, ps: ServerSide) -> None:
        ps.pull(w.theta)
        w.reset()
        base = w.theta.clone()
        for _ in w.window(self.epochs * w.epoch):
            w.descend(w.grad() + self.mu * (w.theta - base))
        ps.push(base - w.theta)
