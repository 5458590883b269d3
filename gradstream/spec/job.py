"""`JobSpec`: the whole job file."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from gradstream.bounds import MAX_BATCH, MAX_COUNT, MAX_DEPTH
from gradstream.codecs import AnyCodec, PullCodec
from gradstream.codecs.raw import Raw
from gradstream.gate import Gate
from gradstream.optim.schedule import AnySchedule, Constant
from gradstream.optim.spec import AnyOptimizer, Optimizer, Sgd
from gradstream.spec import combinations
from gradstream.spec.allreduce import gloo_obstacle, nccl_obstacle
from gradstream.spec.cadence import Checkpointing, Evaluate, Exporting
from gradstream.spec.input import FETCHED_AHEAD, Data, WorkloadRef
from gradstream.spec.part import SpecPart
from gradstream.spec.roles import Collective, Roles, SettledCollective
from gradstream.spec.start import StartFrom
from gradstream.spec.stopping import Best, Stop
from gradstream.spec.tables import MAX_TABLES, TableSpec
from gradstream.spec.values import MAX_NAME, NAME, Note, Seconds, Tags, not_too_deep, storable
from gradstream.strategies import AnyStrategy


class Retention(SpecPart, frozen=True):
    """Deletion of the job's data some time after its end."""

    metrics: Seconds | None = Field(
        None,
        gt=0,
        description="Time after the job's end until its stored metrics, charts and update samples are deleted; metrics.parquet "
        "stays; default: as long as the job",
    )
    media: Seconds | None = Field(
        None,
        gt=0,
        description="Time after the job's end until the images, tables and other media that its code has logged are deleted; "
        "default: as long as the job",
    )


class UpdateSampling(SpecPart, frozen=True):
    """Histograms of gradients and pushed updates by layer, against the staleness of the push."""

    every: int = Field(
        100,
        ge=1,
        le=MAX_COUNT,
        description="Pushes of a worker from which one is measured, at a random place; a small number costs time and storage",
    )


class JobSpec(SpecPart, frozen=True):
    """A training job."""

    version: Literal[1] = Field(1, description="Version of the job file's format")
    name: str = Field(
        min_length=1,
        max_length=MAX_NAME,
        pattern=NAME,
        description="Name of the job: a-z, 0-9, '.', '_' and '-'; the first and the last are of a-z or 0-9",
    )
    tags: Tags = Field(
        default_factory=list, description="Labels by which lists of jobs are filtered; they can be changed at any time"
    )
    note: Note = Field("", description="Remark on the job, in plain text; it can be changed at any time")
    workload: WorkloadRef
    strategy: AnyStrategy = Field(description="Algorithm of the workers and the servers")
    gate: Gate | None = Field(
        None, description="Rule by which workers wait for one another, such as bsp, asp or {ssp: 3}; default: the strategy's own"
    )
    roles: Roles = Roles()
    batch_size: int = Field(32, ge=1, le=MAX_BATCH, description="Examples per mini-batch of each worker")
    start_from: StartFrom | None = Field(
        None, description="Model whose weights the job begins with; default: the weights that model() returns"
    )
    stop: Stop
    best: Best | None = Field(
        None, description="Keep the model of the best evaluation as well as the final model; default: only the final model"
    )
    seed: int = Field(1, ge=0, lt=2**31, description="Seed of all random numbers: initial weights, order of the data, cohorts")
    pipeline: Literal[0, 1] = Field(
        0, description="1: overlaps compute with communication, which adds one update of staleness; 0: no overlap"
    )
    tables: Annotated[dict[str, TableSpec], AfterValidator(storable)] = Field(
        default_factory=dict,
        max_length=MAX_TABLES,
        description="Rule, first values, admission and eviction of embedding tables, by name; `default` is for those not named",
    )
    accumulate: int = Field(
        1,
        ge=1,
        le=MAX_BATCH,
        description="Parts in which a worker computes each mini-batch, to save memory; it adds up their gradients",
    )
    precision: Literal["fp32", "bf16", "fp16"] = Field(
        "fp32",
        description="Arithmetic of loss() and evaluate(): bf16 and fp16 are autocast, fp16 with a loss scale; parameters "
        "and optimizers keep float32",
    )
    recompute: Literal["none", "blocks"] = Field(
        "none",
        description="blocks: each block of the model keeps only its inputs, and computes again in backward, to save memory",
    )
    compile: bool = Field(
        False,
        description="Compile the model with torch.compile, in every process that computes with it; with recompute: blocks, each "
        "block by itself",
    )
    members: int = Field(
        1,
        ge=1,
        le=64,
        description="Models of an ensemble; the workers train them on the same data, and the evaluator averages their outputs",
    )
    optimizer: AnyOptimizer = Field(
        Sgd(), description="Optimizer of the side that descends: the worker or the server, as the strategy says"
    )
    schedule: AnySchedule = Field(
        Constant(), description="Change of the learning rate over the samples that all workers have trained"
    )
    codec: AnyCodec = Field(Raw(), description="Encoding of pushes; a worker adds the error of a lossy codec to its next push")
    pull_codec: PullCodec = Field(Raw(), description="Encoding of the parameters that servers send to workers")
    data: Data = Data()
    evaluate: Evaluate = Evaluate()
    checkpoint: Checkpointing = Checkpointing()
    export: Exporting | None = Field(
        None,
        description="Exports of the model and its embedding tables for serving: at the end of the job, and while it trains; "
        "default: only when you ask for one",
    )
    update_histograms: UpdateSampling | None = Field(
        None,
        description="Histograms of a sample of gradients and pushed updates, by layer and staleness: {} measures one push in 100; "
        "default: none",
    )
    timeout: Seconds | None = Field(
        None,
        gt=0,
        description="Running time of all attempts together, after which the job ends as timed_out; waiting and starting do not "
        "count; default: unlimited",
    )
    retries: int = Field(
        3, ge=0, le=100, description="New attempts and restarts after processes of the job fail; a lost machine uses none up"
    )
    on_worker_loss: Literal["restart", "continue"] | None = Field(
        None,
        description="Reaction to a lost worker: restart begins a new attempt from the last checkpoint, continue starts the worker "
        "again; default: restart under bsp, else continue. Without servers, in shared memory, continue has worker 0 hold the model",
    )
    on_nan: Literal["fail", "drop"] = Field(
        "fail", description="Reaction to a loss that is not finite: fail ends the job, drop discards the push"
    )
    env: Annotated[dict[str, str], AfterValidator(storable)] = Field(
        default_factory=dict, max_length=1000, description="Environment variables of the workers and the evaluator, by name"
    )
    network: Literal["internet", "platform"] = Field(
        "internet",
        description="Network of its processes: internet is all that their machine reaches, platform is the data plane and the API",
    )
    priority: int = Field(50, ge=0, le=100, description="Jobs with a higher priority start first")
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
    def optimizer_at_servers(self) -> Optimizer:
        """The rule by which servers step, whichever side descends."""
        return self.optimizer if self.strategy.descends == "server" else self.server_optimizer

    @property
    def at_once(self) -> int:
        """Examples that a model computes with at a time."""
        return math.ceil(self.batch_size / (self.accumulate * self.roles.worker.group.parts))

    @property
    def parallelism(self) -> float:
        """Mini-batches that a worker's threads or peers compute in the time of one, if each has a core; 1 with a strategy that
        shares nothing among threads. A pipeline of s stages idles at both ends of m micro-batches: s m / (m + s - 1)."""
        threads, group = self.roles.worker.hogwild if self.strategy.hogwild else 1, self.roles.worker.group
        return threads * group.parts * group.tensor * group.stages * self.accumulate / (self.accumulate + group.stages - 1)

    @property
    def batches_ahead(self) -> int:
        """Mini-batches that a worker holds under `data.deal: demand`: those of its round, of the next one if that begins before the
        response to its push, and those that it fetches ahead."""
        rounds = 2 if self.pipeline or self.strategy.reads_left else 1
        fetched = FETCHED_AHEAD if self.data.prefetch is None else self.data.prefetch
        return rounds * (self.strategy.steps_per_push() or 1) + fetched

    @property
    def drops_overflows(self) -> bool:
        """A pushed gradient that is not finite is an overflow in float16: dropped and counted, whatever `on_nan` says of losses."""
        return self.precision == "fp16" and self.strategy.descends == "server"

    @property
    def effective_gate(self) -> Gate:
        return self.gate or self.strategy.gate

    @property
    def effective_on_worker_loss(self) -> Literal["restart", "continue"]:
        return self.on_worker_loss or ("restart" if self.effective_gate.mode == "bsp" else "continue")

    @property
    def one_holder(self) -> bool:
        """True if worker 0 holds the only shard in shared memory: such a job goes on when another worker is lost."""
        return self.shares_memory and self.effective_on_worker_loss == "continue"

    @property
    def shards(self) -> int:
        """Shards of the center, whichever processes hold them. By an allreduce each worker holds one, and worker 0 stores it."""
        if self.roles.serverless:
            return 1 if self.one_holder or not self.shares_memory else self.roles.worker.count
        return self.roles.server.shards

    @property
    def shares_memory(self) -> bool:
        """True if workers without servers combine pushes in shared memory, as far as the spec says."""
        return self.roles.serverless and self.roles.server.collective not in ("gloo", "nccl")

    @property
    def settled_collective(self) -> SettledCollective | None:
        """The way in which workers without servers combine pushes; None: there are servers, or the platform has yet to choose."""
        found = self.roles.server.collective
        return found if self.roles.serverless and found != "auto" else None

    @property
    def spreads(self) -> bool:
        """True if workers without servers may be on several machines."""
        server = self.roles.server
        return self.roles.serverless and server.collective != "shared" and gloo_obstacle(self) is None

    @property
    def may_use_nccl(self) -> bool:
        """True if several workers without servers may combine pushes by NCCL, once each has a GPU."""
        server, several = self.roles.server, self.roles.worker.count > 1
        return several and self.roles.serverless and server.collective in ("auto", "nccl") and nccl_obstacle(self) is None

    def holds_shard(self, role: str, rank: int) -> bool:
        """Return whether this process stores a shard of the center, and answers for it."""
        if not self.roles.serverless:
            return role == "server"
        return role == "worker" and rank < self.shards

    def goes_on_but_for(self, rank: int) -> bool:
        """Return whether this job has no servers and goes on after losses, but not after the loss of this worker."""
        return self.roles.serverless and self.effective_on_worker_loss == "continue" and self.holds_shard("worker", rank)

    @property
    def counts_passes(self) -> bool:
        """Something happens at ends of passes, so each push says which passes are over for its worker."""
        shrinks = (table.shrinks_every for table in self.tables.values())
        return bool(self.export and self.export.passes) or any(every and every.passes for every in shrinks)

    def with_shards(self, count: int) -> JobSpec:
        """This job with `auto` resolved."""
        return self._with_server(count=count)

    def with_collective(self, collective: Collective) -> JobSpec:
        """This job with `roles.server.collective: auto` resolved."""
        return self._with_server(collective=collective)

    def on_one_machine(self) -> JobSpec:
        """This job with the group of each worker on one machine."""
        worker = self.roles.worker
        group = worker.group.model_copy(update={"machines": 1})
        roles = self.roles.model_copy(update={"worker": worker.model_copy(update={"group": group})})
        return self.model_copy(update={"roles": roles})

    def _with_server(self, **changed: Any) -> JobSpec:
        server = self.roles.server.model_copy(update=changed)
        return self.model_copy(update={"roles": self.roles.model_copy(update={"server": server})})
