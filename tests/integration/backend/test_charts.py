"""Charts, exports and streams of metrics, from what was ingested; and what becomes of it when it is no longer wanted."""

from __future__ import annotations

import csv
import io
import math
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pyarrow.parquet as pq
import pytest
from sqlalchemy import event, text

from backend.away import DatabaseAway
from backend.jobs import service as jobs
from backend.jobs.backoff import JobBackoff
from backend.metrics import keeping, service
from backend.metrics.schemas import Distribution
from backend.platform import Platform
from gradstream.metrics import LOSS, STALENESS, Point
from tests.integration.backend.jobs import submit
from tests.integration.backend.metrics import STEPS, WORKERS, Stream, chart, measured, point, store
from tests.integration.backend.test_stream import stream as read_stream
from tests.support import TIMEOUT, eventually


def test_a_chart_holds_every_point(api: httpx.Client, trained: UUID, platform: Platform) -> None:
    with platform.database.transaction() as session:
        assert session.scalar(text("SELECT waiting FROM metric_stores")) > 0, "else the test says nothing of what waits"
        assert session.scalar(text("SELECT max(level) FROM metric_blocks")) == 1
    found = chart(api, trained, columns=10)
    assert (found["from"], found["to"]) == (0, STEPS - 1)
    assert [one["source"] for one in found["series"]] == [f"worker-{rank}" for rank in range(WORKERS)]
    for rank, one in enumerate(found["series"]):
        assert one["total"] == STEPS
        assert one["columns"]["count"] == [100] * 10
        assert one["columns"]["odd"] == [1] + [0] * 9
        for column in range(10):
            values = [measured(step, rank).value for step in range(100 * column, 100 * column + 100)]
            finite = [value for value in values if math.isfinite(value)]
            got = {name: one["columns"][name][column] for name in ("x", "first", "low", "high", "last", "mean")}
            assert got == {
                "x": 100 * column,
                "first": values[0],
                "low": min(finite),
                "high": max(finite),
                "last": values[-1],
                "mean": pytest.approx(sum(finite) / len(finite)),
            }
    seen = chart(api, trained, x="time", **{"from": 1e9 + 500, "to": 1e9 + 503}, columns=4)
    assert seen["series"][1]["columns"]["first"] == [measured(step, 1).value for step in range(500, 504)]


def test_a_chart_is_sent_again_only_if_something_came(api: httpx.Client, trained: UUID, platform: Platform) -> None:
    path = f"/jobs/{trained}/chart?name={LOSS.name}&name={STALENESS.name}"
    first = api.get(path)
    assert first.headers["content-encoding"] == "gzip"
    assert [one["name"] for one in first.json()["charts"]] == [LOSS.name, STALENESS.name]
    assert api.get(path, headers={"If-None-Match": first.headers["etag"]}).status_code == 304
    assert api.get(f"{path}&columns=5", headers={"If-None-Match": first.headers["etag"]}).status_code == 200
    store(platform, trained, 0, range(STEPS, STEPS + 1))
    assert api.get(path, headers={"If-None-Match": first.headers["etag"]}).status_code == 200
    plain = api.get(path, headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert plain.json()["charts"] == api.get(path).json()["charts"]


def test_what_a_later_attempt_has_undone_is_drawn_by_time_only(api: httpx.Client, platform: Platform, job_id: UUID) -> None:
    store(platform, job_id, 0, range(0, 100))
    store(platform, job_id, 0, range(60, 80), attempt=2)
    [first, second] = chart(api, job_id)["series"]
    assert (max(first["columns"]["x"]), min(second["columns"]["x"]), first["total"]) == (59, 60, 100)
    assert sum(chart(api, job_id, x="time")["series"][0]["columns"]["count"]) == 100


def test_a_distribution_counts_every_point(api: httpx.Client, platform: Platform, trained: UUID) -> None:
    path = f"/jobs/{trained}/distribution"
    asked = {"name": STALENESS.name, "from": 5, "to": 800}
    answer = api.get(path, params=asked)
    found = answer.json()
    Distribution.model_validate(found)
    assert (found["low"], found["width"], found["bins"], found["count"], found["odd"]) == (0, 1, 101, WORKERS * 795, WORKERS)
    for rank, one in enumerate(found["series"]):
        values = [measured(step, rank).value for step in range(5, 801)]
        assert one["counts"] == [values.count(value) for value in range(101)]
        finite = sorted(value for value in values if math.isfinite(value))
        assert (one["count"], one["odd"], one["p50"], one["p99"]) == (795, 1, finite[397], finite[787])
    assert api.get(path, params=asked, headers={"If-None-Match": answer.headers["etag"]}).status_code == 304
    store(platform, trained, 0, range(STEPS, STEPS + 1))
    assert api.get(path, params=asked, headers={"If-None-Match": answer.headers["etag"]}).status_code == 200
    assert api.get(path, params={"name": STALENESS.name}).json()["count"] == WORKERS * (STEPS - 1) + 1
    assert api.get(path, params={**asked, "to": 1}).status_code == 422


def test_what_was_undone_is_not_distributed(api: httpx.Client, platform: Platform, job_id: UUID) -> None:
    store(platform, job_id, 0, range(100, 200))
    store(platform, job_id, 0, range(160, 180), attempt=2)
    found = api.get(f"/jobs/{job_id}/distribution", params={"name": LOSS.name}).json()
    assert [one["count"] for one in found["series"]] == [60, 20]
    assert api.get(f"/jobs/{job_id}/distribution", params={"name": LOSS.name, "x": "time"}).json()["count"] == 120
    nothing = api.get(f"/jobs/{job_id}/distribution", params={"name": "no/such"}).json()
    assert (nothing["from"], nothing["low"], nothing["count"], nothing["p50"], nothing["series"]) == (None, None, 0, None, [])


def test_a_chart_of_nothing_is_empty(api: httpx.Client, job_id: UUID) -> None:
    assert chart(api, job_id) == {"name": LOSS.name, "x": "step", "from": None, "to": None, "series": []}
    assert api.get(f"/jobs/{job_id}/chart?name=x&from=2&to=1").status_code == 422
    assert api.get(f"/jobs/{UUID(int=1)}/chart?name=x").status_code == 404


def test_exports_are_complete_and_in_order(api: httpx.Client, trained: UUID) -> None:
    rows = list(csv.DictReader(io.StringIO(api.get(f"/jobs/{trained}/metrics/export").text)))
    assert list(rows[0]) == ["attempt", "source", "name", "rank", "step", "samples", "version", "time", "value"]
    assert Counter((row["source"], row["name"]) for row in rows) == {
        (f"worker-{rank}", name): STEPS for rank in range(WORKERS) for name in (LOSS.name, STALENESS.name)
    }
    mine = [row for row in rows if (row["source"], row["name"]) == ("worker-1", LOSS.name)]
    assert [int(row["step"]) for row in mine] == list(range(STEPS))
    assert [float(row["value"]) for row in mine] == pytest.approx([measured(s, 1).value for s in range(STEPS)], nan_ok=True)
    answer = api.get(f"/jobs/{trained}/metrics/export", params={"format": "parquet", "name": STALENESS.name})
    table = pq.read_table(io.BytesIO(answer.content))
    assert set(table.column("name").to_pylist()) == {STALENESS.name}
    assert table.num_rows == WORKERS * STEPS
    assert answer.headers["content-disposition"].endswith('-train-staleness.parquet"')
    names = [
        api.get(f"/jobs/{trained}/metrics/export", params=asked).headers["content-disposition"].rpartition("-")[2]
        for asked in ({}, {"name": [LOSS.name, STALENESS.name]}, {"name": 'x"; y'})
    ]
    assert names == ['metrics.csv"'] * 3


def test_a_spreadsheet_finds_no_formula_in_an_export(api: httpx.Client, stream: Stream) -> None:
    stream.send("worker-0.0", 0, *(point(name, -1.5) for name in ("=cmd()", "@x", "+1", "-1", "eval/a=b")))
    stream.ingest()
    rows = list(csv.DictReader(io.StringIO(api.get(f"/jobs/{stream.job_id}/metrics/export").text)))
    assert [row["name"] for row in rows] == ["'=cmd()", "'@x", "'+1", "'-1", "eval/a=b"]
    assert {float(row["value"]) for row in rows} == {-1.5}, "a number below 0 is no formula"
    exported = api.get(f"/jobs/{stream.job_id}/metrics/export", params={"format": "parquet"}).content
    assert pq.read_table(io.BytesIO(exported)).column("name").to_pylist()[0] == "=cmd()", "only spreadsheets read CSV so"


def test_what_was_measured_and_what_it_takes(api: httpx.Client, trained: UUID) -> None:
    items = api.get(f"/jobs/{trained}/metrics/names").json()["items"]
    assert items == [{"name": name, "series": WORKERS, "points": WORKERS * STEPS} for name in sorted((LOSS.name, STALENESS.name))]
    found = api.get(f"/jobs/{trained}/metrics/storage").json()
    assert (found["points"], found["series"], found["keep_for"]) == (2 * WORKERS * STEPS, 2 * WORKERS, None)
    assert 0 < found["bytes"] == found["batches_bytes"] + found["blocks_bytes"] < 60 * found["points"], "far below a row per point"


def test_an_ingest_that_dies_in_the_middle_loses_and_doubles_nothing(api: httpx.Client, platform: Platform, trained: UUID) -> None:
    before = chart(api, trained, columns=3)
    with pytest.raises(DatabaseAway):
        _store_and_die(platform, trained, [measured(step, 0) for step in range(STEPS, STEPS + 5000)])
    assert chart(api, trained, columns=3) == before
    for _ in range(2):
        store(platform, trained, 0, range(STEPS, STEPS + 5000))
    assert chart(api, trained)["series"][0]["total"] == STEPS + 5000
    keeping.fold(platform.database, trained)
    assert sum(chart(api, trained, columns=3)["series"][0]["columns"]["count"]) == STEPS + 5000


def _store_and_die(platform: Platform, job_id: UUID, points: list[Point]) -> None:
    """The connection is lost when all is written and nothing is committed."""
    with platform.database.transaction() as session:
        service.store(session, jobs.lock(session, job_id), 1, [("worker-0.0", STEPS, points)])
        pid = session.scalar(text("SELECT pg_backend_pid()"))
        with platform.database.engine.begin() as other:
            other.execute(text("SELECT pg_terminate_backend(:pid)"), {"pid": pid})


@contextmanager
def statements(platform: Platform, of: str = "") -> Iterator[list[str]]:
    """What is asked of the database meanwhile, of the table `of` or of any."""
    seen: list[str] = []

    def note(connection: Any, cursor: Any, statement: str, *rest: Any) -> None:
        if f"FROM {of}" in statement and statement.lstrip().startswith("SELECT"):
            seen.append(statement)

    event.listen(platform.database.engine, "before_cursor_execute", note)
    try:
        yield seen
    finally:
        event.remove(platform.database.engine, "before_cursor_execute", note)


def test_many_pages_of_one_job_are_one_read(api: httpx.Client, platform: Platform, job_id: UUID) -> None:
    pages, told = 20, Counter[int]()
    began = threading.Barrier(pages + 1)

    def page(number: int) -> None:
        its_own = httpx.Client(base_url=api.base_url, headers=api.headers, trust_env=False, timeout=TIMEOUT)
        with its_own, read_stream(its_own, f"/jobs/{job_id}/stream") as events:
            assert {next(events).kind, next(events).kind} == {"event", "job"}
            began.wait(TIMEOUT)
            while told[number] < 100:
                each = next(events)
                if each.kind == "metrics":
                    told[number] += sum(one["count"] for one in each.data["series"])

    threads = [threading.Thread(target=page, args=(number,)) for number in range(pages)]
    for thread in threads:
        thread.start()
    began.wait(TIMEOUT)
    with statements(platform, "metric_batches \n") as seen:
        store(platform, job_id, 0, range(50))
        for thread in threads:
            thread.join(TIMEOUT)
    assert told == dict.fromkeys(range(pages), 100)
    reads = [statement for statement in seen if "payload" in statement]
    assert len(reads) == 1, reads


def test_retention_takes_the_metrics_of_an_ended_job(api: httpx.Client, platform: Platform, tmp_path: Path) -> None:
    kept, given_up = (UUID(submit(api, tmp_path, retention=how)["id"]) for how in ({}, {"metrics": "1d"}))
    for job_id in (kept, given_up):
        store(platform, job_id, 0, range(3))
        api.post(f"/jobs/{job_id}/stop")
    keeping.tidy(platform.database, JobBackoff(platform.database))
    assert api.get(f"/jobs/{given_up}/metrics/storage").json()["points"] == 6, "not yet"
    with platform.database.transaction() as session:
        assert session.scalar(text("SELECT sum(waiting) FROM metric_stores")) == 0, "what an ended job has left is folded"
        session.execute(text("UPDATE jobs SET ended_at = ended_at - interval '2 days'"))
    keeping.tidy(platform.database, JobBackoff(platform.database))
    keeping.tidy(platform.database, JobBackoff(platform.database))
    assert chart(api, kept)["series"][0]["total"] == 3
    answer = api.get(f"/jobs/{given_up}/chart", params={"name": LOSS.name}).json()
    assert answer["forgotten_at"]
    assert answer["charts"][0]["series"] == []
    storage = api.get(f"/jobs/{given_up}/metrics/storage").json()
    assert (storage["bytes"], storage["points"], storage["keep_for"]) == (0, 0, 86_400.0)
    assert storage["forgotten_at"] == answer["forgotten_at"] or storage["forgotten_at"]
    told = [one for one in api.get(f"/jobs/{given_up}/events").json()["items"] if one["kind"] == "retention"]
    assert ["1 days after the end" in one["message"] for one in told] == [True], "once"
    assert not [one for one in api.get(f"/jobs/{kept}/events").json()["items"] if one["kind"] == "retention"]


def test_a_stream_tells_extremes_of_many_points(api: httpx.Client, platform: Platform, job_id: UUID) -> None:
    values = [5.0, 1.0, math.inf, 9.0, 3.0, 4.0]
    points = [Point(LOSS.name, 0, step, 0, 0, 1e9, value) for step, value in enumerate(values)]
    with platform.database.transaction() as session:
        service.store(session, jobs.lock(session, job_id), 1, [("worker-0.0", 0, points), ("worker-0.0", 1, points[:1])])
    with read_stream(api, f"/jobs/{job_id}/stream") as events:
        told = eventually(lambda: next((one for one in events if one.kind == "metrics"), None), "the event")
    [one] = told.data["series"]
    assert (one["total"], one["count"], one["odd"], one["sum"]) == (7, 7, 1, 27.0)
    assert [(point[0], point[4]) for point in one["points"]] == [(0, 5.0), (1, 1.0), (3, 9.0), (0, 5.0)]
