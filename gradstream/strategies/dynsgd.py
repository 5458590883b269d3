"""DynSGD: windows of local steps, each weighed down by its staleness.

    worker i:  pull theta; lambda local steps from it; push theta_pulled - theta_i
    server:    theta <- theta - x / (s + 1)                 s: changes of the center since worker i pulled

With one worker, or in turn with none in between, s = 0 and it is DOWNPOUR. On a quadratic, in turn, any number of workers
is stable for rates up to 1.57 over the curvature; plain asynchronous SGD tolerates 1 / (2n - 1) of that.

Source: Jiang, Cui, Zhang, Yu 2017, "Heterogeneity-aware Distributed Parameter Servers"; in this form Hermans' dist-keras.
"""

from typing import ClassVar, Literal

from pydantic import Field

from gradstream.bounds import Count
from gradstream.gate import Mode
from gradstream.strategies.base import Hogwild, Recurrence, ServerSide, ShardSide, Strategy, Updates, WorkerSide
from gradstream.strategies.intent import STALENESS, Intent


class DynSgd(Strategy, frozen=True):
    """DynSGD: windows of local steps, divided by their staleness + 1."""

    name: Literal["dynsgd"] = "dynsgd"
    intent: ClassVar[Intent] = STALENESS
    round_vectors: ClassVar[int] = 4
    apply_vectors: ClassVar[int] = 1
    gates: ClassVar[frozenset[Mode]] = frozenset({"ssp", "asp"})
    hogwild: ClassVar[Hogwild | None] = "steps"
    recurrence: ClassVar[Recurrence] = "windows"
    divides_by_staleness: ClassVar[bool] = True
    window: Count = Field(5, ge=1, description="Local steps per push (lambda)")

    def round(self, w: WorkerSide, ps: ServerSide) -> None:
        ps.pull(w.theta)
        base = w.theta.clone()
        w.local(self.window)
        ps.push(base - w.theta)

    def apply(self, s: ShardSide, us: Updates) -> None:
        for u in us:
            s.descend(s.by_parts(lambda x, n=u.staleness + 1: x / n, u.x))
