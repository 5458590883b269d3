"""The progress of one run of `gradstream train`: a line while it runs, figures at its end."""

from __future__ import annotations

from typing import Any

from gradstream.local.training.alerts import RunAlerts
from gradstream.metrics import LOSS, OBSERVED, STALENESS, TOTAL, Point
from gradstream.progress.exchange import Figures
from gradstream.spec import JobSpec
from gradstream.user_logging.names import GROUP

_OBSERVED = frozenset(metric.name for metric in OBSERVED.values())


class RunProgress:
    """The progress of one attempt, folded from its metrics."""

    def __init__(self, spec: JobSpec, alerts: RunAlerts, attempt: int) -> None:
        self._codec, self._alerts, self._attempt = spec.codec.name, alerts, attempt
        self.figures = Figures()
        self._samples, self._total, self._loss = 0, 0, float("nan")
        self._evals: dict[str, float] = {}
        self._observed: dict[str, float] = {}
        self._logged: dict[str, float] = {}
        """The last value of each name, of any worker."""
        self._staleness, self._pushes = 0.0, 0
        self._first = self._last = 0.0

    def take(self, batches: list[tuple[str, list[Point]]]) -> None:
        for source, points in batches:
            self._fold(source, points)
        self._alerts.take(batches, self._attempt)

    def _fold(self, source: str, points: list[Point]) -> None:
        for point in points:
            self.figures.take(source, point)
            self._samples = max(self._samples, point.samples)
            if point.name == LOSS.name:
                self._loss, self._first, self._last = point.value, self._first or point.time, point.time
            elif point.name == STALENESS.name:
                self._staleness, self._pushes = self._staleness + point.value, self._pushes + 1
            elif point.name == TOTAL.name:
                self._total = int(point.value)
            elif point.name.startswith("eval/"):
                self._evals[point.name] = point.value
            elif point.name.startswith(GROUP):
                self._logged[point.name] = point.value
            elif point.name in _OBSERVED:
                self._observed[point.name] = point.value

    @property
    def began(self) -> bool:
        """A worker has trained a mini-batch."""
        return self._first > 0

    def line(self) -> str:
        if not self.began:
            return "starting: waiting for the first step"
        auc = {name: value for name, value in self._observed.items() if name == OBSERVED["auc"].name}
        told = "  ".join(f"{name} {value:.4f}" for name, value in (auc | self._evals).items())
        rate = self.summary()["samples_per_second"]
        of = f" of {self._total:,}" if self._total else ""
        return f"{self._samples:,}{of} samples  {rate:,.0f}/s  loss {self._loss:.4f}  {told}  staleness {self._mean():.2f}"

    def exchange(self) -> str:
        """Return a line with the cost of a push; empty before the first push."""
        found = self.figures.exchange()
        return f"a push: {found.time}; {found.traffic(self._codec)}\n" if found else ""

    def summary(self) -> dict[str, Any]:
        seconds = self._last - self._first
        rate = self._samples / seconds if seconds > 0 else 0.0
        exchange = self.figures.exchange()
        return {
            "samples": self._samples,
            "samples_per_second": round(rate, 1),
            "mean_staleness": round(self._mean(), 4),
            "observed": self._observed,
            "logged": self._logged,
            "alerts": self._alerts.sentences,
            "exchange": exchange and exchange.model_dump(),
            "shards": [load.model_dump() for load in self.figures.loads()],
        }

    def _mean(self) -> float:
        return self._staleness / self._pushes if self._pushes else 0.0
