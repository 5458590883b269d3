"""Gradstream, as `gradstream train` runs a job: an embedded Redis, the zygote, a server, workers and an evaluator in processes of
their own, metrics on.

The job never ends by itself within a measurement. There is no checkpoint and no evaluation in the window, as peers make none; one
evaluation, of few images, comes when it begins. At the end the job is stopped, and its books are checked: what the workers say they
pushed, what the server says it took, and what became of that."""

from __future__ import annotations

import secrets
import shutil
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from benchmarks.peers import system, work
from benchmarks.peers.system import Told
from gradstream import metrics
from gradstream.local.servers.child import run_dir
from gradstream.local.servers.redis import Redis
from gradstream.local.training.attempt import LocalAttempt
from gradstream.metrics import Point
from gradstream.process.shared import SharedFolders
from gradstream.process.zygote.zygote import Zygote
from gradstream.spec import JobSpec
from gradstream.wire.redis.client import connect

CODE = Path(__file__).parents[2]
_FOREVER = 10**9
_TABLES = {"clicks": {"ids": {"rule": {"name": "adagrad", "rowwise": True, "lr": work.ROWS_LR}}}}
_ENDS_WITHIN = 30.0
FIRST_GPU = (0,) * 16
"""Places for all workers and servers on the first GPU. The evaluator is on the CPU."""


def job(told: Told, **more: Any) -> JobSpec:
    """Raises: ValidationError: this Gradstream knows no such job."""
    item, options = work.ITEMS[told.item], told.options
    peers = options.get("peers", 1)
    workers = 1 if options.get("counters") == 1 or peers > 1 else told.workers
    return JobSpec.model_validate(
        {
            "name": "peers",
            "seed": told.seed,
            "batch_size": item.batch * peers,
            "workload": {
                "entrypoint": "benchmarks.peers.workload:Work",
                "args": {"item": told.item, "data": told.data, "counters": told.folder, "scored": 256},
            },
            "strategy": {"lr": item.lr * options.get("rate", 1), **options["strategy"]},
            "roles": {
                "worker": {"count": workers, "device": told.device, "group": peers},
                "server": {"count": options.get("servers", 1), "device": told.device},
            },
            "stop": {"steps": _FOREVER},
            "evaluate": {"every": _FOREVER},
            "checkpoint": {"every": _FOREVER},
            "tables": _TABLES.get(told.item, {}),
            **options["job"],
            **more,
        }
    )


def main(told: Told) -> None:
    try:
        spec = job(told)
    except ValidationError as error:
        first = error.errors()[0]
        told.absent(f"the job is refused: {'.'.join(map(str, first['loc']))}: {first['msg']}")
    ended = threading.Event()
    system.when_told_to_end(ended.set)
    books = Books()
    failed, _ = run(spec, Path(told.folder) / "job", bool(told.options["shared_memory"]), ended.is_set, books.take)
    if failed:
        raise SystemExit(failed)
    told.report(**books.closed())


def run(
    spec: JobSpec, folder: Path, shared_memory: bool, ended: Callable[[], bool], take: Callable[[list[Point]], None]
) -> tuple[str | None, dict[str, Any] | None]:
    """Until the job is over, which comes soon after `ended()`. Returns what went wrong, and what the evaluator found at last."""
    folder.mkdir()
    private = run_dir()
    password = private / "password"
    password.touch(0o600)
    password.write_text(secrets.token_urlsafe(24))
    redis = Redis("plane", private / "plane", log=folder / "redis.log", password_file=password, maxmemory="2gb")
    zygote = Zygote()
    attempt = None
    try:
        zygote.start()
        redis.start()
        redis.wait()
        admin = connect(redis.url, password=redis.password)
        gpus = FIRST_GPU if spec.roles.worker.device == "cuda" else ()
        attempt = LocalAttempt(spec, CODE, folder, zygote=zygote, redis=admin, plane_url=redis.url, gpus=gpus)
        if not shared_memory:  # as if its processes were on several hosts
            attempt._shared.close()
            attempt._shared = SharedFolders(None)
        attempt.start()
        until: float | None = None
        while not attempt.over and not attempt.failed and (until is None or time.monotonic() < until):
            list(attempt.pump(0.25))
            take([point for _, points in attempt.metrics() for point in points])
            if until is None and ended():
                until = time.monotonic() + _ENDS_WITHIN
                attempt.stop("measured")
        take([point for _, points in attempt.metrics() for point in points])
        if attempt.failed:
            name, end = attempt.failed
            return f"{name}: {end.reason}: {end.message}\n{attempt.log_of(name)[-2000:]}", None
        return (None if attempt.over else f"the job went on for {_ENDS_WITHIN:g} s after it was stopped"), attempt.result
    finally:
        if attempt:
            attempt.close()
        zygote.close()
        redis.stop()
        shutil.rmtree(private, ignore_errors=True)


class Books:
    """What the metrics say of the pushes."""

    def __init__(self) -> None:
        self._ledger: dict[int, dict[str, int]] = defaultdict(dict)
        self._posted: dict[int, int] = defaultdict(int)
        self._staleness, self._decided = 0.0, 0
        self._bytes, self._steps = 0.0, 0
        self._version = 0

    def take(self, points: list[Point]) -> None:
        for point in points:
            if point.name in _LEDGER:
                self._ledger[point.rank][point.name.removeprefix("ledger/")] = int(point.value)
                self._version = max(self._version, point.version)
            elif point.name == metrics.STALENESS.name:
                self._staleness, self._decided = self._staleness + point.value, self._decided + 1
            elif point.name == metrics.LOSS.name:
                self._steps += 1
            elif point.name in (metrics.SENT.name, metrics.RECEIVED.name):
                self._bytes += point.value
                self._posted[point.rank] += point.name == metrics.SENT.name

    def closed(self) -> dict[str, Any]:
        """`ledger`: sums over the workers, `posted` as the workers counted it. It closes if the server took each push that they
        posted, and the decisions that it told one by one are as many as those in its accounts."""
        sums = {name: sum(account.get(name, 0) for account in self._ledger.values()) for name in map(_short, _LEDGER)}
        closes = (
            bool(self._posted)
            and self._posted == {rank: account.get("pushed") for rank, account in self._ledger.items()}
            and all(
                account["pushed"] == account["applied"] + account["deferred"] + account["dropped"] + account["pending"]
                for account in self._ledger.values()
            )
        )
        return {
            "ledger": {"posted": sum(self._posted.values()), **sums, "decided": self._decided, "version": self._version},
            "ledger_closes": bool(closes and self._decided == sums["applied"] + sums["deferred"]),
            "mean_staleness": self._staleness / max(1, self._decided),
            "vector_bytes_per_step": self._bytes / max(1, self._steps),
        }


_LEDGER = {m.name for m in (metrics.PUSHED, metrics.APPLIED, metrics.DEFERRED, metrics.DROPPED, metrics.PENDING)}


def _short(name: str) -> str:
    return name.removeprefix("ledger/")
