"""The diagnosis of a job's stragglers, from measurements to sentences. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from statistics import median

from backend.metrics.charts.timings import CellSums
from backend.stragglers import causes, wording
from backend.stragglers.causes import CoreShares, WorkerMachine
from backend.stragglers.cells import WorkerCells
from backend.stragglers.gains import Gains, gains
from backend.stragglers.periods import SlowPeriod, means_of_others, slow_periods
from backend.stragglers.recorded import RecordedTraining
from backend.stragglers.remedies import crowded
from gradstream.api.stragglers import SlowWorker, StragglerRemedy, Stragglers
from gradstream.spec import JobSpec

_MOST_SHOWN = 50
_LITTLE = 0.02
"""Share of the training below which a cost is little."""


@dataclass(frozen=True)
class Measured:
    """The measurements of one attempt."""

    attempt: int
    spec: JobSpec
    workers: Mapping[int, WorkerCells]
    on_core: Mapping[int, CellSums]
    shares: Mapping[int, int]
    began: float
    """Start of training, in seconds since the epoch."""
    width: float
    """Seconds of a cell."""
    elapsed: float
    left: float | None
    ended: Mapping[int, float]
    """When workers left for good, in seconds since the epoch, by rank."""
    running: bool
    machines: Mapping[int, WorkerMachine]
    silent: Mapping[int, float]
    """Seconds without a push of workers that are long overdue."""
    examples: float | None
    """Examples per second that the model has learned from, on average; None: not known."""
    follows: bool
    """The job learns from a folder or a stream that grows."""


def nothing(attempt: int, spec: JobSpec, why: str) -> Stragglers:
    """Return a diagnosis without measurements."""
    one = "One worker trains alone, so no worker can be slower than others."
    message = one if spec.roles.worker.count < 2 else why
    return _empty(attempt, message)


def _empty(attempt: int, message: str) -> Stragglers:
    figures = dict.fromkeys(("seconds", "lost_so_far", "lost_at_end", "ideal", "examples_per_hour", "even_per_hour", "cost"))
    return Stragglers(attempt=attempt, message=message, items=[], remedies=[], **figures)


def diagnose(found: Measured) -> Stragglers:
    periods = slow_periods(found.workers)
    if not periods:
        return _empty(found.attempt, _even_sentence(found))
    ended = {rank: at - found.began for rank, at in found.ended.items()}
    recorded = RecordedTraining(
        found.spec,
        found.workers,
        found.shares,
        periods,
        found.elapsed,
        found.left,
        ended,
        found.running,
        found.examples,
        found.follows,
    )
    gained = gains(recorded)
    slow = {period.rank for period in periods}
    others = [found.machines[rank] for rank in found.workers if rank not in slow and rank in found.machines]
    items = [
        _straggler(period, found, others, from_start=recorded.is_first(period), over=not recorded.is_last(period))
        for period in periods
    ]
    items.sort(key=lambda item: (item.until is not None, item.rank, item.since))
    return Stragglers(
        attempt=found.attempt,
        message=_verdict(items, found),
        items=items[:_MOST_SHOWN],
        seconds=gained.seconds,
        lost_so_far=gained.lost_so_far,
        lost_at_end=gained.lost_at_end,
        ideal=gained.ideal,
        examples_per_hour=gained.examples_per_hour,
        even_per_hour=gained.even_per_hour,
        cost=_cost_sentence(gained, found),
        remedies=[*gained.remedies, *_crowded(items, found, others)],
    )


def _even_sentence(found: Measured) -> str:
    count = found.spec.roles.worker.count
    judged = [one for one in found.workers.values() if one.pushes.sum() >= 2]
    if len(judged) < 2:
        return "Fewer than two workers have pushed often enough to compare them."
    are, takes = (wording.verb(word, past=not found.running) for word in ("are", "takes"))
    if count == len(judged) == 2:
        return f"Both workers {are} about equally fast: neither {takes} twice as long as the other for its mini-batches."
    who = f"All {count} workers" if len(judged) == count else f"The {len(judged)} workers that have pushed often enough"
    return f"{who} {are} about equally fast: none {takes} twice as long as the others for its mini-batches."


def _straggler(period: SlowPeriod, found: Measured, others: Sequence[WorkerMachine], *, from_start: bool, over: bool) -> SlowWorker:
    one, cells, rank = found.workers[period.rank], period.inner, period.rank
    parts = causes.parts_of(one.mean(cells) or {}, means_of_others(found.workers, rank, cells))
    cause = causes.cause_of(parts, held=not found.spec.effective_gate.never_holds)
    silent = None if over else found.silent.get(rank)
    own = found.machines.get(rank)
    return SlowWorker(
        rank=rank,
        label=f"worker-{rank}",
        factor=period.factor,
        since=_moment(found, period.first),
        from_start=from_start,
        until=_moment(found, period.after) if over else None,
        cause="other" if silent is not None else cause,
        parts=parts,
        why=causes.explain(cause, parts, own, others, _core_shares(period, found), silent, past=over or not found.running),
        node=own.node if own else None,
    )


def _moment(found: Measured, cell: int) -> datetime:
    return datetime.fromtimestamp(found.began + cell * found.width, UTC)


def _core_shares(period: SlowPeriod, found: Measured) -> CoreShares:
    means = {rank: mean for rank in found.on_core if (mean := _mean(found.on_core[rank], period)) is not None}
    others = [mean for rank, mean in means.items() if rank != period.rank]
    return CoreShares(means.get(period.rank), median(others) if others else None)


def _mean(sums: CellSums, period: SlowPeriod) -> float | None:
    """Over the period, or over all where it has no point there."""
    for cells in (period.inner, slice(None)):
        if count := float(sums.count[cells].sum()):
            return float(sums.total[cells].sum()) / count
    return None


def _verdict(items: list[SlowWorker], found: Measured) -> str:
    now = [item for item in items if item.until is None]
    told, still = now or items, bool(now) and found.running
    ranks = sorted({item.rank for item in told})
    if len(ranks) > 1:
        verb = "are" if still else "were"
        over = " No worker is slow now." if found.running and not now else ""
        return (
            f"{wording.workers(ranks)} {verb} slower than the other workers, by up to {_times(max(i.factor for i in told))}.{over}"
        )
    item = told[0]
    begin = "its start" if item.from_start else wording.duration(_after(item.since, found))
    verb, slower = (
        "is" if still else "was",
        f"{_times(item.factor)} slower than the other worker{'s' * (found.spec.roles.worker.count > 2)}",
    )
    if still:
        return f"{item.label} {verb} {slower}, {'from its start' if item.from_start else f'since {begin} after the start'}."
    if item.until is None:
        return f"{item.label} {verb} {slower}, from {begin} to its end."
    over = " It is not slow now." if found.running else ""
    return f"{item.label} {verb} {slower}, from {begin} to {wording.duration(_after(item.until, found))} of training.{over}"


def _times(factor: float) -> str:
    return f"{factor:.{0 if factor >= 3 else 1}f} times"


def _after(moment: datetime, found: Measured) -> float:
    return moment.timestamp() - found.began


def _cost_sentence(gained: Gains, found: Measured) -> str:
    so_far = gained.lost_so_far
    if gained.unpredicted:
        return _unpredicted_sentence(gained.unpredicted, so_far, found)
    assert so_far is not None, "a prediction knows what is lost"
    if gained.examples_per_hour is not None:
        return _hourly_sentence(gained.examples_per_hour, gained.even_per_hour or 0.0, so_far, found)
    seconds, at_end = gained.seconds or 0.0, gained.lost_at_end or 0.0
    if at_end < _LITTLE * seconds:
        return f"It {'costs' if found.running else 'cost'} the job little: less than 2 % of its {wording.duration(seconds)}."
    even = wording.duration(seconds - at_end)
    if not found.running:
        return f"The training took {wording.duration(seconds)}. With workers equally fast it would have taken about {even}."
    how = f"The training takes about {wording.duration(seconds)}; with workers equally fast it would take about {even}."
    return f"{how} {_so_far(so_far, found)}"


def _unpredicted_sentence(why: str, so_far: float | None, found: Measured) -> str:
    if so_far is None:
        return f"The cost is not predicted: {why}."
    if not found.running:
        known = f"It has cost about {wording.duration(so_far)}. " if so_far >= 1 else ""
        return f"{known}The cost of a whole training is not predicted: {why}."
    known = f"So far it has cost about {wording.duration(so_far)}. " if so_far >= 1 else ""
    return f"{known}The cost {'now' if found.spec.stop.never else 'at the end'} is not predicted: {why}."


def _hourly_sentence(rate: float, even: float, so_far: float, found: Measured) -> str:
    """The cost of slow workers in a job without an end."""
    since = "So far" if found.running else "In all"
    lost = f" {since} that has cost about {wording.duration(so_far)} of training." if so_far >= 1 else ""
    if even - rate < _LITTLE * even:
        costs = "It costs the job little now" if found.running else "At its end it cost the job little"
        return f"{costs}: less than 2 % of its {wording.count(even)} examples an hour.{lost}"
    if not found.running:
        ended = f"At its end the job trained about {wording.count(rate)} examples an hour; with workers equally fast it would have"
        return f"{ended} trained about {wording.count(even)}."
    trains = f"The job trains about {wording.count(rate)} examples an hour; with workers equally fast it would train about"
    return f"{trains} {wording.count(even)}.{lost}"


def _so_far(seconds: float, found: Measured) -> str:
    if seconds >= 1:
        return f"So far that has cost about {wording.duration(seconds)}."
    shares = found.spec.effective_gate.mode != "bsp" and found.spec.data.deal == "shares"
    return "So far it has cost nothing, as the others still train." if shares else "So far it has cost less than a second."


def _crowded(items: list[SlowWorker], found: Measured, others: Sequence[WorkerMachine]) -> list[StragglerRemedy]:
    """Machines on which all workers compute slowly and share cores."""
    slow = [found.machines[item.rank] for item in items if item.cause == "compute" and item.rank in found.machines]
    return crowded({(each.node, each.workers, each.threads, each.cores) for each in slow if causes.is_crowded(each, others)})
