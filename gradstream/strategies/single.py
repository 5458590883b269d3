"""Sequential training, as a job of the platform: the baseline that every other strategy is compared with.

    the worker:  pull theta, which is its own; `window` local steps; push theta_i
    the center:  theta <- x

The center takes over what the one worker has, so both have the bits of plain PyTorch, whatever the window.
"""

from typing import ClassVar, Literal

from pydantic import Field

from gradstream.bounds import Count
from gradstream.gate import Mode
from gradstream.strategies.base import Hogwild, Recurrence, ServerSide, ShardSide, Side, Strategy, Updates, WorkerSide
from gradstream.strategies.intent import ALONE, Intent


class Single(Strategy, frozen=True):
    """Sequential training by one worker: the baseline for all others."""

    name: Literal["single"] = "single"
    intent: ClassVar[Intent] = ALONE
    gates: ClassVar[frozenset[Mode]] = frozenset({"asp"})
    pushes: ClassVar[Literal["direction", "parameters"]] = "parameters"
    workers: ClassVar[int | None] = 1
    optimizers: ClassVar[frozenset[Side]] = frozenset({"worker"})
    hogwild: ClassVar[Hogwild | None] = "steps"
    recurrence: ClassVar[Recurrence] = "serial"
    window: Count = Field(20, ge=1, description="Local steps per push, after which the evaluator sees the model")

    def round(self, w: WorkerSide, ps: ServerSide) -> None:
        ps.pull(w.theta)
        w.local(self.window)
        ps.push(w.theta)

    def apply(self, s: ShardSide, us: Updates) -> None:
        s.replace(us.mean())
