"""The part of `gradstream advise` about groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gradstream.advise.group.shapes import GroupAdvice
    from gradstream.advise.measure import Measurement
    from gradstream.spec import JobSpec

_GIGABYTE = 1e9


def group_advice(
    spec: JobSpec, measured: Measurement, step: float, cores: int | None, gigabytes: float | None
) -> GroupAdvice | None:
    """Return None where no shapes are compared; see `obstacle_to_shapes`."""
    import psutil

    from gradstream.advise.group.shapes import WorkerCapacity, advise_group
    from gradstream.model.core_share import physical_cores

    if measured.group is None or obstacle_to_shapes(spec, measured):
        return None
    memory = psutil.virtual_memory().total if gigabytes is None else gigabytes * _GIGABYTE
    capacity = WorkerCapacity(cores or physical_cores(), memory)
    return advise_group(spec, step, measured.group, capacity, measured.parameters, measured.largest)


def obstacle_to_shapes(spec: JobSpec, measured: Measurement) -> str | None:
    """Return a sentence that says why no shapes of a worker are compared; None: they are."""
    if measured.group is None:
        reason = "the model has embedding tables, whose lookups each shape would change"
    elif spec.roles.worker.device == "cuda":
        reason = "they are measured on the CPU, and roles.worker.device is cuda"
    elif spec.roles.worker.hogwild > 1:
        reason = "hogwild threads do not go with groups"
    else:
        return None
    guessed = measured.group is None and spec.roles.worker.group.peers > 1
    return f"No shapes of a group are compared: {reason}." + (
        " The simulation counts no time for exchanges inside of this job's group." if guessed else ""
    )


def print_groups(found: GroupAdvice) -> None:
    from gradstream.cli.terminal.output import print_table, size

    print("\nOne worker as a group of processes, each with cores of its own; roles.worker.group, the fastest of each kind")
    print_table(
        ("group", ">processes", ">ms a mini-batch", ">times as fast", ">lead", ">each other", ">memory in all", "fits"),
        [
            (
                shape.described,
                str(shape.group.peers),
                f"{1000 * shape.seconds:.3g}",
                f"{shape.gain:.2f}",
                size(round(shape.lead)),
                size(round(shape.peer)) if shape.peer else "",
                size(round(shape.memory)),
                "yes" if shape.fits else "no",
            )
            for shape in found.shapes
        ],
    )
    for reason in found.reasons:
        print(f"  {reason}")
