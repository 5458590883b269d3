"""Runs, their results in files, and the processes that compute what is missing.

A result is stored under a hash of what it was made from, as soon as it is there: so an interrupted report goes on where it was,
a change of one setting computes one run, and experiments that share a run share its result.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Generator, Iterable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

KINDS = {
    "train": "benchmarks.report.training:train",
    "staleness": "benchmarks.report.formulas:staleness",
    "edge": "benchmarks.report.formulas:edge",
    "distances": "benchmarks.report.formulas:distances",
    "momentum": "benchmarks.report.formulas:momentum",
}
"""What can be run: functions of the settings (and, for `train`, of the data's folder) that return plain values."""

Values = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Run:
    kind: str
    settings: Mapping[str, Any]
    """Plain values; they are all that the result depends on, but for the data."""

    @cached_property
    def key(self) -> str:
        said = json.dumps([self.kind, self.settings], sort_keys=True)
        return hashlib.sha256(said.encode()).hexdigest()[:12]

    @property
    def said(self) -> str:
        """In a line."""
        what = self.settings.get("job", self.settings).get("strategy", "")
        more = {key: self.settings[key] for key in ("workers", "samples", "speeds") if key in self.settings}
        return " ".join([self.kind, *(f"{key}={value}" for key, value in {**(what or {}), **more}.items())])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Run) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


class Missing(KeyError):
    """A result that was not computed yet."""


class Lab:
    """The results of one report: a file for each experiment, in `folder`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: dict[str, dict[str, Values]] = {}
        for path in sorted(folder.glob("*.json")):
            self._files[path.stem] = json.loads(path.read_text())

    def __contains__(self, run: Run) -> bool:
        return any(run.key in stored for stored in self._files.values())

    def __getitem__(self, run: Run) -> Values:
        """Raises: Missing."""
        return self._record(run)["result"]  # type: ignore[no-any-return]

    def cost(self, run: Run) -> float:
        """CPU seconds that it took."""
        return float(self._record(run)["seconds"])

    @property
    def seconds(self) -> float:
        """Of computing, over all results."""
        return float(sum(record["seconds"] for stored in self._files.values() for record in stored.values()))

    def _record(self, run: Run) -> Values:
        for stored in self._files.values():
            if run.key in stored:
                return stored[run.key]
        raise Missing(f"{run.kind} {json.dumps(run.settings)}")

    def keep(self, experiment: str, run: Run, result: Values, seconds: float) -> None:
        """On disk when this returns, whole or not at all."""
        stored = self._files.setdefault(experiment, {})
        stored[run.key] = {"kind": run.kind, "settings": dict(run.settings), "result": result, "seconds": round(seconds, 1)}
        self._write(experiment)

    def prune(self, wanted: Iterable[Run]) -> int:
        """Forget results that no experiment asks for any more; how many."""
        keys, gone = {run.key for run in wanted}, 0
        for name, stored in self._files.items():
            old = stored.keys() - keys
            for key in old:
                del stored[key]
            if old:
                self._write(name)
            gone += len(old)
        return gone

    def _write(self, experiment: str) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        lines = (f"  {json.dumps(key)}: {json.dumps(record)}" for key, record in sorted(self._files[experiment].items()))
        write(self._folder / f"{experiment}.json", "{\n" + ",\n".join(lines) + "\n}\n")


def write(path: Path, content: str | bytes) -> None:
    """Whole or not at all."""
    beside = path.with_name(f".{path.name}.new")
    beside.write_bytes(content.encode() if isinstance(content, str) else content)
    os.replace(beside, path)


def compute(runs: list[Run], data: str, processes: int) -> Generator[tuple[Run, Values, float]]:
    """Each run with its result and the seconds that it took, as they come. Closing the iterator ends the processes."""
    if not runs:
        return
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(processes, mp_context=context, initializer=_prepare)
    try:
        waiting: dict[Future[tuple[Values, float]], Run] = {pool.submit(timed, run, data): run for run in runs}
        while waiting:
            done, _ = wait(waiting, return_when=FIRST_COMPLETED)
            for future in done:
                result, seconds = future.result()
                yield waiting.pop(future), result, seconds
    finally:
        children = list((pool._processes or {}).values())
        pool.shutdown(wait=False, cancel_futures=True)
        for child in children:
            child.terminate()


def _prepare() -> None:
    """One thread each: two processes are two cores, and the order of additions does not depend on the machine's."""
    import torch

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's, which keeps what is done
    torch.set_num_threads(1)


def timed(run: Run, data: str) -> tuple[Values, float]:
    """Compute it here."""
    module, _, name = KINDS[run.kind].partition(":")
    function: Callable[..., Values] = getattr(import_module(module), name)
    began = time.process_time()
    result = function(**run.settings, **({"data": data} if run.kind == "train" else {}))
    return json.loads(json.dumps(result)), time.process_time() - began
