"""The GPUs that `gradstream train` hands out on this machine. Pure."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

from gradstream.errors import InvalidJob
from gradstream.process.order import Role, label
from gradstream.spec import JobSpec
from gradstream.spec.values import GPU_TICKS


class _Wanted(NamedTuple):
    """Processes of one role, each of which takes `processes` times 1/`share` of a GPU."""

    role: Role
    ranks: int
    processes: int
    share: int


def assign(spec: JobSpec, count: int, obstacle: str = "") -> dict[str, list[int]]:
    """Return the GPUs, numbered from 0, of each process that computes on some, by its label: one for each process of a group.

    With `auto`, all workers have GPUs or none has, and all shards or none; workers come first. A shard lies beside the first
    workers if all fit so. `count`: the GPUs that there are. `obstacle`: see `UsableGpus`. Raises: InvalidJob: there are too few."""
    for workers, shards in _choices(spec):
        if (found := _fill(spec, count, workers=workers, shards=shards)) is not None:
            return found
    raise InvalidJob(_lack(spec, count, obstacle))


def note_on(spec: JobSpec, count: int) -> str | None:
    """Return a sentence for workers with `auto` that compute on CPUs although there are GPUs; None: there are none like that."""
    worker = spec.roles.worker
    if not count or worker.effective_device != "auto" or "worker-0" in assign(spec, count):
        return None
    needed = _needed(spec, [(True, spec.roles.server.device == "cuda")], count)
    return (
        f"roles.worker.device: auto. {_take(spec, workers=True)} {_gpus(needed)}, and this machine has {count}, so all workers "
        "compute on CPUs. To use GPUs, set a smaller share (roles.worker.gpu) or fewer workers (roles.worker.count)."
    )


def _choices(spec: JobSpec) -> list[tuple[bool, bool]]:
    """Return whether workers and shards may be on GPUs, the best choice first."""
    worker, server = spec.roles.worker.effective_device, spec.roles.server.device
    return [
        (workers, shards)
        for workers, shards in ((True, True), (True, False), (False, True), (False, False))
        if worker != ("cpu" if workers else "cuda")
        and server != ("cpu" if shards else "cuda")
        and not (worker == server == "auto" and shards and not workers)
    ]


def _fill(spec: JobSpec, count: int, *, workers: bool, shards: bool) -> dict[str, list[int]] | None:
    """Return the GPUs of all these processes; None: there are too few."""
    role = spec.roles.worker
    of_workers = _Wanted("worker", role.count if workers else 0, role.gpu_processes, role.gpu_share)
    of_shards = _Wanted("server", spec.roles.server.shards if shards else 0, 1, spec.roles.shard_gpu_share)
    both = [of_shards, of_workers]
    found = _fill_in_order(both, count)
    return _fill_in_order(sorted(both, key=lambda each: each.share), count) if found is None else found


def _fill_in_order(wanted: Sequence[_Wanted], count: int) -> dict[str, list[int]] | None:
    free, found = [GPU_TICKS] * count, dict[str, list[int]]()
    for each in wanted:
        ticks = GPU_TICKS // each.share
        for rank in range(each.ranks):
            own = found[label(each.role, rank)] = []
            for _ in range(each.processes):
                gpu = next((gpu for gpu, left in enumerate(free) if left >= ticks), None)
                if gpu is None:
                    return None
                free[gpu] -= ticks
                own.append(gpu)
    return found


def _lack(spec: JobSpec, count: int, obstacle: str) -> str:
    """Return the sentence for a job that must have more GPUs."""
    worker, server = spec.roles.worker.device, spec.roles.server.device
    of_workers = worker == "cuda" and _fill(spec, count, workers=True, shards=False) is None
    needed = _gpus(_needed(spec, _choices(spec), count))
    has = f"{count} that torch can use" if count else f"none that torch can use{f' ({obstacle})' if obstacle else ''}"
    if of_workers:
        remedy = (
            "set a smaller share (roles.worker.gpu), fewer workers (roles.worker.count), or auto" if count else "set auto or cpu"
        )
    else:
        remedy = "set smaller shares (roles.worker.gpu, roles.server.gpu), or auto" if count else "set auto or cpu"
    take = _take(spec, workers=worker == "cuda", shards=server == "cuda")
    return f"roles.{'worker' if of_workers else 'server'}.device: {take} {needed}, and this machine has {has}; {remedy}"


def _needed(spec: JobSpec, choices: Sequence[tuple[bool, bool]], more_than: int) -> int:
    """Return how many GPUs would do."""
    numbers = itertools.count(more_than + 1)
    return next(
        n for n in numbers if any(_fill(spec, n, workers=workers, shards=shards) is not None for workers, shards in choices)
    )


def _take(spec: JobSpec, *, workers: bool, shards: bool = False) -> str:
    """`2 workers and 1 shard take`"""
    counts = [(spec.roles.worker.count, "worker")] * workers + [(spec.roles.server.shards, "shard")] * shards
    named = " and ".join(f"{count} {thing}{'s' * (count != 1)}" for count, thing in counts)
    return f"{named} take{'s' * (sum(count for count, _ in counts) == 1)}"


def _gpus(count: int) -> str:
    return f"{count} GPU{'s' * (count != 1)}"
