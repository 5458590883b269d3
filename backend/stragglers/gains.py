"""The cost of stragglers, and the gain of what would help, by a replay of the recorded times. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from backend.metrics.store.points import Array
from backend.stragglers.forecasts import DurationForecast, RateForecast
from backend.stragglers.recorded import RecordedTraining
from backend.stragglers.remedies import Remedies
from backend.stragglers.replay import Paces, Training, learned, own_paces, round_pace
from gradstream.api.stragglers import StragglerRemedy
from gradstream.gate import Gate


@dataclass(frozen=True)
class Gains:
    """Durations of the whole training in seconds, and examples per hour if it has no end. None: not known, or not predicted."""

    seconds: float | None = None
    lost_so_far: float | None = None
    lost_at_end: float | None = None
    ideal: float | None = None
    examples_per_hour: float | None = None
    even_per_hour: float | None = None
    """The same with workers equally fast."""
    unpredicted: str | None = None
    """Why the cost is not predicted."""
    remedies: list[StragglerRemedy] = field(default_factory=list)


def gains(found: RecordedTraining) -> Gains:
    gate, endless = found.spec.effective_gate, found.spec.stop.never
    known = found.left is not None and not (endless and found.running)
    nothing = Gains(seconds=found.elapsed + (found.left or 0.0) if known else None)
    window = next(iter(found.workers.values())).steps
    training = Training(gate, found.spec.data.deal, found.shares, window)
    if why := training.unknown or _unknown_shares(found):
        return replace(nothing, unpredicted=why)
    paces = own_paces(found.workers, held=not gate.never_holds)
    even = _evened(paces, found)
    measured = replace(nothing, lost_so_far=_lost_so_far(found, paces, even))
    return _of_rate(measured, found, paces, even) if endless else _of_duration(measured, found, training, paces, even)


def _unknown_shares(found: RecordedTraining) -> str | None:
    if found.spec.stop.never:
        return None
    if not found.shares:
        return "the number of its mini-batches is not known"
    return None if found.shares.keys() == found.workers.keys() else "not every worker has pushed yet"


def _of_duration(measured: Gains, found: RecordedTraining, training: Training, paces: Paces, even: Paces) -> Gains:
    forecast = DurationForecast.of(found, training, paces)
    if forecast is None:
        return replace(measured, unpredicted=_no_duration(measured, found))
    shared = Training(Gate(mode="asp"), "demand", found.shares, training.window)
    without, ideal = forecast.at(even), shared.seconds(paces)
    return replace(
        measured,
        lost_at_end=max(0.0, forecast.seconds - without.seconds) if without and without.seconds is not None else None,
        ideal=None if ideal is None else forecast.scale * ideal,
        remedies=Remedies(found, forecast, paces).listed(),
    )


def _no_duration(measured: Gains, found: RecordedTraining) -> str:
    if not found.running:
        return "the job ended before all was trained"
    return "the time left is not known" if measured.seconds is None else "the recorded times do not reproduce the job's duration"


def _of_rate(measured: Gains, found: RecordedTraining, paces: Paces, even: Paces) -> Gains:
    forecast = RateForecast.of(found, paces)
    if forecast is None:
        return replace(measured, unpredicted=_no_rate(found))
    without = forecast.at(even)
    return replace(
        measured,
        examples_per_hour=forecast.examples_per_hour,
        even_per_hour=without.examples_per_hour if without else None,
        remedies=Remedies(found, forecast, paces).listed(),
    )


def _no_rate(found: RecordedTraining) -> str:
    if not found.examples:
        return "the model has not learned from enough pushes" + " yet" * found.running
    if found.follows and not found.running:
        return "the workers also waited for examples that had not come yet, so faster ones might have trained no more"
    if found.follows:
        return "the workers also wait for examples that have not come yet, so faster ones might train no more"
    return "the recorded times do not reproduce the job's examples an hour"


def _evened(paces: Paces, found: RecordedTraining) -> Paces:
    """Return the paces if no worker were slow: in its slow times it has the median pace of those that are not slow then."""
    slow, periods = np.zeros(paces.cells.shape, bool), found.periods
    for period in periods:
        first = 0 if found.is_first(period) else period.first
        slow[paces.ranks.index(period.rank), first : period.after] = True
    now = slow[:, -1].copy()
    cells, after = paces.cells.copy(), paces.after.copy()
    for cell in range(cells.shape[1]):
        cells[slow[:, cell], cell] = _typical(cells[:, cell], slow[:, cell])
    ended_slow = np.array([any(p.rank == rank and p.after >= cells.shape[1] - 1 for p in periods) for rank in paces.ranks])
    after[now | ended_slow] = _typical(after, now | ended_slow)
    return Paces(paces.ranks, np.maximum(cells, paces.cells), np.maximum(after, paces.after), paces.width)


def _typical(paces: Array, slow: Array) -> float:
    return float(np.median(paces[~slow])) if not slow.all() else float(paces.max())


def _lost_so_far(found: RecordedTraining, paces: Paces, even: Paces) -> float:
    """Return the seconds lost by slower rounds, and since the others trained their shares.

    Under fixed shares without rounds, nothing is lost before that."""
    gate, deal, endless = found.spec.effective_gate, found.spec.data.deal, found.spec.stop.never
    if endless or deal == "demand":
        return _lost_pace(learned(paces.cells, gate), learned(even.cells, gate), found.elapsed / paces.width) * paces.width
    slow = sorted({period.rank for period in found.periods})
    ends = [end for rank in found.workers if rank not in slow and (end := found.ended.get(rank)) is not None]
    others_ended = bool(ends) and len(ends) == len(found.workers) - len(slow)
    last = max(found.ended[rank] for rank in slow) if all(rank in found.ended for rank in slow) else found.elapsed
    alone = max(0.0, last - max(ends)) if others_ended else 0.0
    if gate.mode != "bsp":
        return alone
    rounds, possible = round_pace(paces.cells, gate.quorum), round_pace(even.cells, gate.quorum)
    return alone + _lost_pace(rounds, possible, (found.elapsed - alone) / paces.width) * paces.width


def _lost_pace(pace: Array, possible: Array, cells: float) -> float:
    """Return how many of the first cells are lost."""
    with np.errstate(divide="ignore", invalid="ignore"):
        lost = np.where(possible > 0, 1 - pace / possible, 0.0)[: max(1, round(cells))]
    return float(lost.sum())
