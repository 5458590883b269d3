"""Nodes that drain: what runs there may finish, nothing new comes, whoever starts again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from backend.scheduler.controller import Controller
from gradstream.process.exits import ExitReason
from tests.integration.backend.agent import Agent
from tests.integration.backend.jobs import submit, workers
from tests.integration.backend.running import Running


def node(api: httpx.Client, name: str = "node-1") -> dict[str, Any]:
    found: dict[str, Any] = next(node for node in api.get("/nodes").json()["items"] if node["name"] == name)
    return found


def change(api: httpx.Client, what: str, name: str = "node-1") -> dict[str, Any]:
    answer = api.post(f"/nodes/{node(api, name)['id']}/{what}")
    assert answer.status_code == 200, answer.text
    changed: dict[str, Any] = answer.json()
    return changed


@pytest.fixture
def other(anonymous: httpx.Client, join_token: str) -> Agent:
    return Agent(anonymous, join_token, "node-2", slots=2)


def test_what_runs_goes_on_and_nothing_new_comes(running: Running, tmp_path: Path) -> None:
    api = running.api
    assert node(api)["draining_since"] is None
    since = change(api, "drain")["draining_since"]
    assert since
    assert change(api, "drain")["draining_since"] == since, "safe to repeat"
    later = submit(api, tmp_path, name="later")["id"]
    running.controller.run_once()
    assert running.status == ("running", None)
    assert len(running.agent.heartbeat()) == 4
    waiting = api.get(f"/jobs/{later}").json()
    assert (waiting["status"], waiting["reason"]) == ("queued", "draining")
    assert "node-1" in waiting["message"]
    running.succeed()
    assert running.status == ("succeeded", None)
    running.controller.run_once()
    assert api.get(f"/jobs/{later}").json()["status"] == "queued"
    assert change(api, "resume")["draining_since"] is None
    running.controller.run_once()
    assert api.get(f"/jobs/{later}").json()["status"] == "starting"


def test_jobs_go_elsewhere_and_large_ones_hold_up_nobody(
    running: Running, other: Agent, controller: Controller, tmp_path: Path
) -> None:
    api = running.api
    change(api, "drain")
    large = submit(api, tmp_path, name="large", roles=workers(3))["id"]
    small = submit(api, tmp_path, name="small", roles=workers(2))["id"]
    controller.run_once()
    waiting = api.get(f"/jobs/{large}").json()
    assert (waiting["reason"], "node-1" in waiting["message"]) == ("too_large", True)
    assert {process["node"] for process in api.get(f"/jobs/{small}/processes").json()["items"]} == {"node-2"}
    other.heartbeat()


def test_a_worker_that_starts_again_is_placed_on_another_node(running: Running, other: Agent) -> None:
    change(running.api, "drain")
    running.agent.exit("worker-1", reason=ExitReason.KILLED, code=-9, message="killed by signal 9")
    running.controller.run_once()
    again = next(p for p in running.items("processes") if (p["label"], p["incarnation"]) == ("worker-1", 1))
    assert again["node"] == "node-2"
    assert other.heartbeat(), "it is told to run it"


def test_it_drains_on_when_its_agent_or_the_controller_starts_anew(
    running: Running, controller: Controller, tmp_path: Path
) -> None:
    since = change(running.api, "drain")["draining_since"]
    running.agent.register()
    controller.run_once()
    assert node(running.api)["draining_since"] == since
    controller.run_once()
    assert running.status[0] == "queued"
    assert running.status[1] in ("draining", "node_lost")


def test_a_node_that_is_not_there(api: httpx.Client) -> None:
    for what in ("drain", "resume"):
        answer = api.post(f"/nodes/00000000-0000-0000-0000-000000000000/{what}")
        assert (answer.status_code, answer.json()["title"]) == (404, "Not Found")


def test_nodes_show_what_runs_on_them_and_for_whom(running: Running) -> None:
    shown = node(running.api)
    assert (shown["slots_used"], shown["load"], shown["memory_used"]) == (2, None, None)
    assert {(p["label"], p["job"], p["job_id"], p["status"]) for p in shown["processes"]} == {
        (label, "small", running.id, "running") for label in ("server-0", "worker-0", "worker-1", "evaluator")
    }
