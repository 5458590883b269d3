"""The processes of a job: servers and workers, and what they run on."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from gradstream.optim.spec import AnyOptimizer
from gradstream.spec.part import SpecPart
from gradstream.spec.values import ShardCount


class ServerRole(SpecPart, frozen=True):
    """The server processes, each of which holds a shard of the parameters."""

    count: ShardCount = Field(
        1,
        description="Server processes, with one shard of the parameters each. auto: the platform chooses by the model's size and "
        "the free cores; the job starts with one server, and restarts once if more are worth it. 0: each worker holds a shard, in "
        "shared memory on one machine; needs the gate bsp",
    )
    optimizer: AnyOptimizer | None = Field(
        None,
        description="Optimizer of the server's step along a push; default: the strategy's own, which mostly subtracts the push",
    )

    device: Literal["cpu", "cuda", "auto"] = Field(
        "cpu",
        description="Device that holds and updates each shard. cuda: a GPU of its own; auto: a GPU that the workers leave free on "
        "the server's machine, else the CPU",
    )

    @property
    def shards(self) -> int:
        """The number of them; 1 as long as `auto` has not been resolved. See `Roles.shards` where the job may have no servers."""
        return 1 if self.count == "auto" else self.count


class WorkerRole(SpecPart, frozen=True):
    """The worker processes, which compute gradients."""

    count: int = Field(1, ge=1, le=1000, description="Worker processes")
    device: Literal["auto", "cpu", "cuda"] = Field(
        "auto", description="Device of each worker. auto: a GPU if the node has a free one, else the CPU"
    )
    threads: int = Field(1, ge=1, le=256, description="CPU threads of each worker")
    hogwild: int = Field(
        1,
        ge=1,
        le=64,
        description="Threads of each worker that step on the same parameters without a lock; they share the steps of a window. "
        "Each has its own model, and as many CPU threads as `threads` says. 1: one loop, whose results can be repeated",
    )

    @property
    def cores(self) -> int:
        """CPU cores that a worker keeps busy."""
        return self.threads * self.hogwild


class Roles(SpecPart, frozen=True):
    """The processes of the job and their resources."""

    server: ServerRole = ServerRole()
    worker: WorkerRole = WorkerRole()

    @property
    def serverless(self) -> bool:
        """True if there are no servers: worker k holds shard k."""
        return self.server.count == 0

    @property
    def shards(self) -> int:
        """Shards of the center, whichever processes hold them."""
        return self.worker.count if self.serverless else self.server.shards
