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
from rich.markup import escape

from gradstream import marker
from gradstream.bundle.origin import collect_origin
from gradstream.center import auto
from gradstream.errors import Conflict, InvalidJob
from gradstream.local.alerts import RunAlerts
from gradstream.local.attempt import LocalAttempt
from gradstream.local.child import run_dir
from gradstream.local.redis import Redis
from gradstream.local.run_progress import RunProgress
from gradstream.process.exits import GOOD
from gradstream.process.store import BEST, MODEL
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
        alerts = RunAlerts(spec.effective_gate)
        progress = RunProgress(spec, alerts, attempt.number)
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
                        progress.take(attempt.metrics())
                        alerts.take_hangs(attempt.hangs())
                        for alert in alerts.take_new():
                            self._console.print(f"[yellow]alert[/]: {escape(alert)}", highlight=False)
                        if open_question and not cut and (nbytes := progress.figures.center_bytes):
                            open_question, choice = False, self._choose(nbytes)
                            if choice.shards > 1 and not stopping:
                                attempt.close()
                                attempt = self._attempt(spec.with_shards(choice.shards), 2)
                                progress = RunProgress(spec, alerts, attempt.number)
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
        self._list_alerts(alerts.sentences)
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

    def _list_alerts(self, sentences: list[str]) -> None:
        """All that were raised, as they may have scrolled away."""
        if sentences:
            self._console.print(f"[yellow]alerts of this run: {len(sentences)}[/]", highlight=False)
        for sentence in sentences:
            self._console.print(f"  {escape(sentence)}", highlight=False)

    def _attempt(self, spec: JobSpec, number: int) -> LocalAttempt:
        admin, url = connect(self._redis.url, password=self._redis.password), self._redis.url
        return LocalAttempt(
            spec, self._code, self._folder, zygote=self._zygote, redis=admin, plane_url=url, number=number, origin=self._origin
        )

    def _choose(self, nbytes: int) -> auto.Choice:
        choice = auto.choose(self._spec, nbytes, [auto.Host(os.cpu_count() or 1, self._spec.roles.worker.count)])
        self._console.print(f"roles.server.count: auto. {choice.reason}", highlight=False)
        return choice
