"""Bounds on what one user does to the others: traces in the log, a number of jobs, a way to lock a user out."""

from __future__ import annotations

import json
from pathlib import Path
from uuid import uuid4

import httpx
import pytest
from structlog.testing import capture_logs

from backend import commands, settings
from backend.platform import Platform
from backend.users import service as users
from backend.users.schemas import CreateToken
from tests.integration.backend.agent import Agent
from tests.integration.backend.jobs import spec, submit


def client_of(platform: Platform, api: httpx.Client, name: str) -> httpx.Client:
    with platform.database.transaction() as session:
        token = users.create_token(session, users.ensure_user(session, name).id, CreateToken(name="tests")).token
    return httpx.Client(base_url=api.base_url, headers={"Authorization": f"Bearer {token}"}, trust_env=False, verify=False)


def test_the_log_keeps_who_deleted_a_job_or_drained_a_node(
    api: httpx.Client, agent: Agent, platform: Platform, tmp_path: Path
) -> None:
    node = api.get("/nodes").json()["items"][0]["id"]
    jobs = [submit(api, tmp_path)["id"] for _ in range(2)]
    for id in jobs:
        api.post(f"/jobs/{id}/stop")
    with client_of(platform, api, "eve") as eve, capture_logs() as told:
        assert eve.post(f"/nodes/{node}/drain").status_code == 200
        assert eve.delete(f"/jobs/{jobs[0]}").status_code == 204
        assert eve.post("/jobs/bulk", json={"action": "delete", "ids": jobs[1:]}).status_code == 200
        assert eve.get("/jobs").status_code == 200
        assert eve.post("/jobs/validate", json={"spec": {}}).status_code == 200
    asked = [line for line in told if line["event"] == "a user asks for a change"]
    assert [line["operation"] for line in asked] == ["drainNode", "deleteJob", "changeJobs"], "what only reads leaves no line"
    assert {line["actor"] for line in asked} == {"user:eve"}
    deleted = [line for line in told if line["event"] == "a job was deleted"]
    assert [(line["job"], line["owner"], line["actor"]) for line in deleted] == [(id, "ada", "user:eve") for id in jobs]


def test_a_user_has_so_many_jobs_that_have_not_ended(api: httpx.Client, platform: Platform, tmp_path: Path) -> None:
    object.__setattr__(platform.settings, "unended_jobs", 2)
    first, second = (submit(api, tmp_path) for _ in range(2))
    body, key = {"spec": spec(), "bundle": first["bundle"]}, {"Idempotency-Key": str(uuid4())}
    refused = api.post("/jobs", json=body, headers=key)
    assert refused.status_code == 429
    assert "You have 2 jobs that have not ended" in refused.json()["detail"]
    with client_of(platform, api, "bob") as bob:
        assert bob.post("/jobs", json=body).status_code == 201, "others have their own"
    api.post(f"/jobs/{second['id']}/stop")
    accepted = api.post("/jobs", json=body, headers=key)
    assert accepted.status_code == 201, accepted.text
    assert api.post("/jobs", json=body, headers=key).json()["id"] == accepted.json()["id"], "a repeat is no further job"


def test_who_is_locked_out_is_out_at_once_and_others_are_not(
    api: httpx.Client, platform: Platform, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(settings, "BackendSettings", lambda: platform.settings)
    with client_of(platform, api, "eve") as eve:
        job = submit(eve, tmp_path)["id"]
        token = eve.post("/tokens", json={"name": "second"}).json()["token"]
        cookie = httpx.post(f"{api.base_url}/session", json={"token": token}, trust_env=False).cookies
        assert commands.lock_out("eve") == 0
        assert json.loads(capsys.readouterr().out.splitlines()[-1]) == {"name": "eve", "revoked_tokens": 2}
        assert eve.get("/me").status_code == 401
        assert httpx.get(f"{api.base_url}/me", cookies=cookie, trust_env=False).status_code == 401
    assert api.get(f"/jobs/{job}").json()["status"] == "queued"
    assert commands.lock_out("nobody") == 1
    assert "There is no user nobody." in capsys.readouterr().err
