"""Streams: everything once and in order, over reconnects; they end when the server stops."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import accumulate, takewhile
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID, uuid4

import httpx
import pytest

from backend.jobs import feed
from backend.jobs import service as jobs
from backend.metrics import service as metrics
from backend.platform import Platform
from backend.settings import BackendSettings
from backend.stream.service import LATEST
from backend.users.service import Caller
from benchmarks import rows
from gradstream.api.platform import TokenScope
from gradstream.metrics import LOSS, Point
from tests.integration.backend.jobs import submit
from tests.support import TIMEOUT, eventually


class Event(NamedTuple):
    id: int | None
    kind: str
    data: Any


@contextmanager
def stream(api: httpx.Client, path: str, last: int | None = None) -> Iterator[Iterator[Event]]:
    headers = {} if last is None else {"Last-Event-ID": str(last)}
    with api.stream("GET", path, headers=headers) as answer:
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/event-stream")
        yield _events(answer.iter_lines())


def _events(lines: Iterator[str]) -> Iterator[Event]:
    fields: dict[str, str] = {}
    for line in lines:
        if line and not line.startswith(":"):
            name, _, value = line.partition(":")
            fields[name] = value.removeprefix(" ")
        elif not line and fields:
            if fields["event"] != "alive":  # which is said when there has been nothing else for a while
                yield Event(int(fields["id"]) if "id" in fields else None, fields["event"], json.loads(fields["data"]))
            fields = {}


def add_metrics(platform: Platform, job_id: str, number: int) -> None:
    point = Point(LOSS.name, 0, number, 10 * number, number, 1000.0 + number, 1.0 / (number + 1))
    with platform.database.transaction() as session:
        metrics.store(session, jobs.lock(session, UUID(job_id)), 1, [("worker-0.0", number, [point])])


def series(events: list[Event]) -> list[dict[str, Any]]:
    return [series for event in events if event.kind == "metrics" for series in event.data["series"]]


def counted(events: list[Event]) -> int:
    return sum(one["count"] for one in series(events))


def test_a_stream_that_is_taken_up_again_has_everything_once(api: httpx.Client, platform: Platform, tmp_path: Path) -> None:
    job_id, seen = submit(api, tmp_path)["id"], list[Event]()
    writer = threading.Thread(target=lambda: [add_metrics(platform, job_id, number) for number in range(40)])
    writer.start()
    last: int | None = None

    def all_told() -> bool:  # the job itself stands where it changed last: that may be behind its last metrics
        return counted(seen) >= 40 and any(event.kind == "job" for event in seen)

    while not all_told():
        with stream(api, f"/jobs/{job_id}/stream", last) as events:
            for event, _ in zip(events, range(3), strict=False):  # the connection breaks after every third
                seen.append(event)
                last = event.id
                if all_told():
                    break
    writer.join()
    told = series(seen)
    assert [one["total"] for one in told] == list(accumulate(one["count"] for one in told)), "no gap and nothing twice"
    assert [one["points"][0][0] for one in told] == [one["total"] - one["count"] for one in told], "each begins where one ended"
    assert sum(one["sum"] for one in told) == pytest.approx(sum(1.0 / (number + 1) for number in range(40)))
    ids = [event.id for event in seen]
    assert ids == sorted(set(ids), key=int)
    assert {event.kind for event in seen} == {"job", "event", "metrics"}
    assert seen[-1].data["seq"] <= jobs_seq(api, job_id)


def jobs_seq(api: httpx.Client, job_id: str) -> int:
    return int(api.get(f"/jobs/{job_id}").json()["seq"])


def test_a_stream_wakes_up_for_a_change(api: httpx.Client, tmp_path: Path) -> None:
    job_id = submit(api, tmp_path)["id"]
    with stream(api, f"/jobs/{job_id}/stream") as events:
        assert [next(events).kind, next(events).kind] == ["event", "job"]
        api.post(f"/jobs/{job_id}/stop")
        assert next(events).data["data"]["to"] == "cancelled"
        job = next(events)
        assert (job.kind, job.data["status"]) == ("job", "cancelled")
        api.delete(f"/jobs/{job_id}")
        assert next(events).kind == "gone"


def test_streams_of_a_job_that_cannot_be_read_end_and_come_back_when_it_can(
    api: httpx.Client, platform: Platform, tmp_path: Path
) -> None:
    job_id = submit(api, tmp_path)["id"]

    def set_progress(value: dict[str, Any]) -> None:
        with platform.database.transaction() as session:
            job = jobs.lock(session, UUID(job_id))
            job.progress = value
            feed.changed(session, job)

    with stream(api, f"/jobs/{job_id}/stream") as events, stream(api, f"/jobs/{job_id}/stream") as others:
        assert [next(events).kind, next(others).kind] == ["event", "event"]
        set_progress({"samples": "many"})
        for each in (events, others):
            assert [event.kind for event in each][-1] == "closing"
    set_progress({"samples": 5})
    with stream(api, f"/jobs/{job_id}/stream") as events:
        assert next(event for event in events if event.kind == "job").data["progress"]["samples"] == 5


def test_the_list_streams_every_job_that_changes(api: httpx.Client, tmp_path: Path) -> None:
    first = submit(api, tmp_path, name="first")["id"]
    with stream(api, "/jobs/stream") as events:
        assert next(events).data["id"] == first
        assert next(events).data["ids"] == []
        second = submit(api, tmp_path, name="second")["id"]
        assert next(events).data["id"] == second
        api.post(f"/jobs/{first}/stop")
        changed = next(events).data
        assert (changed["status"], "spec" in changed) == ("cancelled", False)
        api.delete(f"/jobs/{first}")
        gone = next(events)
        assert (gone.kind, gone.data["ids"]) == ("gone", [first])


def test_every_list_hears_of_a_deleted_job_however_old(api: httpx.Client, platform: Platform) -> None:
    with platform.database.transaction() as session:
        oldest, *_ = ids = [str(id) for id in rows.insert_jobs(session, 250)]
    with stream(api, "/jobs/stream") as events:
        upto = _next_gone(events)["upto"]
        api.delete(f"/jobs/{oldest}")
        assert _next_gone(events)["ids"] == [oldest]
    api.post("/jobs/bulk", json={"action": "delete", "ids": ids[1:4]})
    with stream(api, f"/jobs/stream?since={upto}") as events:
        assert _next_gone(events)["ids"] == sorted(ids[:4])
    with stream(api, "/jobs/stream") as events:
        assert _next_gone(events)["ids"] == sorted(ids[:4]), "a list that was read just before hears of them, too"


def test_a_list_hears_of_the_end_of_a_job_behind_many_newer_ones(api: httpx.Client, platform: Platform, tmp_path: Path) -> None:
    old = submit(api, tmp_path, name="old")["id"]
    with platform.database.transaction() as session:
        rows.insert_jobs(session, LATEST + 50, newest=datetime.now(UTC) + timedelta(days=1))
    with stream(api, "/jobs/stream") as events:
        assert old in [event.data["id"] for event in takewhile(lambda event: event.kind == "job", events)]
        api.post(f"/jobs/{old}/stop")
        ended = next(event.data for event in events if event.kind == "job")
        assert (ended["id"], ended["status"]) == (old, "cancelled")


def test_a_deletion_that_is_committed_late_is_not_missed(api: httpx.Client, platform: Platform) -> None:
    with platform.database.transaction() as session:
        one, other = rows.insert_jobs(session, 2)
    with stream(api, "/jobs/stream") as events:
        _next_gone(events)
        with platform.database.transaction() as session:
            jobs.delete(session, platform, Caller(uuid4(), "ada", TokenScope.FULL, uuid4()), one)
            api.delete(f"/jobs/{other}")
            assert _next_gone(events)["ids"] == [str(other)]
        assert _next_gone(events)["ids"] == [str(one)]


def _next_gone(events: Iterator[Event]) -> dict[str, Any]:
    return next(event.data for event in events if event.kind == "gone")


@pytest.mark.more
def test_a_stop_of_the_server_closes_its_streams(platform: Platform, settings: BackendSettings, token: str, tmp_path: Path) -> None:
    port = _free_port()
    server = subprocess.Popen(
        [sys.executable, "-m", "backend", "api", "--port", str(port)], env=environment(settings), stdout=subprocess.DEVNULL
    )
    headers = {"Authorization": f"Bearer {token}"}
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}/api/v1", headers=headers, trust_env=False, timeout=TIMEOUT) as api:
            eventually(lambda: _healthy(api), "the API's health")
            job_id = submit(api, tmp_path)["id"]
            with stream(api, f"/jobs/{job_id}/stream") as events:
                assert next(events).kind == "event"
                assert next(events).kind == "job"
                server.send_signal(signal.SIGTERM)
                assert next(events).kind == "closing"
                assert next(events, None) is None, "the body ended cleanly"
        assert server.wait(TIMEOUT) in (0, -signal.SIGTERM)
    finally:
        server.kill()
        server.wait()


def _healthy(api: httpx.Client) -> bool:
    try:
        return api.get("/health").status_code == 200
    except httpx.TransportError:
        return False


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def environment(settings: BackendSettings) -> dict[str, str]:
    """The settings as a program is given them."""
    given = settings.model_dump(mode="json", exclude_unset=True, exclude_none=True)
    return {**os.environ, **{f"GRADSTREAM_{name.upper()}": str(value) for name, value in given.items()}}
