"""The cost of stragglers, and the gain of what would help, by a replay of the recorded times. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from pydantic import ValidationError

from backend.metrics.store.points import Array
from backend.stragglers import wording
from backend.stragglers.cells import WorkerCells
from backend.stragglers.periods import SlowPeriod
from backend.stragglers.replay import Paces, Training, own_paces
from gradstream.api.stragglers import StragglerRemedy
from gradstream.gate import Gate
from gradstream.spec import JobSpec

_TRUE = 0.25
"""Share by which the replay of the job's own settings may miss its duration. Beyond it nothing is predicted."""
_WORTH = 0.9
"""Share of the duration that a remedy must come to at most: less is not worth a change."""
_FETCHERS = 2
_SINCE_START = 2
"""Cells from a worker's first on within which it counts as slow from its start."""


@dataclass(frozen=True)
class RecordedTraining:
    """The training of one attempt as it was recorded."""

    spec: JobSpec
    workers: Mapping[int, WorkerCells]
    shares: Mapping[int, int]
    """Mini-batches of each worker; empty: not known, or without an end."""
    periods: Sequence[SlowPeriod]
    elapsed: float
    """Seconds from the start of training until now, or its end."""
    left: float | None
    """Seconds until all is trained; 0: it is. None: not known, or it will not be."""
    ended: Mapping[int, float]
    """Seconds from the start of training until a worker left for good, by rank."""
    running: bool

    @property
    def slow_now(self) -> list[int]:
        """Workers that are slow in the last cell in which they train."""
        found = {period.rank for period in self.periods if self.is_last(period)}
        return sorted(rank for rank in found if not (self.running and rank in self.ended))

    def is_last(self, period: SlowPeriod) -> bool:
        """Return whether the worker is slow in its last cells. The very last one may hold no push."""
        return period.after >= int(np.flatnonzero(self.workers[period.rank].present)[-1])

    def is_first(self, period: SlowPeriod) -> bool:
        """Return whether the worker is slow from its first mini-batches on."""
        return period.first <= int(np.flatnonzero(self.workers[period.rank].present)[0]) + _SINCE_START


@dataclass(frozen=True)
class Gains:
    """Durations of the whole training in seconds. None: not known, or not predicted."""

    seconds: float | None
    lost_so_far: float | None
    lost_at_end: float | None
    ideal: float | None
    remedies: list[StragglerRemedy]


def gains(found: RecordedTraining) -> Gains:
    gate = found.spec.effective_gate
    seconds = None if found.left is None else found.elapsed + found.left
    window = next(iter(found.workers.values())).steps
    training = Training(gate, found.spec.data.deal, found.shares, window)
    nothing = Gains(seconds, None, None, None, [])
    if not training.is_known or found.shares.keys() != found.workers.keys():
        return nothing
    paces = own_paces(found.workers, held=not gate.never_holds)
    even = _evened(paces, found)
    so_far = _lost_so_far(found, paces, even)
    model = training.seconds(paces)
    if seconds is None or not model or abs(model - seconds) > _TRUE * seconds:
        return replace(nothing, lost_so_far=so_far)
    scale = seconds / model
    shared = Training(Gate(mode="asp"), "demand", found.shares, window)
    without, ideal = training.seconds(even), shared.seconds(paces)
    return Gains(
        seconds,
        so_far,
        None if without is None else max(0.0, seconds - scale * without),
        None if ideal is None else scale * ideal,
        _Remedies(found, training, paces, seconds, scale).listed(),
    )


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
    """Under fixed shares without rounds, nothing is lost while the others still train."""
    gate, deal = found.spec.effective_gate, found.spec.data.deal
    slow, width = sorted({period.rank for period in found.periods}), paces.width
    cells = min(paces.cells.shape[1], max(1, round(found.elapsed / width)))
    if gate.mode == "bsp":
        rate, possible = paces.cells.min(axis=0), even.cells.min(axis=0)
    elif deal == "demand":
        rate, possible = paces.cells.sum(axis=0), even.cells.sum(axis=0)
    else:
        others = [found.ended.get(rank) for rank in found.workers if rank not in slow]
        ends = [end for end in others if end is not None]
        still = [rank for rank in slow if rank not in found.ended]
        last = found.elapsed if still else max((found.ended[rank] for rank in slow), default=0.0)
        return max(0.0, last - max(ends)) if ends and len(ends) == len(others) else 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        lost = np.where(possible > 0, 1 - rate / possible, 0.0)[:cells]
    return float(lost.sum() * width)


@dataclass(frozen=True)
class _Remedies:
    found: RecordedTraining
    training: Training
    paces: Paces
    seconds: float
    """Duration of the training as it is."""
    scale: float
    """Its measured duration over that of the replay."""

    def listed(self) -> list[StragglerRemedy]:
        """Return the remedies that gain enough, the largest gain first."""
        slow = self.found.slow_now or sorted({period.rank for period in self.found.periods})
        possible = [self._deal(slow), self._stop(), self._fetchers(slow)]
        worth = [each for each in possible if each and each.seconds is not None and each.seconds <= _WORTH * self.seconds]
        return [self._with_gain(each) for each in sorted(worth, key=lambda each: each.seconds or 0.0)]

    def _with_gain(self, remedy: StragglerRemedy) -> StragglerRemedy:
        new, old = wording.duration(remedy.seconds or 0.0), wording.duration(self.seconds)
        return remedy.model_copy(update={"gain": f"Predicted: about {new} in all instead of {old}."})

    def _deal(self, slow: Sequence[int]) -> StragglerRemedy | None:
        """Mini-batches dealt on demand, with as few other changes as the job accepts."""
        spec, who = self.found.spec, wording.workers(list(slow))
        demand: dict[str, Any] = {"data": {"deal": "demand"}}
        asp = demand | {"gate": "asp"}
        stale = "Pushes are stale then, so it may learn differently."
        options = [
            (demand, "data.deal: demand", "The others train what {} leaves. It needs a map-style data set."),
            (asp, "gate: asp, data.deal: demand", "No worker waits, and the others train what {} leaves. " + stale),
            (
                asp | {"strategy": {"name": "async", "lr": spec.strategy.lr}},
                "strategy.name: async, gate: asp, data.deal: demand",
                "No worker waits, and the others train what {} leaves. " + stale,
            ),
        ]
        for change, setting, message in options:
            if (changed := accepted(spec, change)) and (seconds := self._predict(changed)) and seconds <= _WORTH * self.seconds:
                needs = "" if "map-style" in message else " It needs a map-style data set."
                return StragglerRemedy(
                    setting=setting, message=message.format(who) + needs, seconds=seconds, command=None, gain=None
                )
        return None

    def _predict(self, spec: JobSpec) -> float | None:
        return self._scaled(replace(self.training, gate=spec.effective_gate, deal=spec.data.deal).seconds(self.paces))

    def _scaled(self, seconds: float | None) -> float | None:
        return None if seconds is None else self.scale * seconds

    def _stop(self) -> StragglerRemedy | None:
        """Slow workers leave now, and the rest of their shares is left out."""
        found, slow = self.found, self.found.slow_now
        others = [rank for rank in found.workers if rank not in slow]
        if not found.running or not slow or not others or found.spec.data.deal == "demand" or found.spec.roles.serverless:
            return None
        kept = self.paces.rows(others)
        if self.training.gate.mode == "bsp":
            rounds = self.paces.slowest()
            kept = Paces(tuple(others), np.repeat(rounds.cells, len(others), axis=0), kept.after, kept.width)
        seconds = self._scaled(self.training.seconds(kept))
        if seconds is None:
            return None
        done = self.paces.done(found.elapsed / self.scale)
        left_out = sum(max(0.0, found.shares[rank] - done[self.paces.ranks.index(rank)]) for rank in slow)
        share = left_out / sum(found.shares.values())
        who, whose = wording.workers(slow), "its share" if len(slow) == 1 else "their shares"
        return StragglerRemedy(
            setting=None,
            command=f"gradstream stop JOB --process worker-{slow[0]}" if len(slow) == 1 else None,
            message=f"Stop {who} on the Workers tab. The rest of {whose} is left out: about {100 * share:.0f} % of the training's "
            "mini-batches.",
            seconds=max(seconds, found.elapsed),
            gain=None,
        )

    def _fetchers(self, slow: Sequence[int]) -> StragglerRemedy | None:
        """More processes that fetch, where a slow worker waits for its data."""
        waits = [rank for rank in slow if self._data_share(rank) > 1 - _WORTH]
        spec = self.found.spec
        changed = accepted(spec, {"data": {"processes": _FETCHERS}}) if waits and not spec.data.processes else None
        if changed is None:
            return None
        factors = {rank: max(1 - self._data_share(rank), 1 / _FETCHERS) for rank in waits}
        rows = np.array([1 / factors.get(rank, 1.0) for rank in self.paces.ranks])
        faster = Paces(self.paces.ranks, self.paces.cells * rows[:, None], self.paces.after * rows, self.paces.width)
        return StragglerRemedy(
            setting=f"data.processes: {_FETCHERS}",
            message=f"Two processes fetch the mini-batches of each worker, if its machine has cores to spare. "
            f"{wording.workers(waits)} waited for data.",
            seconds=self._scaled(self.training.seconds(faster)),
            command=None,
            gain=None,
        )

    def _data_share(self, rank: int) -> float:
        mean = self.found.workers[rank].mean(slice(None))
        return mean["data"] / mean["whole"] if mean else 0.0


def accepted(spec: JobSpec, change: Mapping[str, Any]) -> JobSpec | None:
    """Return the job file with this change. None: the platform refuses it."""
    whole = spec.model_dump(mode="json", exclude_defaults=True)
    whole["strategy"] = {**whole.get("strategy", {}), "name": spec.strategy.name}
    for key, value in change.items():
        both = isinstance(value, dict) and isinstance(whole.get(key), dict) and key != "strategy"
        whole[key] = {**whole[key], **value} if both else value
    try:
        return JobSpec.model_validate(whole)
    except ValidationError:
        return None


def crowded(nodes: Collection[tuple[str, int, int, float]]) -> list[StragglerRemedy]:
    """Name machines with more threads of this job than cores: (machine, workers, threads, cores)."""
    return [
        StragglerRemedy(
            setting=None,
            message=f"Run fewer workers on {node}, or take a machine with more cores: {threads} threads of {workers} workers share "
            f"{cores:.0f} physical core{'s' * (cores != 1)}. Its gain is not predicted.",
            seconds=None,
            command=None,
            gain=None,
        )
        for node, workers, threads, cores in sorted(nodes)
    ]
