"""Elastic averaging SGD: workers explore by themselves, tied to the center by a spring.

    worker i, every tau steps:  E = alpha (x_i - center);  x_i <- x_i - E;  center <- center + E      one atomic exchange
    worker i, every step:       x_i <- x_i - lr grad f(x_i)              in the exchange's step: at x_i from before it

x_i + center is conserved by an exchange. Under asp it is the asynchronous form; under bsp all E_i of a round are taken against the
same old center and added together, the synchronous one. The center is the model that comes out. Keep n alpha below 1.

Source: Zhang, Choromanska, LeCun 2015, "Deep learning with Elastic Averaging SGD", algorithm 1.
"""

from typing import ClassVar, Literal, Self

from pydantic import Field

from gradstream.bounds import Count
from gradstream.strategies.base import Recurrence, ServerSide, ShardSide, Side, Strategy, Updates, WorkerSide
from gradstream.strategies.intent import FEW_MESSAGES, Intent


class Easgd(Strategy, frozen=True):
    """EASGD: workers train by themselves, tied to the center by a spring."""

    name: Literal["easgd"] = "easgd"
    intent: ClassVar[Intent] = FEW_MESSAGES
    round_vectors: ClassVar[int] = 5
    pulls_every_round: ClassVar[bool] = False
    responds: ClassVar[bool] = True
    pushes: ClassVar[Literal["direction", "parameters"]] = "parameters"
    optimizers: ClassVar[frozenset[Side]] = frozenset({"worker"})
    recurrence: ClassVar[Recurrence] = "elastic"
    symbols: ClassVar[dict[str, str]] = {"tau": "window"}
    window: Count = Field(10, ge=1, description="Local steps between exchanges (tau)")
    alpha: float | None = Field(
        None, ge=0, le=1, description="Share of the distance between worker and center that an exchange removes; default: 0.9/n"
    )

    def for_workers(self, count: int) -> Self:
        return self if self.alpha is not None else self.model_copy(update={"alpha": 0.9 / count})

    def round(self, w: WorkerSide, ps: ServerSide) -> None:
        e = ps.exchange(w.theta, w.slot("e"))
        if w.done:  # the last exchange: no step comes after it
            w.theta.sub_(e)
        for k in w.window(self.window):
            g = w.grad()
            if k == 1:
                w.theta.sub_(e)
            w.descend(g)

    def apply(self, s: ShardSide, us: Updates) -> None:
        alpha = 0.9 / s.n if self.alpha is None else self.alpha
        for u in us:
            u.response = s.send(s.vector().copy_(u.x).sub_(s.theta).mul_(alpha))
        for u in us:
            s.add(u.response)
