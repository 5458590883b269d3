"""Lists of jobs: any order with ties and missing values, page by page; filters; many jobs at once; the queue."""

from __future__ import annotations

import itertools
import random
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest
from sqlalchemy import text

from backend.jobs import repository as job_rows
from backend.jobs.lists.schemas import JobSort
from backend.metrics import service as metrics
from backend.platform import Platform
from backend.scheduler import finish
from backend.scheduler.controller import Controller
from benchmarks import rows
from gradstream.metrics import ACTIVE, LOSS, STALENESS, Point
from gradstream.wire import plane
from tests.integration.backend.agent import Agent
from tests.integration.backend.jobs import submit, workers
from tests.integration.backend.running import Running

KEYS = {"created": "created_at", "throughput": "samples_per_second", "staleness": "mean_staleness"}


def insert_jobs(platform: Platform, count: int, **options: Any) -> list[UUID]:
    with platform.database.transaction() as session:
        return rows.insert_jobs(session, count, **options)


def pages(api: httpx.Client, limit: int, **query: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    cursor = None
    while True:
        page = api.get("/jobs", params={"limit": limit, **query, **({"cursor": cursor} if cursor else {})}).json()
        assert len(page["items"]) <= limit
        found += page["items"]
        assert (page["total"] is None) == (cursor is not None)
        if (cursor := page["next_cursor"]) is None:
            return found


def shown(job: dict[str, Any], sort: str) -> Any:
    if sort == "accuracy":
        return job["progress"]["eval"].get("accuracy")
    key = KEYS.get(sort, sort)
    return job["progress"][key] if sort in ("loss", "throughput", "staleness") else job[key]


@pytest.mark.few(4)
@pytest.mark.parametrize("descending", [True, False])
@pytest.mark.parametrize("sort", JobSort)
def test_every_order_has_each_job_once_with_ties_and_missing_values(
    sort: str, descending: bool, api: httpx.Client, platform: Platform
) -> None:
    insert_jobs(platform, 67, owners=("ada", "bob"))
    found = pages(api, 7, sort=sort, descending=descending)
    assert len({job["id"] for job in found}) == len(found) == 67
    values = [shown(job, sort) for job in found]
    known = [value for value in values if value is not None]
    assert values[: len(known)] == known, "those without a value come last"
    assert known == sorted(known, reverse=descending)
    assert len(set(known)) < len(known) or sort == "created", "there are ties"
    keyed = [(str(shown(job, sort)), job["created_at"], job["id"]) for job in found]
    for before, after in itertools.pairwise(keyed):
        assert before[0] != after[0] or (before[1:] > after[1:]) == descending, "ties stand by the time of submission"


def test_a_page_goes_on_behind_a_row_whatever_comes_or_goes(api: httpx.Client, platform: Platform) -> None:
    ids = insert_jobs(platform, 20)
    first = api.get("/jobs", params={"limit": 8}).json()
    new = insert_jobs(platform, 3, seed=1)
    with platform.database.transaction() as session:
        session.execute(text("DELETE FROM jobs WHERE id = :id"), {"id": first["items"][-1]["id"]})
    rest = api.get("/jobs", params={"limit": 200, "cursor": first["next_cursor"]}).json()["items"]
    assert [job["id"] for job in (*first["items"], *rest)] == [str(id) for id in reversed(ids)]
    assert not {str(id) for id in new} & {job["id"] for job in rest}


def test_a_cursor_belongs_to_its_order(api: httpx.Client, platform: Platform) -> None:
    insert_jobs(platform, 5)
    cursor = api.get("/jobs", params={"limit": 2, "sort": "name"}).json()["next_cursor"]
    answer = api.get("/jobs", params={"sort": "loss", "cursor": cursor})
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "/query/cursor")


def test_filters_and_counts_agree(api: httpx.Client, platform: Platform) -> None:
    insert_jobs(platform, 80, owners=("ada", "bob"))
    everything, counts = pages(api, 200), api.get("/jobs/counts").json()
    asked = {"status": ["succeeded", "failed"], "strategy": ["adag", "sync"], "user": "bob"}
    found = api.get("/jobs", params={**asked, "limit": 200}).json()
    fits = [
        job["id"]
        for job in everything
        if job["status"] in asked["status"] and job["strategy"] in asked["strategy"] and job["user"] == "bob"
    ]
    assert fits
    assert [job["id"] for job in found["items"]] == fits
    assert found["total"] == len(fits)
    for kind in ("status", "strategy", "user"):
        assert sum(counts[kind].values()) == 80
        assert all(counts[kind][value] == sum(job[kind] == value for job in everything) for value in counts[kind])
    one = everything[random.Random(0).randrange(80)]
    assert [job["id"] for job in api.get("/jobs", params={"q": one["id"][:8]}).json()["items"]] == [one["id"]]


def test_many_jobs_are_changed_at_once_and_each_is_told_of(running: Running, tmp_path: Path) -> None:
    api = running.api
    waiting = submit(api, tmp_path, name="waits")["id"]
    nobody = "00000000-0000-0000-0000-000000000000"
    answer = api.post("/jobs/bulk", json={"action": "stop", "ids": [running.id, nobody, waiting]}).json()["items"]
    assert [(item["id"], item["done"]) for item in answer] == [(running.id, True), (nobody, False), (waiting, True)]
    assert "no job" in answer[1]["message"]
    assert running.status == ("stopping", "stopped_by_user")
    answer = api.post("/jobs/bulk", json={"action": "delete", "ids": [running.id, waiting]}).json()["items"]
    assert [item["done"] for item in answer] == [False, True]
    assert "Stop it first" in answer[0]["message"]
    assert [job["id"] for job in api.get("/jobs").json()["items"]] == [running.id]
    assert api.post("/jobs/bulk", json={"action": "delete", "ids": [nobody] * 501}).status_code == 422


@pytest.mark.more
def test_nothing_is_left_of_jobs_that_are_deleted_at_once(
    api: httpx.Client, agent: Agent, controller: Controller, platform: Platform, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finish, "sweep", lambda platform: None)  # they are deleted before a controller has cleaned up
    jobs, planes = [], []
    for name in ("one", "two"):
        jobs.append(running := Running(api, agent, controller, tmp_path, name=name))
        planes.append(agent.order("worker-0").plane_id)
        running.succeed()
        assert running.status == ("succeeded", None)
    folders = [platform.files.of_job(UUID(job.id)) for job in jobs]
    assert all(folder.exists() for folder in folders)
    assert all(plane.exists(platform.plane, j) and platform.plane.acl_getuser(plane.account(j)) for j in planes)  # type: ignore[no-untyped-call]
    answer = api.post("/jobs/bulk", json={"action": "delete", "ids": [job.id for job in jobs]}).json()["items"]
    assert [item["done"] for item in answer] == [True, True]
    for j in planes:
        assert not plane.exists(platform.plane, j)
        assert platform.plane.acl_getuser(plane.account(j)) is None  # type: ignore[no-untyped-call]
    assert not any(folder.exists() for folder in folders)


def test_what_fails_half_way_has_changed_nothing(api: httpx.Client, platform: Platform, tmp_path: Path) -> None:
    ids = sorted(submit(api, tmp_path, name=f"job-{n}")["id"] for n in range(3))
    with platform.database.transaction() as session:
        refused = f"message NOT LIKE 'cancelled%' OR job_id <> '{ids[-1]}'"
        session.execute(text(f"ALTER TABLE events ADD CONSTRAINT refuse CHECK ({refused})"))
    try:
        assert api.post("/jobs/bulk", json={"action": "stop", "ids": ids}).status_code == 409
    finally:
        with platform.database.transaction() as session:
            session.execute(text("ALTER TABLE events DROP CONSTRAINT refuse"))
    assert {job["status"] for job in api.get("/jobs").json()["items"]} == {"queued"}


def test_the_queue_says_who_waits_why_and_who_holds_what(running: Running, tmp_path: Path) -> None:
    api, controller = running.api, running.controller
    later = submit(api, tmp_path, name="later", roles=workers(3))
    sooner = submit(api, tmp_path, name="sooner", roles=workers(4), priority=90)
    controller.run_once()
    queue = api.get("/jobs/queue").json()
    assert [(job["name"], job["position"], job["reason"]) for job in queue["waiting"]] == [
        ("sooner", 1, "no_capacity"),
        ("later", 2, "no_capacity"),
    ]
    [holder] = queue["holding"]
    assert (holder["id"], holder["slots"], [node["name"] for node in holder["nodes"]]) == (running.id, 2, ["node-1"])
    assert holder["nodes"][0]["processes"] == 4
    changed = api.post(f"/jobs/{later['id']}/priority", json={"priority": 95})
    assert (changed.status_code, changed.json()["priority"], changed.json()["spec"]["priority"]) == (200, 95, 50)
    controller.run_once()
    assert [job["name"] for job in api.get("/jobs/queue").json()["waiting"]] == ["later", "sooner"]
    assert api.post(f"/jobs/{running.id}/priority", json={"priority": 1}).status_code == 409
    events = api.get(f"/jobs/{later['id']}/events").json()["items"]
    assert [(e["actor"], e["data"]) for e in events if e["kind"] == "priority"] == [("user:ada", {"from": 50, "to": 95})]
    assert api.get(f"/jobs/{sooner['id']}").json()["position"] == 2


def test_a_job_that_came_to_the_head_of_the_queue_is_behind_nobody(running: Running, tmp_path: Path) -> None:
    api = running.api
    submit(api, tmp_path, name="large", roles=workers(4))
    small = submit(api, tmp_path, name="small", roles=workers(1))
    running.controller.run_once()
    told = {job["name"]: (job["reason"], job["message"]) for job in api.get("/jobs/queue").json()["waiting"]}
    assert told["small"] == ("behind", "Waits for its turn behind other jobs.")
    api.post(f"/jobs/{small['id']}/priority", json={"priority": 95})
    first = api.get("/jobs/queue").json()["waiting"][0]
    assert (first["name"], first["position"], first["message"]) == ("small", 1, "The scheduler places this job next.")


def test_the_columns_that_lists_are_sorted_by_follow_what_is_measured(running: Running, platform: Platform) -> None:
    values = {LOSS.name: 2.5, "eval/accuracy": 0.5, STALENESS.name: 3.0}
    applied = [Point(ACTIVE.name, 0, 0, 0, 0, 10.0, 1.0), Point(STALENESS.name, 0, 1, 200, 1, 12.0, 3.0)]
    points = [Point(name, 0, 1, 32, 1, 1.0, value) for name, value in values.items()]
    with platform.database.transaction() as session:
        job = job_rows.lock(session, UUID(running.id))
        assert job
        metrics.store(
            session,
            job,
            1,
            [("worker-0.0", 1, points), ("worker-1.0", 1, [Point(LOSS.name, 1, 1, 64, 1, 1.0, 1.5)]), ("server-0.0", 0, applied)],
        )
        assert (job.accuracy, job.loss, job.samples_per_second, job.mean_staleness) == (0.5, 2.0, 100.0, 3.0)
    shown = running.job["progress"]
    assert (shown["loss"], shown["samples_per_second"], shown["mean_staleness"]) == (2.0, 100.0, 3.0)
    assert shown["loss_curve"] == [2.5, 1.5]
