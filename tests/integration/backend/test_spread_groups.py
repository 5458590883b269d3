"""Workers whose groups are on two machines, as the control plane sees them: placed, lost and respawned as one."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest

from backend.scheduler.controller import Controller
from gradstream.process.exits import ExitReason
from tests.integration.backend.agent import Agent
from tests.integration.backend.jobs import submit
from tests.integration.backend.running import Running

ROLES = {"server": {"count": 1}, "worker": {"count": 2, "device": "cpu", "group": {"replicate": 2, "machines": 2}}}


class Spread(Running):
    """It runs on two agents."""

    def __init__(
        self, api: httpx.Client, first: Agent, second: Agent, controller: Controller, folder: Path, **changes: Any
    ) -> None:
        self.second = second
        super().__init__(api, first, controller, folder, roles=ROLES, **changes)

    def start(self) -> None:
        self.controller.run_once()
        self.agent.run_all()
        self.second.run_all()
        self.controller.run_once()

    def labels(self) -> tuple[list[str], list[str]]:
        """Return what each machine should run now."""
        first, second = (sorted(order.full_label for order in each.heartbeat().values()) for each in (self.agent, self.second))
        return first, second

    def messages(self) -> str:
        return "\n".join(event["message"] for event in self.items("events"))


@pytest.fixture
def second(anonymous: httpx.Client, join_token: str) -> Agent:
    return Agent(anonymous, join_token, "node-2", slots=2)


@pytest.fixture
def spread(api: httpx.Client, agent: Agent, second: Agent, controller: Controller, tmp_path: Path) -> Spread:
    return Spread(api, agent, second, controller, tmp_path)


def test_each_group_gets_a_slot_on_both_machines(spread: Spread) -> None:
    assert spread.labels() == (["evaluator.0", "peers-1.0", "server-0.0", "worker-0.0"], ["peers-0.0", "worker-1.0"]) or (
        spread.labels() == (["evaluator.0", "server-0.0", "worker-0.0", "worker-1.0"], ["peers-0.0", "peers-1.0"])
    )
    assert spread.status[0] == "running"
    order = spread.second.order("peers-0")
    assert (order.worker, order.machine) == (0, 1)
    assert order.bundle == spread.agent.order("worker-0").bundle


def test_nodes_show_what_each_part_of_a_group_takes(api: httpx.Client, spread: Spread) -> None:
    usage = {"at": 1000.5, "cpu": 1.5, "memory": 4096, "gpu": 0.75, "gpu_memory": 1 << 20}
    for agent in (spread.agent, spread.second):
        for report in agent.reports.values():
            report["usage"] = usage
        agent.heartbeat()
    processes = [process for node in api.get("/nodes").json()["items"] for process in node["processes"]]
    measured = {each["label"]: (each["cpu"], each["memory"], each["gpu"], each["gpu_memory"]) for each in processes}
    labels = ("evaluator", "peers-0", "peers-1", "server-0", "worker-0", "worker-1")
    assert measured == dict.fromkeys(labels, (1.5, 4096, 0.75, 1 << 20))
    overview = api.get(f"/jobs/{spread.id}/overview").json()
    assert [each["label"] for each in overview["servers"]] == ["server-0", "evaluator"]
    assert [each["label"] for each in overview["workers"]] == ["worker-0", "worker-1"]


def test_a_group_that_loses_a_machine_is_ended_and_respawned_as_one(spread: Spread) -> None:
    before = spread.labels()
    spread.second.exit("peers-0", reason=ExitReason.KILLED, code=-9, message="killed by signal 9")
    spread.controller.run_once()
    first, _ = spread.labels()
    assert "worker-0.0" not in first, "the rest of its group ends"
    assert spread.processes(1)["worker-0.0"] == "running", "it has not ended yet, so nothing begins anew"
    [lead] = [each["id"] for each in spread.items("processes") if each["label"] == "worker-0"]
    end = {"reason": ExitReason.KILLED, "message": "killed by signal 9", "code": -9}
    spread.agent.reports[UUID(lead)] = {"id": lead, "state": "exited", "exit": end}
    spread.agent.heartbeat()
    spread.controller.run_once()
    again = spread.labels()
    assert sorted(again[0] + again[1]) == sorted(
        {"worker-0.0": "worker-0.1", "peers-0.0": "peers-0.1"}.get(label, label) for label in before[0] + before[1]
    )
    assert spread.job["retries_used"] == 1, "one loss, and not two"
    assert "peers-0 ended. Its group restarts on node-1 and node-2; the others continue." in spread.messages()


def test_under_bsp_a_new_attempt_follows(
    api: httpx.Client, agent: Agent, second: Agent, controller: Controller, tmp_path: Path
) -> None:
    spread = Spread(api, agent, second, controller, tmp_path, gate="bsp")
    spread.second.exit("peers-1", reason=ExitReason.KILLED, code=-9, message="killed by signal 9")
    controller.run_once()
    assert spread.status[0] == "queued"
    assert spread.labels() == ([], [])
    assert "peers-1 ended: killed by signal 9." in spread.job["message"]


def test_peers_that_end_badly_when_their_lead_is_done_change_nothing(spread: Spread) -> None:
    spread.agent.commit_checkpoint(0)
    spread.agent.put("evaluator", "model.safetensors", b"the model")
    spread.second.exit("peers-0", "worker-1")
    spread.agent.exit()
    spread.second.exit("peers-1", reason=ExitReason.PEER_LOST, code=76, message="the connection broke")
    spread.controller.run_once()
    assert spread.status[0] == "succeeded"


def test_one_machine_is_too_few_and_the_job_says_so(
    api: httpx.Client, agent: Agent, controller: Controller, tmp_path: Path
) -> None:
    job = submit(api, tmp_path, roles=ROLES)["id"]
    controller.run_once()
    found = api.get(f"/jobs/{job}").json()
    assert (found["status"], found["reason"]) == ("queued", "too_large")
    assert found["message"].startswith("Needs 2 slots each on 2 machines that let jobs use their network")
    second = Agent(agent.http, agent.join_token, "node-2", slots=1)
    assert second.heartbeat() == {}
    controller.run_once()
    assert api.get(f"/jobs/{job}").json()["reason"] == "too_large", "the second group finds no second machine"
    Agent(agent.http, agent.join_token, "node-3", slots=1)
    controller.run_once()
    assert api.get(f"/jobs/{job}").json()["status"] == "starting"
