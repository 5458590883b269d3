"""Nodes that are removed from the list: what is refused, what becomes of their agents, jobs and names."""

from __future__ import annotations

import httpx
import pytest

from tests.integration.backend.agent import Agent
from tests.integration.backend.running import Running
from tests.integration.backend.test_draining import change, node


def names(api: httpx.Client) -> list[str]:
    return [each["name"] for each in api.get("/nodes").json()["items"]]


def remove(api: httpx.Client, name: str) -> httpx.Response:
    return api.delete(f"/nodes/{node(api, name)['id']}")


def refused(agent: Agent) -> tuple[int, str]:
    headers = {"Authorization": f"Bearer {agent.token}"}
    answer = agent.http.post("/agent/heartbeat", json={}, headers=headers)
    return answer.status_code, answer.json().get("type", "")


@pytest.fixture
def other(anonymous: httpx.Client, join_token: str) -> Agent:
    return Agent(anonymous, join_token, "node-2", slots=2)


def test_a_removed_node_is_in_no_list_and_its_token_is_refused(running: Running, other: Agent) -> None:
    api = running.api
    id = node(api, "node-2")["id"]
    assert remove(api, "node-2").status_code == 204
    assert names(api) == ["node-1"]
    assert refused(other) == (403, "/problems/NodeRemoved")
    for answer in (api.delete(f"/nodes/{id}"), api.post(f"/nodes/{id}/drain")):
        assert answer.status_code == 404
    assert running.status == ("running", None), "jobs elsewhere go on"


def test_a_node_with_processes_is_removed_only_while_it_drains(running: Running, other: Agent) -> None:
    api = running.api
    answer = remove(api, "node-1")
    assert answer.status_code == 409
    assert "4 processes run on node-1. Drain it first: `gradstream node drain node-1`." in answer.json()["detail"]
    assert len(running.agent.heartbeat()) == 4
    change(api, "drain")
    assert remove(api, "node-1").status_code == 204
    assert refused(running.agent) == (403, "/problems/NodeRemoved")
    for _ in range(2):
        running.controller.run_once()
    lost = [process for process in running.items("processes") if process["attempt"] == 1]
    again = other.heartbeat().values()
    assert {process["node"] for process in lost} == {"node-1"}, "history keeps the name"
    assert {order.label for order in again} == {process["label"] for process in lost}, "the job goes on elsewhere"


def test_a_machine_of_the_same_name_joins_again(running: Running, other: Agent) -> None:
    api = running.api
    id = node(api, "node-2")["id"]
    change(api, "drain", "node-2")
    remove(api, "node-2")
    old = other.token
    other.register()
    assert other.heartbeat() == {}
    back = node(api, "node-2")
    assert (back["id"], back["status"], back["draining_since"]) == (id, "ready", None)
    other.token = old
    assert refused(other)[0] == 401


def test_only_users_remove_nodes(running: Running, anonymous: httpx.Client) -> None:
    id = node(running.api)["id"]
    bearer = {"Authorization": f"Bearer {running.agent.token}"}
    assert anonymous.delete(f"/nodes/{id}").status_code == 401
    assert anonymous.delete(f"/nodes/{id}", headers=bearer).status_code == 401
