"""`JobSpec`: the whole job file."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from gradstream.bounds import MAX_BATCH, MAX_DEPTH
from gradstream.codecs import AnyCodec, PullCodec
from gradstream.codecs.raw import Raw
from gradstream.gate import Gate
from gradstream.optim.schedule import AnySchedule, Constant
from gradstream.optim.spec import AnyOptimizer, Optimizer, Sgd
from gradstream.spec import combinations
from gradstream.spec.cadence import Evaluate, Snapshot
from gradstream.spec.input import Data, WorkloadRef
from gradstream.spec.part import SpecPart
from gradstream.spec.roles import Roles
from gradstream.spec.start import StartFrom
from gradstream.spec.stopping import Best, Stop
from gradstream.spec.values import MAX_NAME, NAME, Seconds, not_too_deep, storable
from gradstream.strategies import AnyStrategy


class Retention(SpecPart, frozen=True):
    """What is given up some time after the job's end, and when."""

    metrics: Seconds | None = Field(
        None,
        gt=0,
        description="Stored metrics, and with them the charts, but not the file metrics.parquet; default: as long as the job",
    )


class JobSpec(SpecPart, frozen=True):
    """A training job."""

    version: Literal[1] = Field(1, description="Version of this format")
    name: str = Field(
        min_length=1, max_length=MAX_NAME, pattern=NAME,
        description="Short name: lower-case letters, digits, '.', '_' and '-'",
    )  # fmt: skip
    workload: WorkloadRef
    strategy: AnyStrategy
    gate: Gate | None = Field(None, description="bsp, asp, {ssp: 3}, ...; default: the strategy's own")
    roles: Roles = Roles()
    batch_size: int = Field(32, ge=1, le=MAX_BATCH, description="Examples per mini-batch of each worker")
    start_from: StartFrom | None = Field(None, description="Begin from another model's weights; default: those that model() draws")
    stop: Stop
    best: Best | None = Field(None, description="Keep the model of the best evaluation beside the final one; default: only that")
    seed: int = Field(1, ge=0, lt=2**31, description="Model, order of the data and everything else that is drawn")
    pipeline: Literal[0, 1] = Field(
        0, description="1: a worker computes its next gradient while its last push is applied, which makes that gradient one staler"
    )
    accumulate: int = Field(
        1, ge=1, le=MAX_BATCH,
        description="Parts in which each mini-batch is computed, to save memory; their gradients add up to one",
    )  # fmt: skip
    members: int = Field(
        1, ge=1, le=64, description="Models of an ensemble: trained side by side on the same data, evaluated together"
    )
    optimizer: AnyOptimizer = Field(Sgd(), description="The optimizer of the side that descends (see the strategy)")
    schedule: AnySchedule = Field(Constant(), description="How the learning rate changes, by samples that the center has seen")
    codec: AnyCodec = Field(Raw(), description="How pushes travel; what a lossy codec takes away is added to the next push")
    pull_codec: PullCodec = Field(Raw(), description="How the center travels to the workers, and what exchanges are answered")
    data: Data = Data()
    evaluate: Evaluate = Evaluate()
    snapshot: Snapshot = Snapshot()
    timeout: Seconds | None = Field(
        None, gt=0,
        description="The job is ended as timed_out after its attempts ran this long together; waiting and starting do not count",
    )  # fmt: skip
    retries: int = Field(3, ge=0, le=100, description="New attempts after a lost process; lost machines are not counted")
    on_worker_loss: Literal["restart", "continue"] | None = Field(
        None, description="restart: new attempt from the last cut (default under bsp); continue: respawn it (default else)"
    )
    on_nan: Literal["fail", "drop"] = Field("fail", description="A loss that is not finite ends the job, or its push is dropped")
    env: Annotated[dict[str, str], AfterValidator(storable)] = Field(
        default_factory=dict, max_length=1000, description="Environment of the workers and the evaluator"
    )
    priority: int = Field(50, ge=0, le=100, description="Higher starts first")
    retention: Retention = Retention()

    @model_validator(mode="before")
    @classmethod
    def _can_be_walked(cls, given: Any) -> Any:
        return not_too_deep(given, 2 * MAX_DEPTH)

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        combinations.check(self)
        return self

    @property
    def server_optimizer(self) -> Optimizer:
        """The server's, where workers descend."""
        return self.roles.server.optimizer or self.strategy.server_optimizer or Sgd()

    @property
    def at_once(self) -> int:
        """Examples that a model computes with at a time."""
        return math.ceil(self.batch_size / self.accumulate)

    @property
    def effective_gate(self) -> Gate:
        return self.gate or self.strategy.gate

    @property
    def effective_on_worker_loss(self) -> Literal["restart", "continue"]:
        return self.on_worker_loss or ("restart" if self.effective_gate.mode == "bsp" else "continue")

    def with_shards(self, count: int) -> JobSpec:
        """This job with `auto` resolved."""
        server = self.roles.server.model_copy(update={"count": count})
        return self.model_copy(update={"roles": self.roles.model_copy(update={"server": server})})
