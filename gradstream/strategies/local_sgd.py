"""Local SGD: parameters averaged every H steps.

    worker i:  pull theta; H local steps from it; push theta - theta_i
    server:    theta <- theta - sum_i B_i (theta - theta_i) / sum_i B_i = the mean of theta_i, weighted by examples

One-shot averaging is `window: null`: everybody trains to the end, then once. Post-local SGD is `switch`: a first phase with H = 1.
At an average `inner` decides on a worker's momentum: kept, forgotten, or averaged like the parameters (which doubles
or triples what travels).

Sources: Stich 2019, "Local SGD Converges Fast and Communicates Little"; Zinkevich et al. 2010 (one-shot); Lin et al. 2020,
"Don't Use Large Mini-Batches, Use Local SGD" (post-local).
"""

from typing import ClassVar, Literal

from pydantic import Field

from gradstream.bounds import Count
from gradstream.gate import Gate, Mode
from gradstream.strategies.base import Hogwild, Recurrence, ServerSide, Strategy, WorkerSide
from gradstream.strategies.intent import FEW_MESSAGES, Intent


class LocalSgd(Strategy, frozen=True):
    """Local SGD: parameters averaged every H steps; with no window, once at the end."""

    name: Literal["local_sgd"] = "local_sgd"
    intent: ClassVar[Intent] = FEW_MESSAGES
    round_vectors: ClassVar[int] = 3
    gates: ClassVar[frozenset[Mode]] = frozenset({"bsp"})
    gate: ClassVar[Gate] = Gate(mode="bsp")
    hogwild: ClassVar[Hogwild | None] = "steps"
    recurrence: ClassVar[Recurrence] = "averages"
    symbols: ClassVar[dict[str, str]] = {"h": "window"}
    window: Count | None = Field(16, ge=1, description="Local steps between averages (H); null: one average at the end")
    switch: Count = Field(0, ge=0, description="Mini-batches of each worker during which H is 1 (post-local SGD)")
    inner: Literal["keep", "reset", "average"] = Field(
        "keep", description="Treatment of the local optimizers' state at each average"
    )

    @property
    def averages_optimizers(self) -> bool:
        return self.inner == "average"

    def round(self, w: WorkerSide, ps: ServerSide) -> None:
        ps.pull(w.theta)
        if self.inner == "reset":
            w.reset()
        base = w.theta.clone()
        w.local(1 if w.t < self.switch else self.window)
        ps.push(base - w.theta)
