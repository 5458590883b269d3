"""Nodes that speak and do not act, and starts that fail through no fault of the job."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import text
from typer.testing import CliRunner

from backend.nodes.trouble import TOLD_IN_VAIN
from backend.platform import Platform
from backend.scheduler.controller import Controller
from gradstream.cli.main import app
from gradstream.process.exits import ExitReason
from tests.integration.backend.agent import Agent
from tests.integration.backend.jobs import submit
from tests.integration.backend.running import Running


@pytest.fixture
def other(anonymous: httpx.Client, join_token: str) -> Agent:
    return Agent(anonymous, join_token, "node-2", slots=2)


def node(api: httpx.Client, name: str = "node-1") -> dict[str, Any]:
    found: dict[str, Any] = next(each for each in api.get("/nodes").json()["items"] if each["name"] == name)
    return found


def later(platform: Platform, statement: str) -> None:
    """Time passes for what the statement changes."""
    with platform.database.transaction() as session:
        session.execute(text(statement))


def ask_in_vain(agent: Agent, platform: Platform) -> None:
    """A node that reports nothing of what it is told, for longer than is put up with."""
    for _ in range(TOLD_IN_VAIN):
        assert agent.heartbeat()
    later(platform, "UPDATE processes SET told_at = told_at - interval '1 minute' WHERE ended_at IS NULL")
    assert agent.heartbeat() == {}


def messages(api: httpx.Client, job: str) -> str:
    return "\n".join(event["message"] for event in api.get(f"/jobs/{job}/events").json()["items"])


def test_a_node_that_does_not_act_on_orders_draws_no_jobs(
    api: httpx.Client, agent: Agent, other: Agent, controller: Controller, platform: Platform, tmp_path: Path
) -> None:
    job = submit(api, tmp_path)["id"]
    controller.run_once()
    ask_in_vain(agent, platform)
    troubled = node(api)
    assert troubled["trouble"] == "Node-1 sends heartbeats, but has not acted on its orders for 15 s."
    assert troubled["retry_at"] > troubled["trouble_since"]
    controller.run_once()
    controller.run_once()
    found = api.get(f"/jobs/{job}").json()
    assert (found["attempt"], found["retries_used"]) == (2, 0)
    assert "has not acted on its orders" in messages(api, job)
    assert {p["node"] for p in api.get(f"/jobs/{job}/processes").json()["items"] if p["attempt"] == 2} == {"node-2"}
    waits = submit(api, tmp_path, name="waits")["id"]
    controller.run_once()
    assert api.get(f"/jobs/{waits}").json()["status"] == "queued"
    later(platform, "UPDATE nodes SET retry_at = now() - interval '1 second' WHERE trouble IS NOT NULL")
    controller.run_once()
    assert api.get(f"/jobs/{waits}").json()["status"] == "starting", "it is tried again"
    agent.run_all()
    assert node(api)["trouble"] is None, "and is in order when something runs there"


def test_each_try_in_vain_is_followed_by_a_longer_pause(
    api: httpx.Client, agent: Agent, controller: Controller, platform: Platform, tmp_path: Path
) -> None:
    job = submit(api, tmp_path)["id"]
    controller.run_once()
    ask_in_vain(agent, platform)
    controller.run_once()
    controller.run_once()
    waiting = api.get(f"/jobs/{job}").json()
    assert (waiting["status"], waiting["reason"]) == ("queued", "node_trouble")
    assert "node-1 is tried again soon" in waiting["message"]

    def pause() -> float:
        with platform.database.transaction() as session:
            return float(session.scalar(text("SELECT extract(epoch FROM retry_at - now()) FROM nodes")) or 0)

    first = pause()
    later(platform, "UPDATE nodes SET retry_at = now() - interval '1 second'")
    controller.run_once()
    ask_in_vain(agent, platform)
    assert pause() > first + 20
    agent.register()
    assert node(api)["trouble"] is None, "another agent is another try"


def test_a_node_that_names_what_it_was_told_is_left_in_peace(
    api: httpx.Client, agent: Agent, controller: Controller, platform: Platform, tmp_path: Path
) -> None:
    submit(api, tmp_path)
    controller.run_once()
    for id in agent.heartbeat():
        agent.reports[id] = {"id": str(id), "state": "starting"}
    for _ in range(TOLD_IN_VAIN + 1):
        agent.heartbeat()
    later(platform, "UPDATE processes SET told_at = told_at - interval '1 minute'")
    assert len(agent.heartbeat()) == 4, "it fetches their code, which may take long"
    assert node(api)["trouble"] is None


def test_a_node_with_a_full_disk_is_not_charged_to_the_job(running: Running, other: Agent) -> None:
    running.agent.exit("server-0", reason=ExitReason.NODE_UNFIT, code=71, message="No space left on device")
    running.controller.run_once()
    running.end_all()
    running.controller.run_once()
    assert (running.job["attempt"], running.job["retries_used"]) == (2, 0)
    assert {p["node"] for p in running.items("processes") if p["attempt"] == 2} == {"node-2"}
    assert "No space left on device" in node(running.api)["trouble"]
    assert "not counted as a retry" in messages(running.api, running.id)
    assert other.heartbeat()


def test_the_command_shows_what_a_node_said_and_obeys_none_of_it(running: Running, tmp_path: Path) -> None:
    running.agent.exit("server-0", reason=ExitReason.NODE_UNFIT, code=71, message="\x1b]0;owned\x07full")
    secret = tmp_path / "token"
    secret.write_text(running.api.headers["authorization"].removeprefix("Bearer "))
    url = str(running.api.base_url).removesuffix("/api/v1/")
    done = CliRunner().invoke(app, ["nodes", "--url", url, "--token-file", str(secret)], prog_name="gradstream")
    assert "could not start: ^[]0;owned^Gfull" in done.stderr
    assert "\x1b" not in done.stderr


def test_a_node_tells_nothing_of_processes_elsewhere(running: Running, other: Agent) -> None:
    end = {"reason": ExitReason.NODE_UNFIT, "message": "No space left on device", "code": 71}
    other.reports = {id: {"id": str(id), "state": "exited", "exit": end} for id in running.agent.orders}
    other.heartbeat()
    assert {process["status"] for process in running.items("processes")} == {"running"}
    assert [node(running.api, name)["trouble"] for name in ("node-1", "node-2")] == [None, None]


@pytest.mark.more
def test_a_job_that_cannot_be_started_anywhere_fails_and_says_why(
    api: httpx.Client, agent: Agent, controller: Controller, tmp_path: Path
) -> None:
    job = submit(api, tmp_path)["id"]
    for _ in range(5):
        controller.run_once()
        agent.heartbeat()
        agent.exit(reason=ExitReason.CANNOT_START, code=1, message="the bundle arrived damaged")
        controller.run_once()
    controller.run_once()
    found = api.get(f"/jobs/{job}").json()
    assert (found["status"], found["reason"], found["attempt"], found["retries_used"]) == ("failed", "cannot_start", 5, 0)
    assert "the bundle arrived damaged" in found["message"]
    assert "5 times in a row" in found["message"]
