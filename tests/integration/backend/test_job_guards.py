"""What fails for one job is set aside with an event and a remedy. The other jobs, the controller and the node's heartbeat go on."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
from sqlalchemy import text

from backend.jobs import backoff
from backend.jobs import repository as job_rows
from backend.jobs.backoff import JobBackoff
from backend.platform import Platform
from backend.scheduler.controller import Controller
from backend.scheduler.placing.waiting_line import WaitingLine
from backend.wakeups.wakeup import CHANNEL
from gradstream.metrics import LOSS
from tests.integration.backend.agent import Agent
from tests.integration.backend.jobs import submit, workers
from tests.integration.backend.metrics import Stream, point, store
from tests.integration.backend.running import Running
from tests.integration.backend.test_away import failing
from tests.support import eventually

BEYOND = "1" + "0" * 400
"""A number that JSON and Python hold, and no float does."""


def change_spec(platform: Platform, job_id: str, path: str, value: str) -> None:
    """As an earlier version may have stored it."""
    with platform.database.transaction() as session:
        statement = "UPDATE jobs SET spec = jsonb_set(spec, CAST(:path AS text[]), CAST(:value AS jsonb)) WHERE id = :id"
        session.execute(text(statement), {"path": path, "value": value, "id": job_id})


def warnings_of(api: httpx.Client, job_id: str) -> list[str]:
    return [event["message"] for event in api.get(f"/jobs/{job_id}/events").json()["items"] if event["kind"] == "warning"]


def status_of(api: httpx.Client, job_id: str) -> str:
    return str(api.get(f"/jobs/{job_id}").json()["status"])


def test_a_job_that_cannot_be_placed_holds_up_no_other(
    api: httpx.Client, agent: Agent, controller: Controller, platform: Platform, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backoff, "RETRY_INTERVAL", 0.0)
    broken, normal = (submit(api, tmp_path, name=name, roles=workers(1))["id"] for name in ("broken", "normal"))
    change_spec(platform, broken, "{strategy,name}", '"levitate"')
    for _ in range(3):
        controller.run_once()
    assert status_of(api, normal) == "starting"
    with platform.database.transaction() as session:
        told = [event.message for event in job_rows.events(session, UUID(broken), kinds=["warning"])]
    assert len(told) == 1, "once"
    assert "cannot place this job (ValidationError" in told[0]
    assert "Cancel the job" in told[0]


def test_numbers_that_no_float_holds_neither_end_the_queue_nor_a_plan(
    api: httpx.Client, agent: Agent, controller: Controller, platform: Platform, tmp_path: Path
) -> None:
    trained = submit(api, tmp_path, name="trained", roles=workers(1))["id"]
    store(platform, UUID(trained), 0, range(1))
    auto = {"server": {"count": 1, "device": "auto"}, "worker": {"count": 1, "device": "cpu"}}
    absurd, normal = (submit(api, tmp_path, name=name, roles=auto)["id"] for name in ("absurd", "normal"))
    change_spec(platform, absurd, "{batch_size}", BEYOND)
    with platform.database.transaction() as session:
        figures = '{"pushes": 1, "sums": {"push/compute": 1.0}, "shards": {"0": {"slice_bytes": 64}}}'
        statement = "UPDATE jobs SET progress = jsonb_set(progress, '{figures}', CAST(:figures AS jsonb)) WHERE id = :id"
        session.execute(text(statement), {"id": trained, "figures": figures})
        WaitingLine(JobBackoff(platform.database)).place(session)
    assert status_of(api, normal) == "starting"


def test_a_full_disk_is_named_as_the_reason(running: Running, platform: Platform, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backoff, "RETRY_INTERVAL", 0.0)
    Stream(platform, UUID(running.id)).send("worker-0.0", 1, point(LOSS.name, 0.5))
    with failing(platform, "metric_batches", "53100"):
        for _ in range(6):
            running.controller.run_once()
    [told] = warnings_of(running.api, running.id)
    assert told.startswith("The controller cannot store metrics of this job (")
    assert told.endswith("The disk of the control plane is full: free some space on it.")


def test_a_retention_beyond_every_date_stops_no_other(
    api: httpx.Client, platform: Platform, controller: Controller, tmp_path: Path
) -> None:
    values = ("99999999999", "8.64e15", BEYOND, '"for ever"', "86400")
    ids = [submit(api, tmp_path, name=f"job-{number}", retention={"metrics": "1d"})["id"] for number in range(len(values))]
    for job_id, value in zip(ids, values, strict=True):
        store(platform, UUID(job_id), 0, range(2))
        api.post(f"/jobs/{job_id}/stop")
        change_spec(platform, job_id, "{retention,metrics}", value)
    with platform.database.transaction() as session:
        session.execute(text("UPDATE jobs SET ended_at = ended_at - interval '2 days'"))
    controller.run_once()
    with platform.database.transaction() as session:
        forgotten = session.scalars(text("SELECT CAST(job_id AS text) FROM metric_stores WHERE forgotten_at IS NOT NULL"))
        assert list(forgotten) == [ids[-1]]


def test_what_cannot_be_done_for_one_job_of_a_lost_node_or_a_heartbeat_is_done_for_the_others(
    running: Running, platform: Platform, tmp_path: Path
) -> None:
    api, controller, agent = running.api, running.controller, running.agent
    other = submit(api, tmp_path, name="other", roles=workers(1))["id"]
    controller.run_once()
    with failing(platform, "processes", "22003", f"NEW.job_id = '{running.id}'"):
        agent.heartbeat()
        agent.run_all()
        controller.run_once()
        assert status_of(api, other) == "running", "its heartbeat counts"
        assert running.job["status"] == "running", "nor is the one that fails ended by it"
        with platform.database.transaction() as session:
            session.execute(text("UPDATE nodes SET last_seen_at = last_seen_at - interval '11 min'"))
            session.execute(
                text(
                    "INSERT INTO presence VALUES ('api', now() - interval '1 h', now()) ON CONFLICT (service) DO UPDATE "
                    "SET up_since = excluded.up_since, last_seen_at = excluded.last_seen_at"
                )
            )
        controller.run_once()
        assert status_of(api, other) == "queued", "lost with its node"
    assert set(running.processes(1).values()) == {"running"}
    assert ["on a lost node" in told for told in warnings_of(api, running.id)] == [True]
    with platform.database.transaction() as session:
        session.execute(text("UPDATE presence SET last_seen_at = now()"))
    controller._backoff.forget("lose", UUID(running.id))
    controller.run_once()
    assert set(running.processes(1).values()) == {"lost"}, "tried again"


def test_nothing_ends_the_controller(platform: Platform, monkeypatch: pytest.MonkeyPatch) -> None:
    """Passes that raise what nobody foresaw are logged, and the next ones follow; junk in between is heard by nobody."""
    controller, passes = Controller(platform), list[int]()

    def run_once() -> bool:
        passes.append(len(passes))
        raise [ZeroDivisionError("nobody foresaw this"), RecursionError(), MemoryError()][len(passes) % 3]

    monkeypatch.setattr(controller, "run_once", run_once)
    monkeypatch.setattr("backend.scheduler.controller.LONGEST_BACKOFF", 0.01)
    thread = threading.Thread(target=controller.run)
    thread.start()
    eventually(lambda: len(passes) > 5, "passes after passes that failed")
    platform.wakeup._live.publish(CHANNEL, b"\xff garbage")
    controller.stop()
    thread.join(20)
    assert not thread.is_alive()


def test_a_part_of_a_pass_that_fails_holds_up_no_other_part(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise ZeroDivisionError("nobody foresaw this")

    monkeypatch.setattr("backend.scheduler.controller.WaitingLine.place", fail)
    monkeypatch.setattr("backend.scheduler.controller.finish.sweep", fail)
    running.succeed()
    assert running.status == ("succeeded", None)


def test_a_listener_goes_on_after_junk_and_after_its_own_failure(platform: Platform, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("backend.wakeups.wakeup._AGAIN", 0.01)
    heard, stopped, fails = list[UUID](), threading.Event(), [True]

    def hear(job_id: UUID) -> None:
        if fails.pop() if fails else False:
            raise ZeroDivisionError("nobody foresaw this")
        heard.append(job_id)

    thread = threading.Thread(target=platform.wakeup.follow, args=(stopped, hear))
    thread.start()
    job = uuid4()

    def send_until(done: Callable[[], object]) -> None:
        def look() -> object:
            for junk in (b"garbage", b"\xff\xfe\x00", b"a b c", b"[]" * 1000):
                platform.wakeup._live.publish(CHANNEL, junk)
            platform.wakeup.send(job)
            return done()

        eventually(look, "the wake-up")

    send_until(lambda: not fails)
    send_until(lambda: heard)
    stopped.set()
    thread.join(10)
    assert not thread.is_alive()
    assert set(heard) == {job}
