"""DOWNPOUR SGD: local steps, with separate windows for pushing and for fetching.

    worker i, mini-batch t:   if t mod n_fetch = 0: fetch theta
                              g = grad f(theta_i); accrued += g; theta_i <- theta_i - lr g
                              if t mod n_push = 0: push accrued; accrued = 0
    server:                   theta <- opt(theta, accrued)              plain SGD, or Adagrad as in the paper

Choose the server with `optimizer: {name: adagrad, lr: ...}`; the paper advises about 10 times the best fixed rate. Its warm
start, one worker alone at first, is the gate's: `gate: {mode: asp, warm_start: 10000}`.

Source: Dean et al. 2012, "Large Scale Distributed Deep Networks", algorithm 7.1.
"""

from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from gradstream.bounds import Count
from gradstream.gate import Mode
from gradstream.strategies.base import Recurrence, ServerSide, Strategy, WorkerSide
from gradstream.strategies.intent import UNEQUAL, Intent


class Downpour(Strategy, frozen=True):
    """DOWNPOUR: accrued gradients, pushed and fetched at separate intervals."""

    name: Literal["downpour"] = "downpour"
    intent: ClassVar[Intent] = UNEQUAL
    round_vectors: ClassVar[int] = 4
    gates: ClassVar[frozenset[Mode]] = frozenset({"ssp", "asp"})
    descends: ClassVar[Literal["worker", "server"]] = "server"
    pulls_every_round: ClassVar[bool] = False
    uses_lr_beside_optimizer: ClassVar[bool] = True
    recurrence: ClassVar[Recurrence] = "windows"

    n_push: Count = Field(1, ge=1, description="Mini-batches between two pushes")
    n_fetch: Count = Field(1, ge=1, description="Mini-batches between two fetches of the center")

    @model_validator(mode="before")
    @classmethod
    def _one_window(cls, given: Any) -> Any:
        """`window: 5` stands for both, as papers that compare have it."""
        if not isinstance(given, dict) or "window" not in given:
            return given
        rest = {key: value for key, value in given.items() if key != "window"}
        if {"n_push", "n_fetch"} & rest.keys():
            raise ValueError("'window' stands for 'n_push' and 'n_fetch' together; give it, or them")
        return {**rest, "n_push": given["window"], "n_fetch": given["window"]}

    def steps_per_push(self, epoch: int | None = None) -> int:
        return self.n_push

    def steps_per_pull(self) -> int:
        return self.n_fetch

    def round(self, w: WorkerSide, ps: ServerSide) -> None:
        if w.t % self.n_fetch == 0:
            ps.pull(w.theta)
        g = w.grad()
        accrued = w.slot("accrued")
        accrued += g
        w.theta.sub_(g, alpha=w.lr)
        if w.every(self.n_push):
            ps.push(accrued)
            accrued.zero_()
