"""Every headline number of a job once more, from its exported points alone. Shares no code with the product.

`differences(job, overview, distribution, csv)` takes what REST says and returns a sentence for each number that is not true.
"""

from __future__ import annotations

import csv
import io
import math
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np


class Row(NamedTuple):
    source: str
    name: str
    rank: int
    step: int
    samples: int
    version: int
    time: float
    value: float


def rows_of(text: str, attempt: int) -> list[Row]:
    """The points of one attempt, in the order in which they were stored."""
    return [_row(line) for line in csv.DictReader(io.StringIO(text)) if int(line["attempt"]) == attempt]


def _row(line: dict[str, str]) -> Row:
    whole = [int(line[name]) for name in ("rank", "step", "samples", "version")]
    return Row(line["source"], line["name"], *whole, float(line["time"]), float(line["value"]) if line["value"] else math.nan)


def differences(job: dict[str, Any], overview: dict[str, Any], distribution: dict[str, Any], text: str) -> list[str]:
    """Of a job that has ended after one attempt."""
    rows = rows_of(text, job["attempt"])
    checks = (
        *_progress(job, rows),
        *_losses(job, rows),
        *_evaluations(job, overview, rows),
        *_staleness(job, distribution, rows),
        *_pushes(overview, rows),
        *_exchange(job, rows),
        *_shards(job, rows),
        *_time(job, overview, rows),
    )
    return [f"{what}: shown {shown!r}, true {true!r}" for what, shown, true in checks if not _same(shown, true)]


Check = tuple[str, Any, Any]
"""What it is, the number that is shown, and the true one."""


def _same(shown: Any, true: Any) -> bool:
    if isinstance(shown, bool) or isinstance(true, bool) or not (isinstance(shown, int | float) and isinstance(true, int | float)):
        return bool(shown == true)
    return math.isclose(shown, true, rel_tol=1e-6, abs_tol=1e-9)


def _named(rows: list[Row], name: str) -> list[Row]:
    return [row for row in rows if row.name == name]


def _last(rows: list[Row], name: str) -> dict[int, float]:
    """The last value of each rank."""
    return {row.rank: row.value for row in _named(rows, name)}


def _progress(job: dict[str, Any], rows: list[Row]) -> Iterator[Check]:
    shown = job["progress"]
    yield "samples", shown["samples"], max((row.samples for row in rows), default=0)
    yield "version", shown["version"], max((row.version for row in rows), default=0)
    shares, trained = _last(rows, "train/share"), _last(rows, "time/compute")
    steps = {rank: max((row.step for row in _named(rows, "time/compute") if row.rank == rank), default=0) for rank in shares}
    left = {rank for rank, active in _last(rows, "train/active").items() if active == 0}
    whole = {rank: min(share, steps[rank]) if rank in left else share for rank, share in shares.items()}
    if sum(whole.values()):
        yield "done", shown["done"], sum(min(whole[rank], steps[rank]) for rank in shares) / sum(whole.values())
    if job["status"] == "succeeded":
        yield "time left at the end", shown["seconds_left"], 0.0
        yield "workers that trained", sorted(trained), sorted(shares)


def _losses(job: dict[str, Any], rows: list[Row]) -> Iterator[Check]:
    last = _last(rows, "train/loss")
    bad = sorted(rank for rank, loss in last.items() if not math.isfinite(loss))
    yield "workers whose loss is not finite", job["progress"]["not_finite"], bad
    if last:
        yield "training loss", job["progress"]["loss"], None if bad else float(np.mean(list(last.values())))


def _evaluations(job: dict[str, Any], overview: dict[str, Any], rows: list[Row]) -> Iterator[Check]:
    best = {mark["metric"]: mark for mark in overview["best"]}
    for name in sorted({row.name for row in rows if row.name.startswith("eval/")}):
        values = [row.value for row in _named(rows, name) if math.isfinite(row.value)]
        if values:
            yield f"latest {name}", job["progress"]["eval"][name.removeprefix("eval/")], values[-1]
            yield f"best {name}", best[name]["value"], max(values) if best[name]["higher_is_better"] else min(values)


def _staleness(job: dict[str, Any], distribution: dict[str, Any], rows: list[Row]) -> Iterator[Check]:
    values = np.array([row.value for row in _named(rows, "train/staleness")])
    if len(values):
        yield "mean staleness", job["progress"]["mean_staleness"], float(values.mean())
        for part in ({"rank": None, **distribution}, *distribution["series"]):
            own = np.array([row.value for row in _named(rows, "train/staleness") if part["rank"] in (None, row.rank)])
            who = "all" if part["rank"] is None else f"worker {part['rank']}"
            yield f"pushes of {who} in the distribution", part["count"], len(own)
            for name, share in (("p50", 50), ("p90", 90), ("p99", 99)):
                yield f"staleness, {name} of {who}", part[name], float(np.percentile(own, share, method="inverted_cdf"))


_OUTCOMES = ("applied", "deferred", "dropped", "pending")
_REASONS = ("stale", "quorum", "not_finite", "superseded")


def _pushes(overview: dict[str, Any], rows: list[Row]) -> Iterator[Check]:
    ledger = overview["ledger"]
    if ledger is None:
        yield "ledger", None, None if not _named(rows, "ledger/pushed") else "some"
        return
    for name in ("pushed", *_OUTCOMES, *(f"dropped_{reason}" for reason in _REASONS)):
        yield f"pushes {name}", ledger[name], sum(_last(rows, f"ledger/{name}").values())
    yield "outcomes add up", ledger["pushed"], sum(ledger[outcome] for outcome in (*_OUTCOMES, "rolled_back"))
    yield "reasons add up", ledger["dropped"], sum(ledger[f"dropped_{reason}"] for reason in _REASONS)
    yield "norms are of decided pushes", len(_named(rows, "push/norm")), ledger["pushed"] - ledger["pending"]
    yield "staleness is of those that counted", len(_named(rows, "train/staleness")), ledger["applied"] + ledger["deferred"]


def _exchange(job: dict[str, Any], rows: list[Row]) -> Iterator[Check]:
    shown = job["progress"]["exchange"]
    pushes = len(_named(rows, "time/compute"))
    if shown is None:
        yield "exchange", None, None if not pushes else "some"
        return
    yield "pushes measured", shown["pushes"], pushes
    times = [f"time/{part}" for part in ("compute", "data", "send", "wait")]
    for name in (*times, *(f"push/{part}_bytes" for part in ("sent", "raw", "received"))):
        field = name.partition("/")[2]
        yield f"{field} of a push", shown[field], math.fsum(row.value for row in _named(rows, name)) / pushes


def _shards(job: dict[str, Any], rows: list[Row]) -> Iterator[Check]:
    for shard in job["progress"]["shards"]:
        own = [row for row in rows if row.source == f"server-{shard['rank']}"]
        [held] = _named(own, "server/slice_bytes")
        yield f"slice of shard {shard['rank']}", shard["slice_bytes"], held.value
        entries, seconds = 0, 0.0
        for row in _named(own, "server/apply"):
            seconds, entries = seconds + row.value * (row.step - entries), row.step
        if entries:
            last = _named(own, "server/apply")[-1].time
            yield f"apply of shard {shard['rank']}", shard["apply"], seconds / entries
            yield f"share that shard {shard['rank']} worked", shard["busy"], min(1.0, seconds / (last - held.time))


def _time(job: dict[str, Any], overview: dict[str, Any], rows: list[Row]) -> Iterator[Check]:
    first = [row for row in rows if row.source == "server-0"]
    began = next((row for row in first if row.name == "train/active"), None)
    changed = [row for row in first if began and row.name == "push/norm" and row.samples > began.samples]
    if began is None or not changed:
        return
    end = next(row for row in changed if row.samples == max(each.samples for each in changed))
    rate = (end.samples - began.samples) / (end.time - began.time)
    yield "throughput, samples over wall clock", job["progress"]["mean_samples_per_second"], rate
    took = max(row.time for row in rows if row.name == "train/active" and row.value == 0) if job["status"] == "succeeded" else None
    if took:
        yield "seconds of training", overview["seconds"], took - began.time
    speed = overview["speed"]
    if speed and speed["factor"] is not None:
        alone = float(np.median(list(_alone(rows).values())))
        yield "one alone", speed["one_alone"], alone
        yield "speed-up", speed["factor"], rate / alone
        yield "the speed-up is measured", min(_last(rows, "time/on_core").values()) > 0.5, True


def _alone(rows: list[Row]) -> dict[int, float]:
    """Samples per second of each worker while it computes and fetches data, without its first push."""
    total = next(row.value for row in rows if row.name == "train/total_samples")
    examples = total / sum(_last(rows, "train/share").values())
    spent: dict[int, float] = defaultdict(float)
    places: dict[int, list[int]] = defaultdict(list)
    for row in _named(rows, "time/compute"):
        places[row.rank].append(row.step)
    for row in rows:
        if row.name in ("time/compute", "time/data") and row.step != places[row.rank][0]:
            spent[row.rank] += row.value
    return {rank: examples * (steps[-1] - steps[0]) / spent[rank] for rank, steps in places.items() if spent[rank]}
