"""The order to start a process, with everything that the process receives. It travels in answers to the agent and
through the zygote's pipe, never in an argument list or an environment, because it holds the process's own secrets."""

from __future__ import annotations

from typing import Literal
from uuid import UUID

from pydantic import BaseModel

from gradstream.bundle.commit.origin import CodeOrigin
from gradstream.spec import JobSpec

Role = Literal["server", "worker", "peers", "evaluator"]

ENTRYPOINTS: dict[Role, str] = {
    "server": "ps_node.__main__:main",
    "worker": "worker_node.__main__:main",
    "peers": "worker_node.group.peers:main",
    "evaluator": "worker_node.evaluator:main",
}
"""Where each role begins: `main(order, folder) -> exit code`. By name, since programs may not import one another."""


def plane_id(job_id: UUID, attempt: int) -> str:
    """J in `gradstream.wire.redis.keys`: a job and its attempt."""
    return f"{job_id.hex}.{attempt}"


def label(role: str, rank: int) -> str:
    """`worker-0`, `server-1`, `evaluator`: how people and metrics call a process."""
    return role if role == "evaluator" else f"{role}-{rank}"


def label_of(source: str) -> str:
    """The label of a process, from the name of one of its incarnations: `worker-0` of `worker-0.1`."""
    return source.rpartition(".")[0] or source


class PlaneAccess(BaseModel, frozen=True):
    """How to reach the data plane of one attempt, with the rights of that attempt only."""

    url: str
    """redis://host:port or unix:///path, without user and password."""
    user: str | None = None
    password: str | None = None


class StoreAccess(BaseModel, frozen=True):
    """Where a process puts its files and finds those of the checkpoint that it resumes from."""

    url: str
    """`file:///folder` (one machine, no control plane) or the API's base URL."""
    token: str | None = None
    """The process's own token; good for its bundle, checkpoints and artifacts, nothing else."""

    @property
    def is_folder(self) -> bool:
        """There is no control plane, and no other job that reads these files."""
        return self.url.startswith("file:")


class Resume(BaseModel, frozen=True):
    attempt: int
    checkpoint: int


class SharedMemory(BaseModel, frozen=True):
    """Told by the node's agent, which knows what runs there."""

    folder: str
    """Where workers make their files."""
    servers: list[int]
    """Shards on this node."""


class MpsShare(BaseModel, frozen=True):
    """Told by the node's agent, where it runs MPS: see `gradstream.process.gpus.mps`."""

    pipes: str
    """The folder of the daemon's sockets."""
    memory: list[int]
    """Bytes that each process may have on each of its `visible_gpus`."""


class ProcessOrder(BaseModel, frozen=True):
    id: UUID
    job_id: UUID
    attempt: int
    """Attempts of a job count from 1; one is one run of the whole job."""
    role: Role
    rank: int
    """Worker or shard number from 0; the evaluator's is -1. Peers: see `Roles.worker_of`."""
    incarnation: int = 0
    """Counts the respawns of this rank within the attempt."""
    spec: JobSpec
    bundle: str | None = None
    """sha256 of the bundle of user code; None for servers, which run none."""
    plane: PlaneAccess
    store: StoreAccess
    origin: CodeOrigin | None = None
    """The commit of the user's code, for the record that the job keeps."""
    resume: Resume | None = None
    shared: SharedMemory | None = None
    """None: all vectors go through Redis."""
    gpus: list[int] = []
    """Indices of GPUs on this machine: one for each process of the worker here, in the order of its peers; a worker without a
    group, and a shard, have one entry. Empty: it computes on the CPU. An index may repeat: its processes share it."""
    gpu_share: int = 1
    """k: each of its processes may take 1/k of the memory of its GPU."""

    mps: MpsShare | None = None
    """None: its kernels take turns with those of other processes."""

    @property
    def visible_gpus(self) -> list[int]:
        """The distinct GPUs, in the order of their first process. Process i computes on number `visible_gpus.index(gpus[i])`."""
        return list(dict.fromkeys(self.gpus))

    @property
    def plane_id(self) -> str:
        return plane_id(self.job_id, self.attempt)

    @property
    def label(self) -> str:
        return label(self.role, self.rank)

    @property
    def worker(self) -> int:
        """Rank of the worker that this process is, or to whose group it belongs; its own rank if it is neither."""
        found = self.spec.roles.worker_of(self.role, self.rank)
        return self.rank if found is None else found

    @property
    def machine(self) -> int:
        """Number of its machine among those of its worker; 0: that of the group's lead."""
        return self.spec.roles.machine_of(self.role, self.rank)

    @property
    def full_label(self) -> str:
        """`worker-0.1`: the label with the incarnation."""
        return f"{self.label}.{self.incarnation}"
