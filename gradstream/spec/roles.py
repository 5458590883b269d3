"""The processes of a job: servers and workers, and what they run on."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from gradstream.optim.spec import AnyOptimizer
from gradstream.spec.part import SpecPart
from gradstream.spec.values import ShardCount


class ServerRole(SpecPart, frozen=True):
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


class WorkerRole(SpecPart, frozen=True):
    count: int = Field(1, ge=1, le=1000, description="Worker processes")
    device: Literal["auto", "cpu", "cuda"] = Field("auto", description="auto: a GPU if the node has a free one")
    threads: int = Field(1, ge=1, le=256, description="CPU threads of each worker")


class Roles(SpecPart, frozen=True):
    server: ServerRole = ServerRole()
    worker: WorkerRole = WorkerRole()
