"""Nodes that change their credential, as the API sees them: which one counts at each step, and whose it is."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from backend.scheduler.controller import Controller
from backend.settings import BackendSettings
from tests.integration.backend.agent import Agent
from tests.integration.backend.running import Running
from tests.integration.backend.test_accounts import may_enter
from tests.integration.backend.test_draining import node

NEXT = "the next credential of node-1".ljust(40, ".")


def ask(api: httpx.Client, agent: Agent) -> dict[str, Any]:
    answer = api.post(f"/nodes/{agent.node_id}/rotate")
    assert answer.status_code == 200, answer.text
    told: dict[str, Any] = answer.json()
    return told


def is_asked(agent: Agent) -> bool:
    headers = {"Authorization": f"Bearer {agent.token}"}
    return bool(agent.http.post("/agent/heartbeat", json={}, headers=headers).json()["rotate"])


def knows(agent: Agent, credential: str) -> bool:
    """A call that changes nothing, but for the first use of a next credential."""
    return agent.rotate(credential, credential).status_code == 200


def test_old_and_next_count_until_the_next_is_used(
    settings: BackendSettings, api: httpx.Client, agent: Agent, controller: Controller
) -> None:
    assert not is_asked(agent)
    since = ask(api, agent)["rotating_since"]
    assert ask(api, agent)["rotating_since"] == since, "asked twice is asked once"
    assert is_asked(agent)
    password, token = agent.live_password, agent.token
    for _ in range(2):
        assert agent.rotate(NEXT).json() == {"live_password": password}, "announced; also when the answer was lost"
    assert knows(agent, agent.credential)
    assert is_asked(agent), "not done before the next one is used"

    used = agent.rotate(NEXT, NEXT)
    assert used.json()["live_password"] != password
    assert agent.rotate(NEXT, NEXT).json() == used.json(), "an answer that was lost is given again"
    assert agent.rotate(NEXT).status_code == 401, "the old one has ended"
    assert (is_asked(agent), node(api)["rotating_since"]) == (False, None)
    assert agent.token == token, "the token of its messages stays"
    controller.run_once()
    assert not may_enter(settings, agent, password)
    assert may_enter(settings, agent, used.json()["live_password"])


@pytest.mark.parametrize("renamed", [False, True])
def test_an_agent_that_died_in_between_registers_with_what_it_has(api: httpx.Client, agent: Agent, renamed: bool) -> None:
    id, old = agent.node_id, agent.credential
    ask(api, agent)
    agent.rotate(NEXT)
    agent.credential, agent.join_token = NEXT if renamed else old, "none"
    agent.register()
    assert agent.node_id == id
    assert is_asked(agent) is not renamed
    assert knows(agent, NEXT)
    assert not knows(agent, old)


def test_jobs_go_on(running: Running) -> None:
    api, agent = running.api, running.agent
    before = {order.id for order in agent.heartbeat().values()}
    ask(api, agent)
    agent.rotate(NEXT)
    assert knows(agent, NEXT)
    assert {order.id for order in agent.heartbeat().values()} == before
    running.controller.run_once()
    assert running.status == ("running", None)


def test_nobody_changes_a_credential_unasked_or_with_another_secret(api: httpx.Client, agent: Agent, join_token: str) -> None:
    refused = agent.rotate(NEXT)
    assert (refused.status_code, "gradstream node rotate node-1" in refused.json()["detail"]) == (409, True)
    ask(api, agent)
    for secret in (join_token, agent.token, "x" * 40, NEXT):
        assert agent.rotate(NEXT, secret).status_code == 401
    assert agent.rotate("short").status_code == 422
    assert api.delete(f"/nodes/{agent.node_id}").status_code == 204
    assert agent.rotate(NEXT).status_code == 403
    assert api.post(f"/nodes/{agent.node_id}/rotate").status_code == 404
    agent.register()
    assert node(api)["rotating_since"] is None, "a node that joined anew has another credential anyway"
