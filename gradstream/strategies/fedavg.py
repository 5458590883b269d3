"""FedAvg: a cohort of workers trains for some epochs on its own data; the parameters are averaged.

    worker k in the cohort:  pull theta; E epochs of local steps on its n_k examples; push theta - theta_k
    server:                  theta <- theta - sum_k n_k (theta - theta_k) / sum_k n_k

The share C of workers in a cohort is the gate's: `gate: {mode: bsp, cohort: 0.1}`. A worker keeps no optimizer state between its
rounds. FedAvgM is momentum on the server: `roles.server.optimizer: {name: sgd, lr: 1, momentum: 0.9}`; FedAdam is adam there.

Sources: McMahan et al. 2017, "Communication-Efficient Learning of Deep Networks from Decentralized Data"; Hsu, Qi, Brown
2019, "Measuring the Effects of Non-Identical Data Distribution" (FedAvgM).
"""

from typing import ClassVar, Literal

from pydantic import Field

from gradstream.bounds import Count
from gradstream.gate import Gate, Mode
from gradstream.strategies.base import Hogwild, Recurrence, ServerSide, Strategy, WorkerSide
from gradstream.strategies.intent import UNEQUAL_DATA, Intent


class FedAvg(Strategy, frozen=True):
    """FedAvg: a cohort trains for whole epochs on its own data, then parameters are averaged."""

    name: Literal["fedavg"] = "fedavg"
    intent: ClassVar[Intent] = UNEQUAL_DATA
    round_vectors: ClassVar[int] = 2
    gates: ClassVar[frozenset[Mode]] = frozenset({"bsp"})
    gate: ClassVar[Gate] = Gate(mode="bsp")
    hogwild: ClassVar[Hogwild | None] = "steps"
    recurrence: ClassVar[Recurrence] = "epochs"
    epochs: Count = Field(1, ge=1, description="Passes of a worker over its own examples per round (E)")

    def steps_per_push(self, epoch: int | None = None) -> int | None:
        return None if epoch is None else max(1, self.epochs * epoch)

    def round(self, w: WorkerSide, ps: ServerSide) -> None:
        ps.pull(w.theta)
        w.reset()
        base = w.theta.clone()
        w.local(self.epochs * w.epoch)
        ps.push(base - w.theta)
