"""One run of `gradstream train`, from its first attempt to the figures at its end."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.text import Text

from gradstream.local.training.alerts import RunAlerts
from gradstream.local.training.attempt import LocalAttempt
from gradstream.local.training.run_progress import RunProgress
from gradstream.process.exits import GOOD, Exit
from gradstream.process.saving.model_files import find_model
from gradstream.process.store import BEST, MODEL, TABLES_PATTERN
from gradstream.spec import JobSpec, shard_count
from gradstream.user_logging.files import MEDIA_FOLDER

_POLL_INTERVAL = 0.25
"""Seconds between two looks at the processes."""


class TrainingRun:
    """An attempt, and a second one if `roles.server.count: auto` takes more servers, which is known when the model is there."""

    def __init__(self, spec: JobSpec, console: Console, make_attempt: Callable[[JobSpec, int], LocalAttempt]) -> None:
        self._spec, self._console, self._make_attempt = spec, console, make_attempt
        self._began = time.monotonic()
        self._attempt = make_attempt(spec, 1)
        self._alerts = RunAlerts(spec.effective_gate, endless=spec.stop.never)
        self._progress = RunProgress(spec, self._alerts, self._attempt.number)
        self._interval = spec.checkpoint.cadence.seconds or math.inf  # by samples, the shards take them by themselves
        self._next_checkpoint = self._began + self._interval
        self._checkpoints = 0
        self._counts_servers = spec.roles.server.count == "auto"
        self._stopping = self._gives_up = False

    def train(self) -> dict[str, Any]:
        """Train to the end, and return the figures; the first Ctrl-C stops the workers, or before the first step everything.

        Raises: KeyboardInterrupt: the second."""
        try:
            self._attempt.start()
            with self._console.status("warming up: importing torch once for all processes") as status:
                while not self._attempt.over and not self._attempt.failed and not self._gives_up:
                    try:
                        self._look()
                        status.update(Text(self._progress.line()))
                        self._request_checkpoint_if_due()
                    except KeyboardInterrupt:
                        if self._stopping:
                            raise
                        self._stop()
            self._attempt.gather_failures()
            self._progress.take(self._attempt.metrics())
        finally:
            failed, result = self._attempt.failed, self._attempt.result
            self._attempt.close()
        self._list_alerts()
        if failed:
            self._explain(*failed)
        summary = self._progress.summary() | {"seconds": round(time.monotonic() - self._began, 3)}
        if failed or result is None:
            ended_by_user = self._stopping and not failed
            return {
                "status": "cancelled" if ended_by_user else "failed",
                "reason": failed[1].reason if failed else "interrupted",
                **summary,
            }
        return self._conclude(result) | summary

    def _look(self) -> None:
        for name, end in self._attempt.pump(_POLL_INTERVAL):
            if end.reason in GOOD:  # the most telling failure is told at the end, once
                self._console.print(f"{name}: {end.reason}{': ' + end.message if end.message else ''}")
        self._progress.take(self._attempt.metrics())
        self._alerts.take_hangs(self._attempt.hangs())
        for alert in self._alerts.take_new():
            self._console.print(Text.assemble(("alert", "yellow"), f": {alert}"))
        for resolved in self._alerts.take_resolved():
            self._console.print(Text.assemble(("resolved", "green"), f": {resolved}"))
        if self._counts_servers and not self._checkpoints and (nbytes := self._progress.figures.center_bytes):
            self._count_servers(nbytes)

    def _count_servers(self, nbytes: int) -> None:
        """Begin again with as many servers as the model deserves."""
        self._counts_servers = False
        host = shard_count.Host(os.cpu_count() or 1, self._spec.roles.worker.count)
        choice = shard_count.choose(self._spec, nbytes, [host], self._progress.figures.largest_share)
        self._console.print(f"roles.server.count: auto. {choice.reason}", highlight=False)
        if choice.shards > 1 and not self._stopping:
            self._attempt.close()
            self._attempt = self._make_attempt(self._spec.with_shards(choice.shards), 2)
            self._progress = RunProgress(self._spec, self._alerts, self._attempt.number)
            self._attempt.start()

    def _request_checkpoint_if_due(self) -> None:
        if time.monotonic() >= self._next_checkpoint:
            self._next_checkpoint = time.monotonic() + self._interval
            self._checkpoints += 1
            self._attempt.request_checkpoint(self._checkpoints)

    def _stop(self) -> None:
        self._stopping = True
        if not (self._progress.began or self._attempt.joined):  # the processes would take seconds to start, only to end
            self._gives_up = True
            self._console.print("stopped before the first step, so there is no model")
            return
        self._console.print("stopping; once more ends it at once")
        self._attempt.stop("interrupted")

    def _list_alerts(self) -> None:
        """All that were raised, as they may have scrolled away."""
        sentences = self._alerts.sentences
        if sentences:
            self._console.print(Text(f"alerts of this run: {len(sentences)}", "yellow"))
        for sentence in sentences:
            self._console.print(f"  {sentence}", highlight=False)

    def _explain(self, name: str, end: Exit) -> None:
        log = self._attempt.log_of(name)[-2000:]
        self._console.print(Text.assemble(("failed", "bold red"), f": {name}: {end.message}\n{log}"))

    def _conclude(self, result: dict[str, Any]) -> dict[str, Any]:
        store, best = self._attempt.store, result.get("best")
        model = find_model(store, MODEL) or store / MODEL
        about = f"{best['metric']} {best['value']:.6g} at {best['samples']:,} samples" if best else ""
        kept = f"\nbest: {find_model(store, BEST)} ({about})" if best else ""
        tables = sorted(model.parent.glob(TABLES_PATTERN))
        kept += f"\ntables: {' '.join(map(str, tables))}" if tables else ""
        media = model.with_name(MEDIA_FOLDER)
        kept += f"\nlogged media: {media}" if media.exists() else ""
        self._console.print(f"{self._progress.line()}\n{self._progress.exchange()}model: {model}{kept}", highlight=False)
        return {
            "status": "cancelled" if self._stopping else "succeeded",
            "eval": result["eval"],
            "version": result["version"],
            "model_path": str(model),
            "table_paths": [str(file) for file in tables],
            "media_path": str(media) if media.exists() else None,
            "best": best,
            "stopped_by": result.get("stopped_by"),
        }
