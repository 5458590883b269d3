"""Delayed DiLoCo: the asynchronous form. Workers never wait; the server takes an outer step for every K arrivals.

    worker i:  pull theta; H steps of the inner optimizer; push d_i = theta_pulled - theta_i
    server:    gather K of them, whosever they are; d = their mean;  outer Nesterov step along d

A momentum that is fed each stale d_i on arrival does worse than waiting; gathered ones restore it. Under `gate: {ssp: 0}` with
K = n it is DiLoCo. An incomplete sum at the end of the job is shown as deferred.

Source: Liu et al. 2024, "Asynchronous Local-SGD Training for Language Modeling" (its delayed outer step).
"""

from typing import ClassVar, Literal, Self

from pydantic import Field

from gradstream.bounds import Count
from gradstream.gate import Mode
from gradstream.optim.spec import Optimizer, Sgd
from gradstream.strategies.base import Hogwild, Recurrence, ServerSide, ShardSide, Strategy, Updates, WorkerSide
from gradstream.strategies.intent import FEW_MESSAGES, Intent


class DelayedDiLoCo(Strategy, frozen=True):
    """Delayed DiLoCo: no worker waits, an outer step for every K arrivals."""

    name: Literal["delayed_diloco"] = "delayed_diloco"
    intent: ClassVar[Intent] = FEW_MESSAGES
    round_vectors: ClassVar[int] = 3
    gates: ClassVar[frozenset[Mode]] = frozenset({"ssp", "asp"})
    server_optimizer: ClassVar[Optimizer] = Sgd(lr=0.7, momentum=0.9, nesterov=True)
    hogwild: ClassVar[Hogwild | None] = "steps"
    recurrence: ClassVar[Recurrence] = "gathered"
    symbols: ClassVar[dict[str, str]] = {"h": "window"}
    window: Count = Field(50, ge=1, description="Local steps per push (H)")
    k: Count | None = Field(None, ge=1, description="Pushes per outer step (K); default: n (the number of workers)")

    def for_workers(self, count: int) -> Self:
        return self if self.k is not None else self.model_copy(update={"k": count})

    @property
    def server_slots(self) -> int:
        return 1

    def gathers(self, workers: int) -> int:
        return self.k or workers

    def round(self, w: WorkerSide, ps: ServerSide) -> None:
        ps.pull(w.theta)
        base = w.theta.clone()
        w.local(self.window)
        ps.push(base - w.theta)

    def apply(self, s: ShardSide, us: Updates) -> None:
        gathered, k = s.slot("gathered"), self.k or s.n
        for u in us:
            gathered.add_(u.x, alpha=1 / k)
            if s.every(k):
                s.descend(gathered)
                gathered.zero_()
