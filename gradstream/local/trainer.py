"""A job from start to end on this machine: embedded Redis, zygote, one attempt, and what it has to say meanwhile."""

from __future__ import annotations

import math
import os
import secrets
import shutil
import time
from pathlib import Path
from typing import Any, Self, TextIO

from rich.console import Console

from gradstream import marker
from gradstream.bundle.origin import collect_origin
from gradstream.center import auto
from gradstream.center.ledger import Silent
from gradstream.errors import Conflict, InvalidJob
from gradstream.exchange import Figures
from gradstream.local.attempt import LocalAttempt
from gradstream.local.child import run_dir
from gradstream.local.redis import Redis
from gradstream.metrics import ASKED_AGAIN, COMPARED_ROWS, LOSS, NO_ROOM, SHARED_ROWS, SILENT, STALENESS, TOTAL, Point
from gradstream.process import damage, room
from gradstream.process.evaluation_alerts import not_finite_sentence, overlap_sentence
from gradstream.process.exits import GOOD
from gradstream.process.store import BEST, MODEL
from gradstream.process.watchdog import Hang, hang_sentences
from gradstream.process.zygote import Zygote
from gradstream.spec import JobSpec
from gradstream.spec.start import NEEDS_A_FILE
from gradstream.wire.client import connect


class Trainer:
    """Use it as a context manager: leaving it ends every process and removes the sockets."""

    def __init__(self, spec: JobSpec, code: Path, folder: Path, talk: TextIO) -> None:
        """Raises: Conflict, if `folder` holds an earlier run. InvalidJob: the job wants GPUs."""
        for role, device in (("worker", spec.roles.worker.device), ("server", spec.roles.server.device)):
            if device == "cuda":
                raise InvalidJob(f"roles.{role}.device: gradstream train hands out no GPUs; take cpu or auto, or submit the job")
        if spec.start_from and spec.start_from.job:
            raise InvalidJob(NEEDS_A_FILE)
        if folder.exists() and any(folder.iterdir()):
            raise Conflict(f"{folder} is not empty; choose another folder with --out, or remove it")
        folder.mkdir(parents=True, exist_ok=True)
        marker.write_marker(folder, "training")  # so that no bundle takes it in
        self._spec, self._code, self._folder = spec, code, folder.resolve()
        self._origin = collect_origin(code)
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
        attempt = self._attempt(spec, 1)
        progress = _Progress(spec)
        interval = spec.snapshot.cadence.seconds or math.inf  # by samples, the shards take them by themselves
        next_cut, cut, stopping = began + interval, 0, False
        open_question = spec.roles.server.count == "auto"
        attempt.start()
        try:
            with self._console.status("warming up: importing torch once for all processes") as status:
                while not attempt.over and not attempt.failed:
                    try:
                        for name, end in attempt.pump(0.25):
                            if end.reason not in GOOD:
                                continue  # the most telling failure is told at the end, once
                            self._console.print(f"{name}: {end.reason}{': ' + end.message if end.message else ''}")
                        for alert in (*progress.take(attempt.metrics()), *progress.take_hangs(attempt.hangs())):
                            self._console.print(f"[yellow]alert[/]: {alert}", highlight=False)
                        if open_question and not cut and (nbytes := progress.figures.center_bytes):
                            open_question, choice = False, self._choose(nbytes)
                            if choice.shards > 1 and not stopping:
                                attempt.close()
                                progress = _Progress(spec)
                                attempt = self._attempt(spec.with_shards(choice.shards), 2)
                                attempt.start()
                        status.update(progress.line())
                        if time.monotonic() >= next_cut:
                            next_cut, cut = time.monotonic() + interval, cut + 1
                            attempt.snapshot(cut)
                    except KeyboardInterrupt:
                        if stopping:
                            raise
                        stopping = True
                        self._console.print("stopping; once more ends it at once")
                        attempt.stop("interrupted")
            attempt.gather_failures()
            progress.take(attempt.metrics())
        finally:
            failed, result = attempt.failed, attempt.result
            attempt.close()
        if failed:
            name, end = failed
            self._console.print(f"[bold red]failed[/]: {name}: {end.message}\n{attempt.log_of(name)[-2000:]}", highlight=False)
        summary = progress.summary() | {"seconds": round(time.monotonic() - began, 3)}
        if failed or result is None:
            return {"status": "failed", "reason": failed[1].reason if failed else "interrupted", **summary}
        model = attempt.store / MODEL
        best = result.get("best")
        about = f"{best['metric']} {best['value']:.6g} at {best['samples']:,} samples" if best else ""
        kept = f"\nbest: {model.with_name(BEST)} ({about})" if best else ""
        self._console.print(f"{progress.line()}\n{progress.exchange()}model: {model}{kept}", highlight=False)
        told = {"best": best, "stopped_by": result.get("stopped_by")}
        ended = "cancelled" if stopping else "succeeded"
        return {"status": ended, "eval": result["eval"], "version": result["version"], "model_path": str(model), **told, **summary}

    def _attempt(self, spec: JobSpec, number: int) -> LocalAttempt:
        admin, url = connect(self._redis.url, password=self._redis.password), self._redis.url
        return LocalAttempt(
            spec, self._code, self._folder, zygote=self._zygote, redis=admin, plane_url=url, number=number, origin=self._origin
        )

    def _choose(self, nbytes: int) -> auto.Choice:
        choice = auto.choose(self._spec, nbytes, [auto.Host(os.cpu_count() or 1, self._spec.roles.worker.count)])
        self._console.print(f"roles.server.count: auto. {choice.reason}", highlight=False)
        return choice


class _Progress:
    """What the metrics say so far."""

    def __init__(self, spec: JobSpec) -> None:
        self._gate, self._codec = spec.effective_gate, spec.codec.name
        self._silent: dict[int, str] = {}
        """What there is to say of workers that contribute nothing, by rank."""
        self._no_room: dict[int, int] = {}
        """Bytes of shared memory that workers did not get, by rank."""
        self._damaged: dict[str, str] = {}
        """What there is to say of processes that were sent something damaged, by label."""
        self._evaluation: dict[str, str] = {}
        """What there is to say of evaluations."""
        self._hung_at = set[tuple[str, str | None]]()
        """Places of the start that took long."""
        self._compared_rows = 0
        self.figures = Figures()
        self._samples, self._total, self._loss = 0, 0, float("nan")
        self._evals: dict[str, float] = {}
        self._staleness, self._pushes = 0.0, 0
        self._first = self._last = 0.0

    def take(self, batches: list[tuple[str, list[Point]]]) -> list[str]:
        """Returns the alerts that are new."""
        told, roomless, damaged, evaluation = len(self._silent), set(self._no_room), len(self._damaged), len(self._evaluation)
        for source, points in batches:
            self._fold(source, points)
        new = {rank: missing for rank, missing in self._no_room.items() if rank not in roomless}
        more = list(self._damaged.values())[damaged:] + list(self._evaluation.values())[evaluation:]
        return [*list(self._silent.values())[told:], *([room.sentence(new)] if new else []), *more]

    def take_hangs(self, hangs: dict[str, Hang]) -> list[str]:
        """Returns the alerts of places where no process was before."""
        new = {label: hang for label, hang in hangs.items() if hang.place not in self._hung_at}
        self._hung_at.update(hang.place for hang in new.values())
        return hang_sentences(new)

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
            elif point.name == SILENT.name:
                self._silent.setdefault(point.rank, Silent(point.rank, int(point.value)).sentence(self._gate))
            elif point.name == NO_ROOM.name:
                self._no_room[point.rank] = int(point.value)
            elif point.name == ASKED_AGAIN.name:
                who = source.rpartition(".")[0] or source
                self._damaged.setdefault(who, damage.sentence(who))
            elif point.name == COMPARED_ROWS.name:
                self._compared_rows = int(point.value)
            elif point.name == SHARED_ROWS.name:
                self._evaluation.setdefault(point.name, overlap_sentence(int(point.value), self._compared_rows))
            elif point.name.startswith("eval/"):
                if not math.isfinite(point.value):
                    self._evaluation.setdefault(point.name, not_finite_sentence(point.name, point.samples))
                self._evals[point.name] = point.value

    def line(self) -> str:
        if not self._first:
            return "starting: waiting for the first step"
        told = "  ".join(f"{name} {value:.4f}" for name, value in self._evals.items())
        rate = self.summary()["samples_per_second"]
        of = f" of {self._total:,}" if self._total else ""
        return f"{self._samples:,}{of} samples  {rate:,.0f}/s  loss {self._loss:.4f}  {told}  staleness {self._mean():.2f}"

    def exchange(self) -> str:
        """What a push cost; a line, or nothing before the first."""
        found = self.figures.exchange()
        return f"a push: {found.time}; {found.traffic(self._codec)}\n" if found else ""

    def summary(self) -> dict[str, Any]:
        seconds = self._last - self._first
        rate = self._samples / seconds if seconds > 0 else 0.0
        exchange = self.figures.exchange()
        return {
            "samples": self._samples, "samples_per_second": round(rate, 1), "mean_staleness": round(self._mean(), 4),
            "alerts": [*self._silent.values(), *([room.sentence(self._no_room)] if self._no_room else []), *self._damaged.values(),
                       *self._evaluation.values()],
            "exchange": exchange and exchange.model_dump(), "shards": [load.model_dump() for load in self.figures.loads()],
        }  # fmt: skip

    def _mean(self) -> float:
        return self._staleness / self._pushes if self._pushes else 0.0
