"""The job file. One model: the YAML file, the REST body, the JSON Schema, the web form and the docs all come from it.

`gradstream.jobfile` reads one and explains mistakes; unknown keys are mistakes.
"""

from __future__ import annotations

import math
import re
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, Field, model_validator

from gradstream.codecs import AnyCodec, PullCodec
from gradstream.codecs.raw import Raw
from gradstream.gate import Gate
from gradstream.optim.schedule import AnySchedule, Constant
from gradstream.optim.spec import AnyOptimizer, Optimizer, Sgd
from gradstream.spec_values import Average, Seconds, ShardCount, storable
from gradstream.strategies import AnyStrategy


class _Part(BaseModel, frozen=True, extra="forbid", allow_inf_nan=False):
    """Every part of a job file: immutable, and strict about its keys."""


class WorkloadRef(_Part, frozen=True):
    entrypoint: str = Field(
        pattern=r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*$",
        description="Where the Workload class is, as module:Class, from the root of the bundle",
        examples=["digits:Digits"],
    )
    args: Annotated[dict[str, Any], AfterValidator(storable)] = Field(
        default_factory=dict, description="Fields of the Workload class to set"
    )


class ServerRole(_Part, frozen=True):
    count: ShardCount = Field(
        1,
        description="Shards of the center: one parameter-server process each. auto: by the model's size and the free cores; the "
        "job begins with one and, if more are worth it, once more with them",
    )
    optimizer: AnyOptimizer | None = Field(
        None, description="How the server descends along pushed directions; default: the strategy's own, mostly theta - x"
    )

    device: Literal["cpu", "cuda", "auto"] = Field(
        "cpu",
        description="Where each shard keeps and changes its slice. cuda: a GPU of its own; auto: one that workers leave over on "
        "its machine, if there is one",
    )

    @property
    def shards(self) -> int:
        """The number of them; 1 as long as `auto` has not been resolved."""
        return 1 if self.count == "auto" else self.count


class WorkerRole(_Part, frozen=True):
    count: int = Field(1, ge=1, le=1000, description="Worker processes")
    device: Literal["auto", "cpu", "cuda"] = Field("auto", description="auto: a GPU if the node has a free one")
    threads: int = Field(1, ge=1, le=256, description="CPU threads of each worker")


class Roles(_Part, frozen=True):
    server: ServerRole = ServerRole()
    worker: WorkerRole = WorkerRole()


class Target(_Part, frozen=True):
    metric: str = Field("eval/accuracy", pattern=r"^eval/\w+$", description="An evaluation metric")
    at_least: float | None = None
    at_most: float | None = None

    @model_validator(mode="after")
    def _one_side(self) -> Self:
        if (self.at_least is None) == (self.at_most is None):
            raise ValueError("give exactly one of 'at_least' and 'at_most'")
        return self

    def reached(self, value: float) -> bool:
        return value >= self.at_least if self.at_least is not None else value <= (self.at_most or 0.0)


class Stop(_Part, frozen=True):
    """When training ends: at the first of these that is reached."""

    epochs: float | None = Field(None, gt=0, description="Passes over the training split, all workers together")
    steps: int | None = Field(None, ge=1, description="Mini-batches per worker")
    target: Target | None = Field(None, description="End when the center reaches this on the evaluation split")

    @model_validator(mode="after")
    def _bounded(self) -> Self:
        if self.epochs is None and self.steps is None:
            raise ValueError("give 'epochs' or 'steps', so that the job ends even if a target is never reached")
        return self


class Data(_Part, frozen=True):
    """How mini-batches are fetched. Which ones, and what is in them, does not depend on it."""

    prefetch: int | None = Field(
        None, ge=0, le=64,
        description="Mini-batches fetched while the model computes; default: 2, on a GPU or when fetching is found to be slow",
    )  # fmt: skip
    processes: int | None = Field(
        None, ge=0, le=64,
        description="Processes of each worker that fetch; default: a thread for sources of gradstream.data, one for others",
    )  # fmt: skip
    length: int | None = Field(None, ge=1, description="Examples in one pass of an iterable data set; default: its len()")

    @model_validator(mode="after")
    def _fetches(self) -> Self:
        if self.prefetch == 0 and self.processes:
            raise ValueError("data.processes: with 'prefetch: 0' nothing is fetched ahead; remove one of them")
        return self


class Snapshot(_Part, frozen=True):
    every: Seconds = Field(30.0, ge=0.5, description="Time between cuts, from which a lost job resumes")


class Evaluate(_Part, frozen=True):
    every: Seconds = Field(2.0, ge=0.05, description="Time between evaluations of the center; training does not wait")
    batch_size: int = Field(1024, ge=1, description="Examples per evaluation batch")
    average: Average | None = Field(
        None,
        description="Evaluate, and give out as the model, an average of the center over its versions (Polyak): the share that each "
        "version takes, e.g. 0.001, or 'uniform'",
    )


class Retention(_Part, frozen=True):
    """What is given up some time after the job's end, and when."""

    metrics: Seconds | None = Field(
        None,
        gt=0,
        description="Stored metrics, and with them the charts, but not the file metrics.parquet; default: as long as the job",
    )


_RESERVED_ENV = re.compile(r"^(GRADSTREAM_|LD_|DYLD_|PYTHON)|^(PATH|HOME|USER|SHELL|CUDA_VISIBLE_DEVICES)$")


class JobSpec(_Part, frozen=True):
    """A training job."""

    version: Literal[1] = Field(1, description="Version of this format")
    name: str = Field(
        min_length=1, max_length=63, pattern=r"^[a-z0-9]([a-z0-9._-]*[a-z0-9])?$",
        description="Short name: lower-case letters, digits, '.', '_' and '-'",
    )  # fmt: skip
    workload: WorkloadRef
    strategy: AnyStrategy
    gate: Gate | None = Field(None, description="bsp, asp, {ssp: 3}, ...; default: the strategy's own")
    roles: Roles = Roles()
    batch_size: int = Field(32, ge=1, description="Examples per mini-batch of each worker")
    stop: Stop
    seed: int = Field(1, ge=0, lt=2**31, description="Model, order of the data and everything else that is drawn")
    pipeline: Literal[0, 1] = Field(
        0, description="1: a worker computes its next gradient while its last push is applied, which makes that gradient one staler"
    )
    accumulate: int = Field(
        1, ge=1, description="Parts in which each mini-batch is computed, to save memory; their gradients add up to one"
    )
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
        default_factory=dict, description="Environment of the workers and the evaluator"
    )
    priority: int = Field(50, ge=0, le=100, description="Higher starts first")
    retention: Retention = Retention()

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        """Combinations that cannot work, or that would silently ignore an option."""
        name, gate, workers = self.strategy.name, self.effective_gate, self.roles.worker.count
        if gate.mode not in self.strategy.gates:
            raise ValueError(f"gate: the strategy '{name}' works under {', '.join(sorted(self.strategy.gates))}, not '{gate.mode}'")
        if gate.quorum is not None and gate.quorum > workers:
            raise ValueError(f"gate.quorum: {gate.quorum} of {workers} workers cannot be had; lower it or raise roles.worker.count")
        if self.strategy.workers not in (None, workers):
            raise ValueError(f"roles.worker.count: the strategy '{name}' runs with {self.strategy.workers}, not {workers}")
        if self.strategy.pushes == "parameters" and not self.codec.dense:
            raise ValueError(f"codec: '{name}' pushes parameters, and '{self.codec.name}' leaves most out; take bf16, fp16 or int8")
        if self.accumulate > self.batch_size:
            raise ValueError(f"accumulate: a batch_size of {self.batch_size} has no {self.accumulate} parts; lower it")
        if self.roles.server.device == "cuda" and self.roles.server.count == "auto":
            raise ValueError("roles.server.count: auto goes by cores; with roles.server.device: cuda, say how many GPUs to take")
        self._optimizers_fit()
        self._pipeline_fits()
        for key in self.env:
            if _RESERVED_ENV.search(key) or not re.fullmatch(r"[A-Za-z_]\w*", key):
                raise ValueError(f"env.{key}: this name is reserved or not a variable's name")
        return self

    def _pipeline_fits(self) -> None:
        name, gate = self.strategy.name, self.effective_gate
        if not self.pipeline:
            return
        if not self.strategy.pulls_every_round:
            raise ValueError(f"pipeline: '{name}' pulls when it wants to, so its next round cannot begin early; remove it")
        if not gate.never_holds:
            raise ValueError(f"pipeline: under the gate '{gate.mode}' a worker waits for others; take asp without warm_start")
        if gate.max_staleness is not None and gate.max_staleness <= self.pipeline:
            raise ValueError("gate.max_staleness: with pipeline 1 every push is at least 1 behind, so 1 drops all; take 2 or more")

    def _optimizers_fit(self) -> None:
        name, by_server = self.strategy.name, self.strategy.descends == "server"
        if by_server and self.roles.server.optimizer is not None:
            raise ValueError(f"roles.server.optimizer: '{name}' pushes gradients, so 'optimizer' is the server's; remove one")
        if "server" not in self.strategy.optimizers and self.roles.server.optimizer is not None:
            raise ValueError(f"roles.server.optimizer: with '{name}' the server follows the strategy's own rule; remove it")
        if not self.strategy.optimizers and self.optimizer != Sgd():
            raise ValueError(f"optimizer: '{name}' makes its steps by itself, with the strategy's lr; remove it")
        if self.optimizer.lr is not None and not self.strategy.uses_lr_beside_optimizer and self._lr_is_set:
            raise ValueError("optimizer.lr: it would be used instead of strategy.lr; give one of them")
        for place, optimizer, on_server in (
            ("optimizer", self.optimizer, by_server), ("roles.server.optimizer", self.roles.server.optimizer, True),
        ):  # fmt: skip
            if isinstance(optimizer, Sgd):
                self._sgd_fits(place, optimizer, on_server)
            if optimizer and optimizer.clip_norm is not None and self.members > 1:
                raise ValueError(f"{place}.clip_norm: a norm is taken of all members together, which would couple them; remove it")
            if optimizer and optimizer.clip_norm is not None and on_server and self.roles.server.count != 1:
                raise ValueError(f"{place}.clip_norm: a norm is taken of the whole mean, so it needs roles.server.count: 1")

    def _sgd_fits(self, place: str, sgd: Sgd, on_server: bool) -> None:
        if sgd.nesterov and not sgd.momentum:
            raise ValueError(f"{place}.nesterov: needs a momentum above 0")
        if not sgd.momentum_correction:
            return
        if not on_server or self.effective_gate.mode != "asp":
            raise ValueError(f"{place}.momentum_correction: only a server under the gate asp gains momentum by itself; remove it")
        if sgd.nesterov:
            raise ValueError(f"{place}.momentum_correction: it may turn the momentum negative, which nesterov cannot have")

    @property
    def _lr_is_set(self) -> bool:
        return bool(self.strategy.lr != type(self.strategy).model_fields["lr"].default)

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
