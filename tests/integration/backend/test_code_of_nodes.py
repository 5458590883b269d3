"""A node gets the code of its own processes, and of no other job."""

from __future__ import annotations

from pathlib import Path

import httpx

from backend.scheduler.controller import Controller
from tests.integration.backend.agent import Agent
from tests.integration.backend.running import Running


def test_a_node_fetches_the_bundles_of_its_own_processes_only(
    api: httpx.Client, anonymous: httpx.Client, agent: Agent, join_token: str, controller: Controller, tmp_path: Path
) -> None:
    running = Running(api, agent, controller, tmp_path)
    other = Agent(anonymous, join_token, "node-2", slots=4)
    bundle = running.job["bundle"]

    def fetch(node: Agent) -> int:
        return anonymous.get(f"/agent/bundles/{bundle}", headers={"Authorization": f"Bearer {node.token}"}).status_code

    assert fetch(agent) == 200
    assert fetch(other) == 404, "whoever knows the hash"
    running.succeed()
    assert running.status[0] == "succeeded"
    assert fetch(agent) == 404, "nothing of it runs there any more"
