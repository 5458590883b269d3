"""EAMSGD: elastic averaging with Nesterov's momentum in every worker.

    worker i, every tau steps:  E = alpha (x_i - center);  x_i <- x_i - E;  center <- center + E      one atomic exchange
    worker i, every step:       v <- delta v - lr grad f(x_i + delta v);  x_i <- x_i + v

The look-ahead goes with the velocity, +delta v; dist-keras has it the wrong way round and applies its rate twice. With
delta = 0 it is EASGD.

Source: Zhang, Choromanska, LeCun 2015, "Deep learning with Elastic Averaging SGD", section 2.3.
"""

from typing import ClassVar, Literal, Self

from pydantic import Field

from gradstream.bounds import Count
from gradstream.strategies.base import Recurrence, ServerSide, ShardSide, Side, Strategy, Updates, WorkerSide
from gradstream.strategies.intent import FEW_MESSAGES, Intent


class Eamsgd(Strategy, frozen=True):
    """EAMSGD: elastic averaging with Nesterov momentum in every worker."""

    name: Literal["eamsgd"] = "eamsgd"
    intent: ClassVar[Intent] = FEW_MESSAGES
    round_vectors: ClassVar[int] = 7
    pulls_every_round: ClassVar[bool] = False
    responds: ClassVar[bool] = True
    pushes: ClassVar[Literal["direction", "parameters"]] = "parameters"
    optimizers: ClassVar[frozenset[Side]] = frozenset()
    recurrence: ClassVar[Recurrence] = "elastic"
    symbols: ClassVar[dict[str, str]] = {"tau": "window"}
    window: Count = Field(10, ge=1, description="Local steps between exchanges (tau)")
    alpha: float | None = Field(
        None, ge=0, le=1, description="Share of the distance between worker and center that an exchange removes; default: 0.9/n"
    )
    delta: float = Field(0.9, ge=0, lt=1, description="Momentum of each worker; 0.99 in the paper")

    def for_workers(self, count: int) -> Self:
        return self if self.alpha is not None else self.model_copy(update={"alpha": 0.9 / count})

    def round(self, w: WorkerSide, ps: ServerSide) -> None:
        e, v = ps.exchange(w.theta, w.slot("e")), w.slot("v")
        if w.done:  # the last exchange: no step comes after it
            w.theta.sub_(e)
        for k in w.window(self.window):
            g = w.grad(at=w.theta + self.delta * v)
            v.mul_(self.delta).sub_(g, alpha=w.lr)
            w.theta.add_(v)
            if k == 1:
                w.theta.sub_(e)

    def apply(self, s: ShardSide, us: Updates) -> None:
        alpha = 0.9 / s.n if self.alpha is None else self.alpha
        for u in us:
            u.response = s.send(s.vector().copy_(u.x).sub_(s.theta).mul_(alpha))
        for u in us:
            s.add(u.response)
