"""Workers share GPUs: placed by the scheduler, kept apart by Postgres, shown where people look."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest
from alembic import command
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError

from backend.jobs import service as jobs
from backend.platform import Platform
from backend.scheduler.controller import Controller
from backend.scheduler.placing import queue
from backend.scheduler.placing.placement import Place
from tests.integration.backend.agent import Agent
from tests.integration.backend.jobs import spec, submit
from tests.integration.backend.migrating import config_for


def on_gpus(count: int, gpu: float, device: str = "cuda") -> dict[str, Any]:
    return {"server": {"count": 1}, "worker": {"count": count, "device": device, "gpu": gpu}}


def test_jobs_share_a_gpu_and_the_next_one_waits(
    api: httpx.Client, anonymous: httpx.Client, join_token: str, controller: Controller, tmp_path: Path
) -> None:
    agent = Agent(anonymous, join_token, "gpus", slots=8, gpus=1)
    found = [submit(api, tmp_path, name=f"of-{part}", roles=on_gpus(1, part)) for part in (0.5, 0.25, 0.5, 0.25)]
    controller.run_once()
    now = [api.get(f"/jobs/{job['id']}").json() for job in found]
    assert [job["status"] for job in now] == ["starting", "starting", "queued", "queued"]
    assert (now[2]["reason"], now[2]["message"]) == ("no_gpu", "Waits for 1 free share of 1/2 GPU; 0 of 2 are free.")
    assert now[3]["reason"] == "behind", "no job takes a GPU that the first one waits for"
    [node] = api.get("/nodes").json()["items"]
    assert (node["gpus"][0]["used"], len(node["gpus"][0]["used_by"])) == (0.75, 2)
    assert [job["gpus"] for job in api.get("/jobs/queue").json()["holding"]] == [0.5, 0.25]
    agent.heartbeat()
    orders = {order.job_id: order for order in agent.orders.values() if order.role == "worker"}
    assert [(orders[UUID(job["id"])].gpus, orders[UUID(job["id"])].gpu_share) for job in found[:2]] == [([0], 2), ([0], 4)]
    [worker] = [each for each in api.get(f"/jobs/{found[0]['id']}/processes").json()["items"] if each["role"] == "worker"]
    assert (worker["gpus"], worker["gpu_share"]) == ([0], 2)
    api.post(f"/jobs/{found[1]['id']}/stop")
    agent.exit()
    controller.run_once()
    assert api.get(f"/jobs/{found[2]['id']}").json()["status"] == "starting", "the places of ended processes are free"


@pytest.mark.parametrize("share", [1, 2])
def test_two_schedulers_cannot_overfill_a_gpu(
    share: int,
    api: httpx.Client,
    anonymous: httpx.Client,
    join_token: str,
    platform: Platform,
    controller: Controller,
    tmp_path: Path,
) -> None:
    agent = Agent(anonymous, join_token, "gpus", slots=8, gpus=1)
    job_ids = [UUID(submit(api, tmp_path, name=f"job-{number}")["id"]) for number in range(3)]
    entered, outcomes = threading.Barrier(2), list[str]()

    def give(job_id: UUID, slot: int) -> None:
        with platform.database.transaction() as session:
            job = jobs.lock(session, job_id)
            taken = Place("worker", 0, agent.node_id, "gpus", slot, (0,), share)
            jobs.live_processes(session, node_id=agent.node_id)
            entered.wait(10)
            queue.add_process(session, job, taken, incarnation=0)

    def give_or_fail(job_id: UUID, slot: int) -> None:
        try:
            give(job_id, slot)
        except IntegrityError as error:
            outcomes.append("ex_processes_gpu_ticks" if "ex_processes_gpu_ticks" in str(error) else str(error))
        else:
            outcomes.append("placed")

    both = [threading.Thread(target=give_or_fail, args=(job_ids[number], number)) for number in range(2)]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join(30)
    assert sorted(outcomes) == ["ex_processes_gpu_ticks", "placed"], "both saw the same free ticks"
    entered = threading.Barrier(1)
    give_or_fail(job_ids[2], 2)
    assert outcomes[-1] == ("placed" if share == 2 else "ex_processes_gpu_ticks"), "half of the GPU was left"


def test_a_plan_counts_shares(api: httpx.Client, anonymous: httpx.Client, join_token: str) -> None:
    Agent(anonymous, join_token, "gpus", slots=8, gpus=1)
    body = {"spec": spec(roles=on_gpus(2, 0.5)), "size": {"parameters": 1_000_000}}
    found = api.post("/jobs/plan", json=body).json()
    assert [(each["gpus"], each["gpu_share"]) for each in found["start"]["processes"] if each["role"] == "worker"] == [([0], 2)] * 2
    [gpu] = [each for each in found["nodes"] if each["gpu"] is not None]
    [alone] = [
        each
        for each in api.post("/jobs/plan", json=body | {"spec": spec(roles=on_gpus(1, 1))}).json()["nodes"]
        if each["gpu"] is not None
    ]
    assert gpu["needed"] == 2 * alone["needed"]


def test_a_migration_keeps_the_gpus_of_processes(
    api: httpx.Client, anonymous: httpx.Client, join_token: str, controller: Controller, platform: Platform, tmp_path: Path
) -> None:
    Agent(anonymous, join_token, "gpus", slots=4, gpus=2)
    job = submit(api, tmp_path, roles=on_gpus(2, 1))
    controller.run_once()
    config = config_for(platform)
    with platform.database.engine.begin() as connection:
        config.attributes["connection"] = connection
        command.downgrade(config, "0032")
        rows = connection.execute(text("SELECT role, gpu FROM processes ORDER BY role, rank")).all()
        assert [tuple(row) for row in rows] == [("evaluator", None), ("server", None), ("worker", 0), ("worker", 1)]
        command.upgrade(config, "head")
    with platform.database.transaction() as session:
        after = {row.label: (row.gpus, row.gpu_share) for row in jobs.live_processes(session, job_id=UUID(job["id"]))}
    assert after == {"evaluator": ([], 1), "server-0": ([], 1), "worker-0": ([0], 1), "worker-1": ([1], 1)}
