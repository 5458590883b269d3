"""GEO-SGD: workers train on while what they moved is merged into the center.

    worker i, every k steps:  d = (theta_i - old) / n;  old <- old + d;  push d          and go on for `delay` steps
                              when the new center p is there:  theta_i <- theta_i + p - old;  old <- p
    server:                   theta <- theta + d

The rest of a worker's progress, (1 - 1/n) of it, stays with the worker as an offset, which it sends with later merges; the
last merge sends all of it. So after a warm-up the center moves by the *sum* of what the workers do: expect a rate of n lr.
Steps made while a merge is on its way are never overwritten.

Source: PaddlePaddle, GeoCommunicator ("geo-SGD" mode of its parameter server).
"""

from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from gradstream.bounds import Count
from gradstream.gate import Mode
from gradstream.strategies.base import Hogwild, Recurrence, ServerSide, ShardSide, Side, Strategy, Updates, WorkerSide
from gradstream.strategies.intent import FEW_MESSAGES, Intent


class Geo(Strategy, frozen=True):
    """GEO-SGD: progress is merged into the center while training continues."""

    name: Literal["geo"] = "geo"
    intent: ClassVar[Intent] = FEW_MESSAGES
    round_vectors: ClassVar[int] = 7
    gates: ClassVar[frozenset[Mode]] = frozenset({"bsp", "asp"})
    reads_left: ClassVar[bool] = True
    pulls_every_round: ClassVar[bool] = False
    optimizers: ClassVar[frozenset[Side]] = frozenset({"worker"})
    hogwild: ClassVar[Hogwild | None] = "steps"
    recurrence: ClassVar[Recurrence] = "merged"
    symbols: ClassVar[dict[str, str]] = {"k": "window"}
    window: Count = Field(100, ge=1, description="Local steps between merges (k); 400 in PaddleRec")
    delay: Count = Field(0, ge=0, description="Local steps of a worker while a merge travels; 0: wait for the merge")

    @model_validator(mode="after")
    def _delay_within_window(self) -> Self:
        if self.delay >= self.window:
            raise ValueError(f"'delay' must be below 'window', {self.window}: a merge is over before the next one begins")
        return self

    def round(self, w: WorkerSide, ps: ServerSide) -> None:
        old = w.slot("old", w.theta)
        last = w.left <= self.window  # sends everything, so nothing may be trained after it
        w.local(self.window if last else self.window - self.delay)
        d = (w.theta - old) / (1 if last else w.n)
        old.add_(d)
        merge = ps.post(-d, w.slot("center"))
        w.local(0 if last else self.delay)
        center = ps.wait(merge)
        w.theta.add_(center - old)
        old.copy_(center)

    def apply(self, s: ShardSide, us: Updates) -> None:
        s.add(us.sum(), -1)
