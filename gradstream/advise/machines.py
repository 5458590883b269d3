"""Warnings about a job file that need its machines or the model's size. Pure, and without torch."""

from __future__ import annotations

from collections.abc import Iterator

from gradstream.advise.warnings import Warning
from gradstream.spec import JobSpec

_ITEM = 4
"""Bytes of a float32."""


def too_many_threads(spec: JobSpec, node: str, workers: int, cores: int) -> Iterator[Warning]:
    """Warn of more threads than the machine has cores. `workers`: those of this job on this machine."""
    threads = spec.roles.worker.cores
    if threads > 1 and workers * threads > cores:
        field, of_field = _field_of_threads(spec)
        each = max(1, cores * of_field // (workers * threads))
        parts = f"{of_field} processes" if field == "group" else f"{threads} threads"
        wanting = f"1 worker with {parts} wants" if workers == 1 else f"{workers} workers with {parts} each want"
        yield Warning(
            f"/roles/worker/{field}",
            f"{wanting} {workers * threads} cores of {node}, which has {cores}: threads that wait for a core make a step slower.",
            f"Set it to {each}.",
        )


def too_many_evaluator_processes(spec: JobSpec, node: str, workers: int, cores: int) -> Iterator[Warning]:
    """Warn of an evaluator that takes cores from the workers of its machine. `workers`: as for `too_many_threads`."""
    processes, threads = spec.evaluate.processes, workers * spec.roles.worker.cores
    if processes > 1 and processes + threads > cores:
        yield Warning(
            "/evaluate/processes",
            f"{processes} processes of the evaluator and {threads} threads of workers want {processes + threads} cores of {node}, "
            f"which has {cores}: evaluations slow the training.",
            f"Set it to {max(1, cores - threads)}.",
        )


def _field_of_threads(spec: JobSpec) -> tuple[str, int]:
    """Return the field of a worker that makes most of its threads, and its number."""
    worker = spec.roles.worker
    if worker.group.peers > 1:
        return "group", worker.group.peers
    return ("hogwild", worker.hogwild) if worker.hogwild > 1 else ("threads", worker.threads)


def codec_that_adds_bytes(spec: JobSpec, parameters: int) -> Iterator[Warning]:
    """Warn of a codec that makes a short vector longer, since it fills whole blocks."""
    raw = parameters * _ITEM
    for key, codec, ways in (("codec", spec.codec, "pushes"), ("pull_codec", spec.pull_codec, "pulls")):
        coded = codec.nbytes(parameters, _ITEM)
        if codec.name != "raw" and coded >= raw:
            yield Warning(
                f"/{key}",
                f"{parameters:,} parameters take {coded:,} bytes as {codec.name} and {raw:,} as they are: {codec.name} fills "
                f"blocks of {codec.block:,} values, so {ways} get larger by {coded / raw - 1:.0%}.",
                "Take raw.",
            )
