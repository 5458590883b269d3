"""Limits of jobs without servers whose workers combine pushes by an allreduce of gloo or NCCL, perhaps across machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from gradstream.spec.job import JobSpec


def gloo_obstacle(spec: JobSpec, name: Literal["gloo", "nccl"] = "gloo") -> str | None:
    """Return what keeps the workers from combining pushes by gloo, and how to lift it; None: nothing. The gate is bsp without
    quorum. `name`: of the collective that has the same limits."""
    if not spec.strategy.applies_mean:
        strategy = spec.strategy.name
        return f"{name} brings each worker the mean of the pushes only, and '{strategy}' needs each of them; take another strategy"
    if spec.codec.lossy or spec.pull_codec.lossy:
        return f"{name} adds whole vectors, so a codec would round them and save no traffic; remove codec and pull_codec"
    if spec.network == "platform":
        return f"{name} connects the workers, which network: platform keeps apart; set network: internet"
    return None


def nccl_obstacle(spec: JobSpec) -> str | None:
    """Return what keeps workers from combining pushes by NCCL that each have a GPU, likewise."""
    worker = spec.roles.worker
    if worker.gpu_share > 1:
        return "nccl refuses two processes on one GPU; set roles.worker.gpu: 1"
    if worker.group.peers > 1:
        return "nccl has theta on the GPU of one process, and a group shares it in the host's memory; remove the group"
    if spec.effective_on_worker_loss == "continue":
        return "nccl does not survive a lost worker; set on_worker_loss: restart"
    return gloo_obstacle(spec, "nccl")
