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
from sqlalchemy.orm import Session

from backend.jobs import service as jobs
from backend.platform import Platform
from backend.scheduler.controller import Controller
from backend.scheduler.placing import queue
from backend.scheduler.placing.placement import Place
from tests.integration.backend.agent import Agent
from tests.integration.backend.jobs import spec, submit
from tests.integration.backend.migrating import config_for
from tests.support import eventually


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
    assert {job["name"]: job["gpus"] for job in api.get("/jobs/queue").json()["holding"]} == {"of-0.5": 0.5, "of-0.25": 0.25}
    agent.heartbeat()
    orders = {order.job_id: order for order in agent.orders.values() if order.role == "worker"}
    assert [(orders[UUID(job["id"])].gpus, orders[UUID(job["id"])].gpu_share) for job in found[:2]] == [([0], 2), ([0], 4)]
    [worker] = [each for each in api.get(f"/jobs/{found[0]['id']}/processes").json()["items"] if each["role"] == "worker"]
    assert (worker["gpus"], worker["gpu_share"]) == ([0], 2)
    api.post(f"/jobs/{found[1]['id']}/stop")
    agent.exit()
    controller.run_once()
    assert api.get(f"/jobs/{found[2]['id']}").json()["status"] == "starting", "the places of ended processes are free"


@pytest.mark.parametrize("device", ["auto", "cuda"])
def test_a_worker_and_its_shard_have_one_gpu_and_their_orders_name_it(
    device: str, api: httpx.Client, anonymous: httpx.Client, join_token: str, controller: Controller, tmp_path: Path
) -> None:
    agent = Agent(anonymous, join_token, "gpus", slots=8, gpus=1)
    roles = {"server": {"device": device}, "worker": {"count": 1, "device": device, "gpu": 0.5}}
    job = submit(api, tmp_path, roles=roles)
    controller.run_once()
    assert api.get(f"/jobs/{job['id']}").json()["status"] == "starting"
    agent.heartbeat()
    orders = {order.label: order for order in agent.orders.values()}
    assert {name: (order.gpus, order.gpu_share) for name, order in orders.items()} == {
        "server-0": ([0], 2),
        "worker-0": ([0], 2),
        "evaluator": ([], 1),
    }
    assert orders["server-0"].visible_gpus == orders["worker-0"].visible_gpus == [0]
    [node] = api.get("/nodes").json()["items"]
    assert (node["gpus"][0]["used"], len(node["gpus"][0]["used_by"])) == (1.0, 2)
    assert [each["gpus"] for each in api.get("/jobs/queue").json()["holding"]] == [1.0]
    waits = submit(api, tmp_path, name="next", roles=roles | {"worker": {"count": 1, "device": "cuda", "gpu": 0.5}})
    controller.run_once()
    told = api.get(f"/jobs/{waits['id']}").json()
    assert (told["status"], told["reason"]) == ("queued", "no_gpu")


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
    outcomes = list[str]()

    def give(session: Session, number: int) -> None:
        place = Place("worker", 0, agent.node_id, "gpus", number, (0,), share)
        queue.add_process(session, jobs.lock(session, job_ids[number]), place, incarnation=0)

    def give_or_fail(number: int) -> None:
        try:
            with platform.database.transaction() as session:
                give(session, number)
        except IntegrityError as error:
            outcomes.append("refused" if "ex_processes_gpu_ticks" in str(error) else str(error))
        else:
            outcomes.append("placed")

    second = threading.Thread(target=give_or_fail, args=(1,))
    with platform.database.transaction() as first:
        give(first, 0)
        second.start()  # it sees the GPU as free as the first one did, and waits for the end of the first
        eventually(lambda: _waits_for_a_row(platform), "the second scheduler to wait")
    second.join(30)
    assert outcomes == ["refused"]
    give_or_fail(2)
    assert outcomes[-1] == ("placed" if share == 2 else "refused"), "half of the GPU was left"


def _waits_for_a_row(platform: Platform) -> bool:
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    with platform.database.engine.connect() as connection:
        return bool(connection.scalar(text(waiting)))


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


def test_a_plan_compares_a_shard_and_its_worker_with_their_shares(
    api: httpx.Client, anonymous: httpx.Client, join_token: str
) -> None:
    Agent(anonymous, join_token, "gpus", slots=8, gpus=1)
    roles = on_gpus(1, 0.5) | {"server": {"device": "cuda", "gpu": 0.25}}
    found = api.post("/jobs/plan", json={"spec": spec(roles=roles), "size": {"parameters": 1_000_000}}).json()
    gpus = {each["role"]: each for each in found["nodes"] if each["gpu"] is not None}
    [node] = api.get("/nodes").json()["items"]
    memory = node["gpus"][0]["memory"]
    assert (gpus["worker"]["total"], gpus["server"]["total"]) == (memory // 2, memory // 4)
    parameters = memory // 2 // 4 // 2
    large = api.post("/jobs/plan", json={"spec": spec(roles=on_gpus(1, 0.5)), "size": {"parameters": parameters}}).json()
    [warning] = [each["message"] for each in large["warnings"] if "GPU" in each["message"]]
    assert f"of GPU 0 of gpus, which has {memory / 2e9:.1f} GB for them." in warning


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


def test_a_node_whose_torch_has_no_cuda_gets_no_work_for_gpus_and_is_named(
    api: httpx.Client, anonymous: httpx.Client, join_token: str, controller: Controller, tmp_path: Path
) -> None:
    Agent(anonymous, join_token, "plain", slots=4, gpus=2, torch={"version": "2.13.0+cpu", "cuda": None})
    waits, auto = (submit(api, tmp_path, name=device, roles=on_gpus(1, 1, device)) for device in ("cuda", "auto"))
    controller.run_once()
    told = api.get(f"/jobs/{waits['id']}").json()
    assert (told["status"], told["reason"]) == ("queued", "too_large")
    assert told["message"].endswith(
        "plain has 2 GPUs, and torch 2.13.0+cpu, which has no CUDA; install a torch with CUDA there (`make demo TORCH=cuda`), and "
        "start its agent again."
    )
    assert api.get(f"/jobs/{auto['id']}").json()["status"] == "starting"
    processes = api.get(f"/jobs/{auto['id']}/processes").json()["items"]
    assert [each["gpus"] for each in processes] == [[]] * 3, "auto computes on the CPU there"
    [node] = api.get("/nodes").json()["items"]
    assert (node["torch"], len(node["gpus"])) == ({"version": "2.13.0+cpu", "cuda": None}, 2)
    Agent(anonymous, join_token, "able", slots=4, gpus=1, torch={"version": "2.13.0", "cuda": "13.0"})
    controller.run_once()
    assert api.get(f"/jobs/{waits['id']}").json()["status"] == "starting"
    [worker] = [each for each in api.get(f"/jobs/{waits['id']}/processes").json()["items"] if each["role"] == "worker"]
    assert (worker["node"], worker["gpus"]) == ("able", [0])
