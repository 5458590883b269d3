"""Changes that would help a training with slow workers, with what each is predicted to gain. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from pydantic import ValidationError

from backend.stragglers import wording
from backend.stragglers.forecasts import DurationForecast, Forecast, Prediction
from backend.stragglers.recorded import RecordedTraining
from backend.stragglers.replay import Paces
from gradstream.api.stragglers import StragglerRemedy
from gradstream.spec import JobSpec

_WORTH = 0.9
"""Share of the time that a remedy must come to at most: less is not worth a change."""
_NEARLY_BEST = 1.05
"""Share of the best prediction up to which a quorum with fewer dropped pushes is preferred."""
_FETCHERS = 2
_STALE = "Pushes are stale then, so it may learn differently."

_Options = Iterator[tuple[dict[str, Any], str, str]]
"""A change of the job file, how it is written there, and what follows from it."""


@dataclass(frozen=True)
class Remedies:
    found: RecordedTraining
    forecast: Forecast
    paces: Paces

    def listed(self) -> list[StragglerRemedy]:
        """Return the remedies that gain enough, the largest gain first."""
        possible = [self._no_waiting(), self._backups(), self._stop(), self._fetchers()]
        return [remedy for _, remedy in sorted((each for each in possible if each), key=lambda each: each[0])]

    def _remedy(
        self, predicted: Prediction | None, message: str, *, setting: str | None = None, command: str | None = None
    ) -> tuple[float, StragglerRemedy] | None:
        """Return it behind its relative time. None: it gains too little."""
        if predicted is None or predicted.relative > _WORTH:
            return None
        return predicted.relative, StragglerRemedy(
            setting=setting,
            command=command,
            message=message,
            seconds=predicted.seconds,
            examples_per_hour=predicted.examples_per_hour,
            gain=self.forecast.gain(predicted),
        )

    def _no_waiting(self) -> tuple[float, StragglerRemedy] | None:
        """No worker waits, with as few other changes as the job accepts."""
        for change, setting, message in self._endless_options() if self.found.spec.stop.never else self._deal_options():
            changed = accepted(self.found.spec, change)
            if changed and (remedy := self._remedy(self.forecast.under(changed), message, setting=setting)):
                return remedy
        return None

    def _deal_options(self) -> _Options:
        """Mini-batches dealt on demand. Data that grows has no numbers to deal."""
        if self.found.follows:
            return
        demand: dict[str, Any] = {"data": {"deal": "demand"}}
        asp = demand | {"gate": "asp"}
        slow = self.found.slow
        train = f"the others train what {wording.workers(slow)} leave{'s' * (len(slow) == 1)}."
        needs = "It needs a map-style data set."
        no_wait = f"No worker waits, and {train} {_STALE} {needs}"
        yield demand, "data.deal: demand", f"{train[0].upper()}{train[1:]} {needs}"
        yield asp, "gate: asp, data.deal: demand", no_wait
        yield asp | self._async, "strategy.name: async, gate: asp, data.deal: demand", no_wait

    def _endless_options(self) -> _Options:
        """A job without an end learns as fast as its workers push."""
        asp = {"gate": "asp"}
        yield asp, "gate: asp", f"No worker waits for another. {_STALE}"
        yield asp | self._async, "strategy.name: async, gate: asp", f"No worker waits for another. {_STALE}"

    @property
    def _async(self) -> dict[str, Any]:
        return {"strategy": {"name": "async", "lr": self.found.spec.strategy.lr}}

    def _backups(self) -> tuple[float, StragglerRemedy] | None:
        """A quorum, so that slow workers are backups. Where several help about as much, the one that drops the fewest pushes."""
        spec, count = self.found.spec, self.found.spec.roles.worker.count
        if spec.effective_gate.mode != "bsp":
            return None
        predicted = dict[int, Prediction]()
        for quorum in range(count - len(self.found.slow), count):
            changed = accepted(spec, {"gate": {"mode": "bsp", "quorum": quorum}}) if quorum else None
            if changed and (found := self.forecast.under(changed)):
                predicted[quorum] = found
        if not predicted:
            return None
        best = min(found.relative for found in predicted.values())
        quorum = max(quorum for quorum, found in predicted.items() if found.relative <= _NEARLY_BEST * best)
        rounds = f"A round ends with the first {quorum} of {count} pushes, and the servers drop later ones."
        return self._remedy(
            predicted[quorum],
            f"{rounds} So the model learns little from what {wording.workers(self.found.slow)} trained slowly.",
            setting=f"gate: {{mode: bsp, quorum: {quorum}}}",
        )

    def _stop(self) -> tuple[float, StragglerRemedy] | None:
        """Slow workers leave now, and the rest of their shares is left out."""
        found, slow = self.found, self.found.slow_now
        if not found.running or not slow or len(slow) == len(found.workers) or found.spec.roles.serverless:
            return None
        if found.spec.data.deal == "demand" and not found.spec.stop.never:
            return None
        return self._remedy(
            self.forecast.without(slow),
            f"Stop {wording.workers(slow)} on the Workers tab. {self._left_out(slow)}",
            command=f"gradstream stop JOB --process worker-{slow[0]}" if len(slow) == 1 else None,
        )

    def _left_out(self, slow: list[int]) -> str:
        many = len(slow) > 1
        if not isinstance(self.forecast, DurationForecast):
            return f"{'Their parts' if many else 'Its part'} of all data to come {'are' if many else 'is'} left out."
        left = sum(self.forecast.left[rank] for rank in slow) / sum(self.found.shares.values())
        whose = "their shares" if many else "its share"
        return f"The rest of {whose} is left out: about {100 * left:.0f} % of the training's mini-batches."

    def _fetchers(self) -> tuple[float, StragglerRemedy] | None:
        """More processes that fetch, where a slow worker waits for its data. Data that grows has one reader."""
        waits, spec = [rank for rank in self.found.slow if self._data_share(rank) > 1 - _WORTH], self.found.spec
        if not waits or spec.data.processes or self.found.follows or not accepted(spec, {"data": {"processes": _FETCHERS}}):
            return None
        factors = {rank: max(1 - self._data_share(rank), 1 / _FETCHERS) for rank in waits}
        rows = np.array([1 / factors.get(rank, 1.0) for rank in self.paces.ranks])
        faster = Paces(self.paces.ranks, self.paces.cells * rows[:, None], self.paces.after * rows, self.paces.width)
        return self._remedy(
            self.forecast.at(faster),
            f"Two processes fetch the mini-batches of each worker, if its machine has cores to spare. "
            f"{wording.workers(waits)} waited for data.",
            setting=f"data.processes: {_FETCHERS}",
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
            examples_per_hour=None,
            command=None,
            gain=None,
        )
        for node, workers, threads, cores in sorted(nodes)
    ]
