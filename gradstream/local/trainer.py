"""A job from start to end on this machine: embedded Redis, zygote, one attempt, and what it has to say meanwhile."""

from __future__ import annotations

import secrets
import shutil
import time
from pathlib import Path
from typing import Any, Self, TextIO

from rich.console import Console

from gradstream.center.ledger import Silent
from gradstream.errors import Conflict
from gradstream.gate import Gate
from gradstream.local.attempt import LocalAttempt
from gradstream.local.child import run_dir
from gradstream.local.redis import Redis
from gradstream.metrics import LOSS, SILENT, STALENESS, TOTAL, Point
from gradstream.process.zygote import Zygote
from gradstream.spec import JobSpec
from gradstream.wire.client import connect


class Trainer:
    """Use it as a context manager: leaving it ends every process and removes the sockets."""

    def __init__(self, spec: JobSpec, code: Path, folder: Path, talk: TextIO) -> None:
        """Raises: Conflict, if `folder` holds an earlier run."""
        if folder.exists() and any(folder.iterdir()):
            raise Conflict(f"{folder} is not empty; choose another folder with --out, or remove it")
        folder.mkdir(parents=True, exist_ok=True)
        self._spec, self._code, self._folder = spec, code, folder.resolve()
        self._console = Console(file=talk, soft_wrap=True)
        self._run = run_dir()
        password_file = self._run / "password"
        password_file.touch(0o600)
        password_file.write_text(secrets.token_urlsafe(24))
        self._redis = Redis("plane", self._run / "plane", log=folder / "redis.log", password_file=password_file, maxmemory="2gb")
        self._zygote = Zygote()

    def __enter__(self) -> Self:
        self._zygote.start()
        self._redis.start()
        self._redis.wait()
        return self

    def __exit__(self, *error: object) -> None:
        self._zygote.close()
        self._redis.stop()
        shutil.rmtree(self._run, ignore_errors=True)

    def run(self) -> dict[str, Any]:
        """Train to the end; Ctrl-C asks the workers to stop, and the model so far is kept."""
        spec, began = self._spec, time.monotonic()
        admin = connect(self._redis.url, password=self._redis.password)
        attempt = LocalAttempt(spec, self._code, self._folder, zygote=self._zygote, redis=admin, plane_url=self._redis.url)
        progress = _Progress(spec.effective_gate)
        next_cut, cut, stopping = began + spec.snapshot.every, 0, False
        attempt.start()
        try:
            with self._console.status("warming up: importing torch once for all processes") as status:
                while not attempt.over and not attempt.failed:
                    try:
                        for name, end in attempt.pump(0.25):
                            self._console.print(f"{name}: {end.reason}{': ' + end.message if end.message else ''}")
                        for alert in progress.take(attempt.points()):
                            self._console.print(f"[yellow]alert[/]: {alert}", highlight=False)
                        status.update(progress.line())
                        if time.monotonic() >= next_cut:
                            next_cut, cut = time.monotonic() + spec.snapshot.every, cut + 1
                            attempt.snapshot(cut)
                    except KeyboardInterrupt:
                        if stopping:
                            raise
                        stopping = True
                        self._console.print("stopping; once more ends it at once")
                        attempt.stop("interrupted")
            progress.take(attempt.points())
        finally:
            failed, result = attempt.failed, attempt.result
            attempt.close()
        if failed:
            name, end = failed
            self._console.print(f"[bold red]failed[/]: {name}: {end.message}\n{attempt.log_of(name)[-2000:]}", highlight=False)
        summary = progress.summary() | {"seconds": round(time.monotonic() - began, 3)}
        if failed or result is None:
            return {"status": "failed", "reason": failed[1].reason if failed else "interrupted", **summary}
        model = attempt.store / "model.safetensors"
        self._console.print(f"{progress.line()}\nmodel: {model}")
        ended = "cancelled" if stopping else "succeeded"
        return {"status": ended, "eval": result["eval"], "version": result["version"], "model_path": str(model), **summary}


class _Progress:
    """What the metrics say so far."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self._alerts: dict[int, str] = {}
        """Workers that contribute nothing, by rank."""
        self._samples, self._total, self._loss = 0, 0, float("nan")
        self._evals: dict[str, float] = {}
        self._staleness, self._pushes = 0.0, 0
        self._first = self._last = 0.0

    def take(self, points: list[Point]) -> list[str]:
        """Returns the alerts that are new."""
        known = len(self._alerts)
        for point in points:
            self._samples = max(self._samples, point.samples)
            if point.name == LOSS.name:
                self._loss, self._first, self._last = point.value, self._first or point.time, point.time
            elif point.name == STALENESS.name:
                self._staleness, self._pushes = self._staleness + point.value, self._pushes + 1
            elif point.name == TOTAL.name:
                self._total = int(point.value)
            elif point.name == SILENT.name:
                self._alerts.setdefault(point.rank, Silent(point.rank, int(point.value)).sentence(self._gate))
            elif point.name.startswith("eval/"):
                self._evals[point.name] = point.value
        return list(self._alerts.values())[known:]

    def line(self) -> str:
        if not self._first:
            return "starting: waiting for the first step"
        told = "  ".join(f"{name} {value:.4f}" for name, value in self._evals.items())
        rate = self.summary()["samples_per_second"]
        of = f" of {self._total:,}" if self._total else ""
        return f"{self._samples:,}{of} samples  {rate:,.0f}/s  loss {self._loss:.4f}  {told}  staleness {self._mean():.2f}"

    def summary(self) -> dict[str, Any]:
        seconds = self._last - self._first
        rate = self._samples / seconds if seconds > 0 else 0.0
        return {
            "samples": self._samples, "samples_per_second": round(rate, 1), "mean_staleness": round(self._mean(), 4),
            "alerts": list(self._alerts.values()),
        }  # fmt: skip

    def _mean(self) -> float:
        return self._staleness / self._pushes if self._pushes else 0.0
