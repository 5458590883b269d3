"""Messages of programs of another version, and junk: what is not known is ignored, and nobody ends."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from backend.platform import Platform
from backend.wakeups.wakeup import CHANNEL
from tests.integration.backend.running import Running

FUTURE = {"moon": {"phase": "full"}}


def test_what_a_newer_agent_says_beside_is_ignored(running: Running) -> None:
    agent = running.agent
    told: list[dict[str, Any]] = [report | FUTURE for report in agent.reports.values()]
    headers = {"Authorization": f"Bearer {agent.token}"}
    answer = agent.http.post("/agent/heartbeat", json={"processes": told, **FUTURE}, headers=headers)
    assert answer.status_code == 200, answer.text
    log = {"process_id": told[0]["id"], "offset": 0, "text": "x", **FUTURE}
    assert agent.http.post("/agent/logs", json=log, headers=headers).status_code == 200
    body = {"name": "node-2", "slots": 1, "cpus": 1, "memory": 1, "version": "9", "gpus": [], **FUTURE}
    assert agent.http.post("/agent/register", json=body, headers={"Authorization": f"Bearer {agent.credential}"}).status_code == 200


def test_states_and_reasons_that_are_not_known_cost_no_heartbeat(running: Running) -> None:
    agent = running.agent
    worker, evaluator = agent.order("worker-0").id, agent.order("evaluator").id
    agent.reports[worker]["state"] = "levitating"
    agent.reports[evaluator] = {"id": str(evaluator), "state": "exited", "exit": {"reason": "levitated", "message": "It flew."}}
    agent.heartbeat()
    found = {process["label"]: process for process in running.items("processes")}
    assert found["worker-0"]["status"] == "running"
    assert found["evaluator"]["reason"] == "internal_error"
    assert found["evaluator"]["message"] == "It flew. (its agent calls this 'levitated')"


def test_values_in_a_form_that_is_not_known_cost_neither_a_heartbeat_nor_a_registration(running: Running) -> None:
    agent = running.agent
    worker = agent.order("worker-0").id
    agent.reports[worker] |= {"pid": "of another kind", "usage": {"moons": 2}, "hang": "at full moon"}
    body = {"processes": list(agent.reports.values()), "load": {"1": 0.5}, "memory_used": [1]}
    headers = {"Authorization": f"Bearer {agent.token}"}
    assert agent.http.post("/agent/heartbeat", json=body, headers=headers).status_code == 200
    agent.reports[worker] |= {"state": "exited", "exit": {"reason": {"moon": "full"}}}
    agent.heartbeat()
    found = {process["label"]: process for process in running.items("processes")}
    assert found["worker-0"]["message"] == "the agent gave no reason"
    body = {"name": "node-3", "slots": 1, "cpus": 1, "memory": 1, "version": "9", "isolation": {"level": "vault"}}
    credential = {"Authorization": f"Bearer {agent.credential}"}
    assert agent.http.post("/agent/register", json=body, headers=credential).status_code == 200
    assert "vault" in [node["isolation"]["level"] for node in running.api.get("/nodes").json()["items"] if node["isolation"]]


def test_what_is_no_wake_up_does_not_end_those_who_listen(platform: Platform) -> None:
    heard, job = platform.wakeup.listen(0.05), uuid4()
    assert next(heard) is None
    for junk in (b"garbage", b"\xff\xfe", b"", b"me no-uuid", f"me {job} and the moon is full".encode()):
        platform.wakeup._live.publish(CHANNEL, junk)
    assert next(found for found in heard if found) == job
