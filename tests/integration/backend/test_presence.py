"""The silence of nodes counts only while the API can hear them."""

from __future__ import annotations

import threading
import time
from datetime import timedelta
from typing import Any

import httpx
import pytest
from sqlalchemy import text

from backend.admission import middleware
from backend.admission.rules import Rule, rule_of
from backend.nodes import presence, repository, service
from backend.nodes.schemas import DesiredProcesses
from backend.platform import Platform
from tests.integration.backend.running import Running
from tests.support import TIMEOUT, eventually

STANDS_STILL = 0.4
"""Seconds: longer than the API may be unheard."""


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(presence, "EVERY", 0.01)
    monkeypatch.setattr(repository, "_ABSENT_AFTER", timedelta(seconds=STANDS_STILL / 2))


def test_no_node_is_lost_for_a_loop_that_stands_still(
    running: Running, server: str, platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    stuck, goes_on = threading.Event(), threading.Event()

    def hang(method: str, path: str) -> Rule | None:
        stuck.set()
        goes_on.wait(TIMEOUT)
        return rule_of(method, path)

    monkeypatch.setattr(middleware, "rule_of", hang)
    asking = threading.Thread(target=lambda: httpx.get(f"{server}/api/v1/health", trust_env=False, timeout=2 * TIMEOUT))
    asking.start()
    try:
        assert stuck.wait(TIMEOUT)
        age(platform, "nodes SET last_seen_at = last_seen_at - interval '11 min'")
        age(platform, "presence SET up_since = up_since - interval '20 min'")
        time.sleep(STANDS_STILL)  # for stamps that should not come
        running.controller.run_once()
        assert ended_processes(platform) == 0, "nobody could have heard them"
    finally:
        goes_on.set()
        asking.join()
    eventually(lambda: seconds_up(platform) < TIMEOUT, "the API to begin to hear nodes")
    running.controller.run_once()
    assert set(running.processes(1).values()) == {"running"}, "they have just begun to be heard again"


def test_no_node_is_lost_while_a_heartbeat_waits_to_be_stored(
    running: Running, server: str, platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(presence, "BEHIND", 0.0)
    stored, waits = service.heartbeat, threading.Event()
    goes_on = threading.Event()

    def wait_first(*args: Any) -> DesiredProcesses:
        waits.set()
        goes_on.wait(TIMEOUT)
        return stored(*args)

    monkeypatch.setattr(service, "heartbeat", wait_first)
    beating = threading.Thread(target=running.agent.heartbeat)
    beating.start()
    try:
        assert waits.wait(TIMEOUT)
        age(platform, "nodes SET last_seen_at = last_seen_at - interval '11 min'")
        age(platform, "presence SET up_since = up_since - interval '20 min'")
        time.sleep(STANDS_STILL)  # for stamps that should not come
        running.controller.run_once()
        assert ended_processes(platform) == 0, "its heartbeat has come"
    finally:
        goes_on.set()
        beating.join()


def age(platform: Platform, change: str) -> None:
    with platform.database.transaction() as session:
        session.execute(text(f"UPDATE {change}"))


def ended_processes(platform: Platform) -> int:
    with platform.database.transaction() as session:
        return int(session.scalar(text("SELECT count(*) FROM processes WHERE ended_at IS NOT NULL")) or 0)


def seconds_up(platform: Platform) -> float:
    with platform.database.transaction() as session:
        return float(session.scalar(text("SELECT EXTRACT(EPOCH FROM clock_timestamp() - up_since) FROM presence")) or 0)
