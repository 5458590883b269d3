"""Batches that user code may have written: none of them keeps others from being stored, and each is told of."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest
from sqlalchemy import text

from backend.db import now
from backend.jobs.backoff import JobBackoff
from backend.jobs.models import AttemptRow
from backend.metrics import admission, ingest, origins
from backend.platform import Platform
from backend.scheduler import finish
from gradstream.metrics import APPLY, LOSS, STALENESS, THROUGHPUT
from gradstream.wire.redis import keys
from tests.integration.backend.jobs import submit
from tests.integration.backend.metrics import Stream, point, stored

RECORD = [1000.0, 0, 1, 0, 0, LOSS.name, 1.0]
BIG = 2**63


def record(place: int, value: Any) -> bytes:
    changed: list[Any] = list(RECORD)
    changed[place] = value
    return json.dumps([RECORD, changed]).encode()


def raw(stream: Stream, **fields: Any) -> None:
    whole = {"source": "worker-0.0", "batch": 0, "points": json.dumps([RECORD]), **fields}
    stream.platform.plane.xadd(keys.metrics(stream.j), {name: value for name, value in whole.items() if value is not None})


def warnings(api: httpx.Client, stream: Stream) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = api.get(f"/jobs/{stream.job_id}/events").json()["items"]
    return [event for event in items if event["kind"] == "warning"]


REFUSED = {
    "a step beyond 64 bits": ({"points": record(2, BIG)}, "step", "count from 0"),
    "samples beyond 64 bits": ({"points": record(3, -BIG - 1)}, "samples", "count from 0"),
    "a version of 400 digits": ({"points": record(4, 10**400)}, "version", "count from 0"),
    "a rank beyond 32 bits": ({"points": record(1, 2**31)}, "rank", "count from 0"),
    "a time that is none": ({"points": record(0, math.nan)}, "time", "seconds since the epoch"),
    "a time beyond all years": ({"points": record(0, 1e308)}, "time", "seconds since the epoch"),
    "a list for a value": ({"points": record(6, [1.0])}, "value", "send numbers"),
    "a record without a value": ({"points": b'[[1,0,1,0,0,"train/loss"]]'}, "points", "send [time, rank"),
    "no list": ({"points": b'{"a": 1}'}, "points", "send [time, rank"),
    "no JSON": ({"points": b"\xff\x00"}, "points", "gradstream.wire.telemetry.records"),
    "depths": ({"points": b"[" * 100_000}, "points", "gradstream.wire.telemetry.records"),
    "a number of a batch beyond 64 bits": ({"batch": BIG}, "batch", "count batches from 0"),
    "no number": ({"batch": "one"}, "points", "gradstream.wire.telemetry.records"),
    "no points": ({"points": None}, "points", "gradstream.wire.telemetry.records"),
    "a long source": ({"source": "a" * 9000 + ".0"}, "source", "leave it"),
    "an enormous batch": ({"points": b"[" + b" " * admission.LARGEST + b"]"}, "points", "send it as several"),
}


@pytest.mark.few(2)
@pytest.mark.parametrize("kind", REFUSED)
def test_a_batch_that_cannot_be_stored_is_told_of_and_holds_up_nothing(api: httpx.Client, stream: Stream, kind: str) -> None:
    fields, field, remedy = REFUSED[kind]
    stream.send("worker-1.0", 0, point(LOSS.name, 2.0))
    raw(stream, **fields)
    raw(stream, **fields)
    stream.send("worker-1.0", 1, point(LOSS.name, 3.0))
    stream.ingest()
    assert stream.waiting == 0
    assert stored(api, stream.job_id) == [("worker-1", 1, 2.0), ("worker-1", 1, 3.0)]
    [told] = warnings(api, stream)
    assert told["data"]["field"] == field
    assert remedy in told["message"]
    assert api.get(f"/jobs/{stream.job_id}").json()["progress"]["alerts"] == [told["message"]]
    raw(stream, **fields, **({} if "batch" in fields else {"batch": 1}))
    stream.ingest()
    assert len(warnings(api, stream)) == 1, "once for a process and field"


HARMLESS = {
    "a NUL in the source": {"source": "worker-0\x00.0"},
    "half a character in a name": {"points": record(5, "eval/\ud800")},
    "an empty batch": {"points": b"[]"},
    "the greatest places": {"points": json.dumps([[1e9, 0, *3 * [BIG - 1], LOSS.name, 1], [1e9, 0, *3 * [-BIG], LOSS.name, 2]])},
    "values whose sum is not finite": {
        "points": json.dumps(
            [[1e9, 0, i, 1, 1, name, 1.7e308] for i in (1, 2) for name in (LOSS.name, STALENESS.name, THROUGHPUT.name, "eval/x")]
        )
    },
    "times of a shard whose sum is not finite": {
        "source": "server-0.0",
        "points": json.dumps([[1e9, -1, 2**62, 1, 1, APPLY.name, 1e307]]),
    },
}


@pytest.mark.few(2)
@pytest.mark.parametrize("kind", HARMLESS)
def test_what_is_strange_is_stored_and_drawn(api: httpx.Client, stream: Stream, kind: str) -> None:
    raw(stream, **HARMLESS[kind])
    stream.send("worker-1.0", 0, point(LOSS.name, 2.0))
    stream.ingest()
    assert stream.waiting == 0
    assert ("worker-1", 1, 2.0) in stored(api, stream.job_id)
    assert not warnings(api, stream)
    assert api.get(f"/jobs/{stream.job_id}").status_code == 200
    assert api.get("/jobs", params={"sort": "loss"}).status_code == 200
    for axis in ("step", "samples", "version", "time"):
        for name in (LOSS.name, STALENESS.name):
            for what in ("chart", "distribution"):
                answer = api.get(f"/jobs/{stream.job_id}/{what}", params={"name": name, "x": axis})
                assert answer.status_code == 200, (what, axis, answer.text)


def test_of_a_batch_with_a_long_name_the_rest_is_stored(api: httpx.Client, stream: Stream) -> None:
    stream.send("evaluator.0", 0, point("eval/" + "".join(chr(0x4E00 + place) for place in range(9000)), 1.0), point("eval/a", 2.0))
    stream.ingest()
    assert stored(api, stream.job_id) == [("evaluator", 1, 2.0)]
    [told] = warnings(api, stream)
    assert told["data"] == {"source": "evaluator", "field": "name"}
    assert "9,005 characters" in told["message"]


def test_of_a_batch_with_an_empty_name_the_rest_is_stored(api: httpx.Client, stream: Stream) -> None:
    """The page asks for charts by names, and an empty one is none."""
    stream.send("evaluator.0", 0, point("", 1.0), point("eval/a", 2.0))
    stream.ingest()
    assert [item["name"] for item in api.get(f"/jobs/{stream.job_id}/metrics/names").json()["items"]] == ["eval/a"]
    [told] = warnings(api, stream)
    assert "it is empty; give the metric a name" in told["message"]


def test_a_metric_for_each_sample_ends_at_a_limit(api: httpx.Client, stream: Stream, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(origins, "MAX_SERIES", 10)
    for batch in range(4):
        named = [point(f"eval/sample_{batch}_{place}", 1.0) for place in range(4)]
        stream.send("evaluator.0", batch, *named, point("eval/sample_0_0", 2.0, step=batch))
    stream.ingest()
    names = api.get(f"/jobs/{stream.job_id}/metrics/names").json()["items"]
    assert len(names) == 10
    assert next(one for one in names if one["name"] == "eval/sample_0_0")["points"] == 5, "what is known goes on"
    assert len(api.get(f"/jobs/{stream.job_id}").json()["progress"]["eval"]) == 10
    [told] = warnings(api, stream)
    assert "measure less" in told["message"]


def test_many_names_of_a_job_displace_no_series_of_the_platform_and_fill_no_list(api: httpx.Client, stream: Stream) -> None:
    names = [f"eval/{'long' * 10}_{number}" for number in range(6_000)]
    stream.send("worker-1.0", 0, *(point(name, 1.0, rank=1) for name in names))
    stream.send("worker-1.0", 1, *(point(LOSS.name, 1.0, rank=rank) for rank in range(-2, 5_000)))
    stream.send("evaluator.0", 0, *(point(name, 1.0) for name in names), point("eval/accuracy", 0.5))
    stream.send("nobody", 0, *(point(f"mine/{number}", 1.0) for number in range(100)))
    stream.send("server-0.0", 0, point(APPLY.name, 2.0, rank=-1), point(STALENESS.name, 3.0, rank=1))
    stream.send("worker-0.0", 0, point(LOSS.name, 4.0, rank=0))
    stream.ingest()
    for name, source in ((APPLY, "server-0"), (STALENESS, "server-0"), (LOSS, "worker-0")):
        assert stored(api, stream.job_id, name=name.name, source=source), "what the platform measures is stored"
    kept = {one["name"]: one["series"] for one in api.get(f"/jobs/{stream.job_id}/metrics/names").json()["items"]}
    own = sum(series for name, series in kept.items() if name in (APPLY.name, STALENESS.name))
    assert sum(kept.values()) - own <= origins.MAX_SERIES + 66
    progress = api.get(f"/jobs/{stream.job_id}").json()["progress"]
    assert progress["eval"]["accuracy"] == 0.5
    assert len(json.dumps(progress)) < 32_000
    [row] = api.get("/jobs").json()["items"]
    assert row["progress"]["eval"]["accuracy"] == 0.5
    assert len(json.dumps(row)) < 8_000


def test_many_large_batches_are_stored_in_parts(api: httpx.Client, stream: Stream, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingest, "LARGE", 3000)
    monkeypatch.setattr("gradstream.wire.plane._AT_ONCE", 10_000)
    for batch in range(40):
        stream.send("worker-0.0", batch, *(point(LOSS.name, 1.0, step=20 * batch + place) for place in range(20)))
    assert stream.ingest() == 40
    assert [step for _, step, _ in stored(api, stream.job_id)] == list(range(800))


@contextmanager
def rule(platform: Platform, table: str, check: str) -> Iterator[None]:
    """A fault that nobody has foreseen: a rule that only the database knows."""
    with platform.database.transaction() as session:
        session.execute(text(f"ALTER TABLE {table} ADD CONSTRAINT nobody_knew CHECK ({check}) NOT VALID"))
    try:
        yield
    finally:
        with platform.database.transaction() as session:
            session.execute(text(f"ALTER TABLE {table} DROP CONSTRAINT nobody_knew"))


def test_what_postgres_refuses_is_found_among_others(api: httpx.Client, stream: Stream, platform: Platform) -> None:
    for batch, name in enumerate((LOSS.name, "eval/13", LOSS.name)):
        stream.send("worker-0.0", batch, point(name, 1.0, step=batch))
    with rule(platform, "metric_series", "name <> 'eval/13'"):
        assert stream.ingest() == 3
    assert [step for _, step, _ in stored(api, stream.job_id)] == [0, 2]
    [told] = warnings(api, stream)
    assert "nobody_knew" in told["message"]


def test_a_job_whose_metrics_cannot_be_stored_keeps_no_other_waiting(
    api: httpx.Client, platform: Platform, stream: Stream, tmp_path: Path
) -> None:
    other = Stream(platform, UUID(submit(api, tmp_path)["id"]))
    for each in (stream, other):
        each.send("worker-0.0", 0, point(LOSS.name, 1.0))
        with platform.database.transaction() as session:
            ended = {"started_at": now(session), "ended_at": now(session)}
            session.add(AttemptRow(job_id=each.job_id, number=1, status="lost", plane_open=True, **ended))
    with rule(platform, "metric_batches", f"job_id <> '{stream.job_id}'"):
        finish.sweep(platform, JobBackoff(platform.database))
    assert len(stored(api, other.job_id)) == 1
    assert stream.waiting == 1, "its points are kept"
    finish.sweep(platform, JobBackoff(platform.database))
    assert len(stored(api, stream.job_id)) == 1
