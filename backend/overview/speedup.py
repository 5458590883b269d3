"""How much faster than one worker a job is, where that can be known from measurements. Pure.

The speed of one worker alone is measured while it computes and fetches data. That holds only if it has a processor core, or a GPU,
of its own meanwhile: where workers share cores, each computes more slowly than one alone would, and the speed-up comes out too
large. Then there is none, and a sentence says why (docs/adr/0042-a-speed-up-is-measured-or-not-shown.md).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median

from backend.overview.schemas import Speed
from gradstream.progress.process_summary import ProcessSummary

ENOUGH = 0.9
"""Share of its computing time that a worker runs on a core, from which on it has that core for itself."""
_HOW = "The command gradstream run JOB --local measures one process alone."


@dataclass(frozen=True, slots=True)
class Seat:
    """Where a worker runs."""

    node: str
    gpu: bool
    threads: int


def speed(
    found: Mapping[int, ProcessSummary], seats: Mapping[int, Seat], samples_per_second: float | None, examples: float, workers: int
) -> Speed | None:
    """`found`: the workers by rank. `examples`: of a mini-batch, on average."""
    alone = {rank: examples * one.steps / busy for rank, one in found.items() if one.steps and (busy := _busy(one))}
    if workers < 2 or not alone or not samples_per_second:
        return None
    why = _shared(found, seats) or _unknown(alone, found, seats, workers)
    one_alone = None if why else median(alone.values())
    return Speed(
        samples_per_second=samples_per_second,
        one_alone=one_alone,
        factor=samples_per_second / one_alone if one_alone else None,
        workers=workers,
        message=why,
    )


def _busy(one: ProcessSummary) -> float:
    """Seconds that a worker alone would need, too."""
    return one.sums.get("compute", 0.0) + one.sums.get("data", 0.0)


def _shared(found: Mapping[int, ProcessSummary], seats: Mapping[int, Seat]) -> str | None:
    """Why one alone would be faster than each of them is now. None: nothing says so."""
    nodes: dict[str, list[int]] = defaultdict(list)
    for rank, seat in seats.items():
        if not seat.gpu and rank in found:
            nodes[seat.node].append(rank)
    for node, ranks in sorted(nodes.items()):
        cores = max((found[rank].last.get("cores", 0.0) for rank in ranks), default=0.0)
        threads = sum(seats[rank].threads for rank in ranks)
        if cores and threads > cores:
            need = f"{len(ranks)} workers" if threads == len(ranks) else f"{len(ranks)} workers with {threads} threads"
            return (
                f"Not measured: {need} share {cores:.0f} physical {'core' if cores == 1 else 'cores'} of {node}, "
                f"so each computes more slowly than one alone would. {_HOW}"
            )
    return None


def _unknown(
    alone: Mapping[int, float], found: Mapping[int, ProcessSummary], seats: Mapping[int, Seat], workers: int
) -> str | None:
    if len(alone) < workers:
        return f"Not measured: only {len(alone)} of {workers} workers have pushed twice. {_HOW}"
    on_core = {rank: found[rank].last.get("on_core") for rank in alone if rank in seats and not seats[rank].gpu}
    shares = [share for share in on_core.values() if share is not None]
    if len(shares) < len(on_core):
        return f"Not measured: the job was too short to see whether its workers shared processor cores. {_HOW}"
    if shares and median(shares) < ENOUGH:
        return (
            f"Not measured: the workers ran on a processor core for only {100 * median(shares):.0f} % of their computing "
            f"time. They share cores with other processes, or wait inside of loss(). {_HOW}"
        )
    return None
