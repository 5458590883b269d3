"""Machines that join with a token: what they are told, what is refused, and what the token opens."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import text

from backend.platform import Platform
from backend.settings import Settings


@pytest.fixture
def settings(settings: Settings, tmp_path: Path) -> Settings:
    password = tmp_path / "node-password"
    password.write_text("only for nodes\n")
    reached = {"join_live_url": "redis://node@0.0.0.0:8001", "join_plane_url": "redis://10.0.0.5:8002"}
    return settings.model_copy(update={**reached, "join_live_password_file": password})


@pytest.fixture
def join_token(api: httpx.Client) -> dict[str, Any]:
    made: dict[str, Any] = api.post("/tokens", json={"name": "machines", "kind": "join"}).json()
    return made


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def machine(name: str, id: str | None) -> dict[str, Any]:
    return {"name": name, "machine": id, "slots": 2, "cpus": 2, "memory": 1 << 30, "version": "0.1.0"}


def test_a_machine_is_told_where_both_redis_are_and_registers(
    anonymous: httpx.Client, api: httpx.Client, join_token: dict[str, Any]
) -> None:
    headers = bearer(join_token["token"])
    told = anonymous.post("/agent/join", json={"name": "second", "machine": "m"}, headers=headers).json()
    assert told.pop("time")
    assert told == {
        "version": "0.1.0", "live_url": "redis://node@0.0.0.0:8001", "live_password": "only for nodes",
        "plane_url": "redis://10.0.0.5:8002",
    }  # fmt: skip
    registered = anonymous.post("/agent/register", json=machine("second", "m"), headers=headers)
    assert registered.status_code == 200
    assert [node["name"] for node in api.get("/nodes").json()["items"]] == ["second"]
    beat = anonymous.post("/agent/heartbeat", json={}, headers=bearer(registered.json()["token"]))
    assert beat.json()["desired"] == []


def test_a_join_token_opens_nothing_else(anonymous: httpx.Client, join_token: dict[str, Any]) -> None:
    for method, path in (
        ("GET", "/jobs"),
        ("GET", "/nodes"),
        ("POST", "/sign-in-codes"),
        ("GET", "/tokens"),
        ("POST", "/agent/heartbeat"),
    ):
        answer = anonymous.request(method, path, headers=bearer(join_token["token"]), json={})
        assert (answer.status_code, answer.json()["type"]) == (401, "/problems/NotSignedIn"), path
    assert anonymous.post("/session", json={"token": join_token["token"]}).status_code == 401


def test_an_api_token_is_not_for_machines(api: httpx.Client) -> None:
    answer = api.post("/agent/join", json={"name": "second"})
    assert answer.status_code == 401
    assert "gradstream token create --join" in answer.json()["detail"]


def test_tokens_expire_and_are_revoked(
    platform: Platform, anonymous: httpx.Client, api: httpx.Client, join_token: dict[str, Any]
) -> None:
    short = api.post("/tokens", json={"name": "short", "expires_in": 3600}).json()
    assert anonymous.get("/jobs", headers=bearer(short["token"])).status_code == 200
    with platform.database.transaction() as session:
        session.execute(text("UPDATE api_tokens SET expires_at = now() - interval '1 second' WHERE expires_at IS NOT NULL"))
    assert anonymous.get("/jobs", headers=bearer(short["token"])).status_code == 401
    refused = anonymous.post("/agent/join", json={"name": "second"}, headers=bearer(join_token["token"]))
    assert refused.status_code == 401
    assert "expired" in refused.json()["detail"]
    fresh = api.post("/tokens", json={"name": "machines", "kind": "join", "expires_in": 60}).json()
    listed = {one["id"] for one in api.get("/tokens").json()["items"]}
    assert fresh["id"] in listed
    assert join_token["id"] not in listed, "an expired join token makes room"
    assert api.delete(f"/tokens/{fresh['id']}").status_code == 204
    assert anonymous.post("/agent/join", json={"name": "second"}, headers=bearer(fresh["token"])).status_code == 401


@pytest.mark.parametrize("given", [{"expires_in": 0}, {"expires_in": -1}, {"expires_in": 1e300}, {"kind": "admin"}])
def test_what_no_token_can_have_is_refused(api: httpx.Client, given: dict[str, Any]) -> None:
    assert api.post("/tokens", json={"name": "x", **given}).status_code == 422


def test_a_name_belongs_to_its_machine_while_that_lives(
    platform: Platform, anonymous: httpx.Client, join_token: dict[str, Any]
) -> None:
    headers = bearer(join_token["token"])

    def register(id: str | None) -> httpx.Response:
        return anonymous.post("/agent/register", json=machine("second", id), headers=headers)

    first = register("first").json()["token"]
    taken = anonymous.post("/agent/join", json={"name": "second", "machine": "other"}, headers=headers)
    assert (taken.status_code, register("other").status_code) == (409, 409)
    assert "--name" in taken.json()["detail"]
    assert anonymous.post("/agent/heartbeat", json={}, headers=bearer(first)).status_code == 200, "the first one stays"
    assert register("first").status_code == 200, "a restart of the same machine"
    with platform.database.transaction() as session:
        long_ago = timedelta(seconds=1) + platform.settings.node_lost_after
        session.execute(text("UPDATE nodes SET last_seen_at = now() - :ago"), {"ago": long_ago})
    assert register("other").status_code == 200, "the first one is gone"


class TestClosed:
    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return settings.model_copy(update={"join_live_url": None})

    def test_says_how_to_open_it(self, anonymous: httpx.Client, api: httpx.Client, password_file: Path) -> None:
        refused = api.post("/tokens", json={"name": "machines", "kind": "join"})
        joined = anonymous.post("/agent/join", json={"name": "second"}, headers=bearer(password_file.read_text()))
        for answer in (refused, joined):
            assert answer.status_code == 409
            assert "gradstream up --host" in answer.json()["detail"]
