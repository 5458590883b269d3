"""The processes of a job: servers and workers, and what they run on."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from gradstream.optim.spec import AnyOptimizer
from gradstream.spec.part import SpecPart
from gradstream.spec.values import GpuPart, Seconds, ShardCount, gpu_share_of

SettledCollective = Literal["shared", "gloo", "nccl"]
Collective = Literal["auto"] | SettledCollective


class ServerRole(SpecPart, frozen=True):
    """The server processes, each of which holds a shard of the parameters."""

    count: ShardCount = Field(
        1,
        description="Server processes, with one shard of the parameters each. auto: the platform chooses by the model's size and "
        "the free cores; the job starts with one server, and restarts once if more are worth it. 0: the workers hold them; needs "
        "the gate bsp",
    )
    collective: Collective = Field(
        "auto",
        description="How workers without servers (count: 0) combine their pushes. shared: in shared memory, on one machine; gloo: "
        "by an allreduce over the network, each with the whole model; nccl: likewise, between the GPUs of workers that each have "
        "one; auto: nccl if each worker gets a GPU and the job allows it, else shared if one machine has free slots for all "
        "workers, else gloo",
    )
    optimizer: AnyOptimizer | None = Field(
        None,
        description="Optimizer of the server's step along a push; default: the strategy's own, which mostly subtracts the push",
    )

    device: Literal["cpu", "cuda", "auto"] = Field(
        "cpu",
        description="Device that holds and updates each shard. cuda: its share of a GPU, for which the job waits; auto: a share "
        "that the workers leave free on the server's machine, else the CPU",
    )
    gpu: GpuPart | None = Field(
        None,
        description="Share of a GPU that each shard takes: 1, or 1/k as for workers. A shard shares the GPU of a worker of its job "
        "first, where both fit; default: the share of each worker (roles.worker.gpu)",
    )

    @property
    def shards(self) -> int:
        """The number of them; 1 as long as `auto` has not been resolved. See `JobSpec.shards` where the job may have no servers."""
        return 1 if self.count == "auto" else self.count


class WorkerGroup(SpecPart, frozen=True):
    """The processes that are one worker together. In a job file: `group: 2`, or in full `group: {replicate: 2}`,
    `group: {fsdp: 2}`, `group: {stages: 2}` or `group: {tensor: 2}`."""

    replicate: int = Field(1, ge=1, le=64, description="Processes that compute parts of each mini-batch, at the same parameters")
    fsdp: int = Field(
        1,
        ge=1,
        le=64,
        description="Processes that compute parts of each mini-batch, with one gradient for all and a part of the optimizer's "
        "state for each (fully sharded data parallelism)",
    )
    stages: int = Field(
        1,
        ge=1,
        le=64,
        description="Processes that each compute some blocks of the model: the parts that `accumulate` makes of a mini-batch pass "
        "through all of them, several at the same time (pipeline parallelism)",
    )

    tensor: int = Field(
        1,
        ge=1,
        le=64,
        description="Processes that compute each mini-batch together: linear layers are split, and each process computes some "
        "outputs or adds up some inputs (tensor parallelism)",
    )
    collective: Literal["auto", "shared", "nccl"] = Field(
        "auto",
        description="How the replicates of a machine add up their gradients. shared: in the memory of the host, which they share; "
        "nccl: on their GPUs; auto: nccl if each process has a whole GPU and replicate is the only axis, else shared",
    )
    machines: int = Field(
        1,
        ge=1,
        le=64,
        description="Machines of each worker: `replicate` is divided among them, and fsdp, stages and tensor stay within one. The "
        "first machine sends the others their parameters and examples for each mini-batch",
    )

    @model_validator(mode="before")
    @classmethod
    def _short_form(cls, given: Any) -> Any:
        return {"replicate": given} if isinstance(given, int) and not isinstance(given, bool) else given

    @property
    def peers(self) -> int:
        """Processes of the group."""
        return self.parts * self.stages * self.tensor

    @property
    def counts(self) -> dict[str, int]:
        """The counts above 1: of processes along an axis, and of machines."""
        counts = self.model_dump(exclude={"collective"})
        return {name: count for name, count in counts.items() if count > 1}

    @property
    def parts(self) -> int:
        """Parts of a mini-batch that are computed at the same time, each by other processes."""
        return self.replicate * self.fsdp

    @property
    def on_one_machine(self) -> WorkerGroup:
        """The part of the group on each of its machines, as a group."""
        return self.model_copy(update={"replicate": self.replicate // self.machines, "machines": 1})


class WorkerRole(SpecPart, frozen=True):
    """The worker processes, which compute gradients."""

    count: int = Field(1, ge=1, le=1000, description="Worker processes")
    device: Literal["auto", "cpu", "cuda"] = Field(
        "auto",
        description="Device of each worker. auto: a GPU for each of its processes if the node has enough free ones, else the CPU",
    )
    gpu: GpuPart = Field(
        1.0,
        description="Share of a GPU that each process of a worker takes: 1, or 1/k for k of 2 to 6, 10 or 12, such as 0.5. Workers "
        "of any jobs share a GPU as far as their shares add up to 1; torch keeps each to its share of the memory",
    )
    threads: int = Field(1, ge=1, le=256, description="CPU threads of each worker")
    hogwild: int = Field(
        1,
        ge=1,
        le=64,
        description="Threads of each worker that step on the same parameters without a lock; they share the steps of a window. "
        "Each has its own model, and as many CPU threads as `threads` says. 1: one loop, whose results can be repeated",
    )
    group: WorkerGroup = Field(
        WorkerGroup(),
        description="Processes that are one worker together, each with as many CPU threads as `threads` says. 2 is short for "
        "{replicate: 2}; 1: one process",
    )

    step_timeout: Seconds | None = Field(
        None,
        ge=1,
        description="Time that user code may take for a step, after which the worker ends as hung, and on_worker_loss says what "
        "follows; the first step may also import and compile; default: unlimited",
    )

    @property
    def cores(self) -> int:
        """CPU cores that a worker keeps busy on each of its machines."""
        return self.threads * self.hogwild * self.group.on_one_machine.peers

    @property
    def gpu_share(self) -> int:
        """k, if each process takes 1/k of a GPU."""
        return gpu_share_of(self.gpu) or 1

    @property
    def gpu_processes(self) -> int:
        """Processes with a share of a GPU that a worker has on each of its machines, if it computes on GPUs."""
        return self.group.on_one_machine.peers

    @property
    def effective_device(self) -> Literal["auto", "cpu", "cuda"]:
        """The device to place it on: threads share parameters in the memory of CPUs."""
        return "cpu" if self.hogwild > 1 else self.device


class Roles(SpecPart, frozen=True):
    """The processes of the job and their resources."""

    server: ServerRole = ServerRole()
    worker: WorkerRole = WorkerRole()

    @property
    def shard_gpu_share(self) -> int:
        """k, if each shard takes 1/k of a GPU."""
        return self.worker.gpu_share if self.server.gpu is None else gpu_share_of(self.server.gpu) or 1

    @property
    def serverless(self) -> bool:
        """True if there are no servers: the workers hold the shards, see `JobSpec.shards`."""
        return self.server.count == 0

    def worker_of(self, role: str, rank: int) -> int | None:
        """Return the rank of the worker that a process is, or to whose group it belongs; None: neither. Peers on other machines are
        ranked by their worker, then by their machine."""
        if role == "peers":
            return rank // (self.worker.group.machines - 1)
        return rank if role == "worker" else None

    def machine_of(self, role: str, rank: int) -> int:
        """Return the number of a process's machine among those of its worker; 0: the first one."""
        return 1 + rank % (self.worker.group.machines - 1) if role == "peers" else 0
