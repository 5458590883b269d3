"""A node's account on the live Redis, from its registration until its removal. What it opens: tests/integration/agent."""

from __future__ import annotations

from uuid import uuid4

import httpx
import pytest
import redis
from redis.exceptions import AuthenticationError

from backend.platform import Platform
from backend.scheduler.controller import Controller
from backend.settings import BackendSettings
from gradstream.programs.tasknames import node_queue
from tests.integration.backend.agent import Agent


def may_enter(settings: BackendSettings, agent: Agent, password: str) -> bool:
    with redis.Redis.from_url(settings.live_redis_url, username=node_queue(agent.node_id), password=password) as client:
        try:
            return bool(client.ping())
        except AuthenticationError:
            return False


def test_an_account_is_there_from_registration_to_removal(
    settings: BackendSettings, api: httpx.Client, anonymous: httpx.Client, agent: Agent, controller: Controller
) -> None:
    other = Agent(anonymous, agent.join_token, "node-2", slots=1)
    assert may_enter(settings, agent, agent.live_password)
    assert not may_enter(settings, agent, other.live_password)
    password = agent.live_password
    agent.register()
    assert agent.live_password == password, "what is derived needs no place to be kept in"

    assert api.delete(f"/nodes/{agent.node_id}").status_code == 204
    assert not may_enter(settings, agent, password)
    controller.run_once()
    assert may_enter(settings, other, other.live_password)
    assert not may_enter(settings, agent, password)

    agent.credential = "another secret of the same machine"
    agent.register()
    assert may_enter(settings, agent, agent.live_password)
    assert not may_enter(settings, agent, password), "another credential has another password"


@pytest.mark.more
def test_accounts_that_redis_has_lost_are_made_anew(
    settings: BackendSettings, platform: Platform, agent: Agent, controller: Controller
) -> None:
    stray = node_queue(uuid4())
    platform.live.execute_command("ACL", "SETUSER", stray, "on", "nopass", "~*", "+@all")  # type: ignore[no-untyped-call]
    platform.live.execute_command("ACL", "DELUSER", node_queue(agent.node_id))  # type: ignore[no-untyped-call]
    assert not may_enter(settings, agent, agent.live_password)
    controller.run_once()
    assert may_enter(settings, agent, agent.live_password)
    assert platform.live.acl_getuser(stray) is None  # type: ignore[no-untyped-call]
