"""DiLoCo: many local steps, then one step of an outer optimizer along the mean of what the workers moved.

    worker i:  pull theta; H steps of the inner optimizer (AdamW in the paper); push d_i = theta - theta_i
    server:    d = mean of d_i;  b <- m b + d;  theta <- theta - lr_o (d + m b)           SGD with Nesterov momentum

The inner optimizer's state is kept from round to round. The outer step is `roles.server.optimizer`, by default that of the
paper; with lr 1 and no momentum this is local SGD.

Source: Douillard et al. 2023, "DiLoCo: Distributed Low-Communication Training of Language Models".
"""

from typing import ClassVar, Literal

from pydantic import Field

from gradstream.bounds import Count
from gradstream.gate import Gate, Mode
from gradstream.optim.spec import Optimizer, Sgd
from gradstream.strategies.base import Hogwild, Recurrence, ServerSide, Strategy, WorkerSide
from gradstream.strategies.intent import FEW_MESSAGES, Intent


class DiLoCo(Strategy, frozen=True):
    """DiLoCo: hundreds of local steps, then an outer Nesterov step along their mean."""

    name: Literal["diloco"] = "diloco"
    intent: ClassVar[Intent] = FEW_MESSAGES
    round_vectors: ClassVar[int] = 3
    gates: ClassVar[frozenset[Mode]] = frozenset({"bsp"})
    gate: ClassVar[Gate] = Gate(mode="bsp")
    server_optimizer: ClassVar[Optimizer] = Sgd(lr=0.7, momentum=0.9, nesterov=True)
    hogwild: ClassVar[Hogwild | None] = "steps"
    recurrence: ClassVar[Recurrence] = "averages"
    symbols: ClassVar[dict[str, str]] = {"h": "window"}
    window: Count = Field(50, ge=1, description="Local steps per round (H); 500 in the paper")

    def round(self, w: WorkerSide, ps: ServerSide) -> None:
        ps.pull(w.theta)
        base = w.theta.clone()
        w.local(self.window)
        ps.push(base - w.theta)
