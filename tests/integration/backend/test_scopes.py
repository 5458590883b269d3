"""A token of the scope read sees everything and changes nothing, whatever the operation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
from fastapi.routing import APIRoute
from sqlalchemy import text

from backend import models
from backend.app import openapi, routes
from backend.nodes.models import PresenceRow
from backend.platform import Platform
from backend.users import scopes
from tests.integration.backend.jobs import spec

APP = routes()
DOCUMENT = openapi(APP)
OPERATIONS = [(method.upper(), path, one) for path, methods in DOCUMENT["paths"].items() for method, one in methods.items()]
OF_USERS = [each for each in OPERATIONS if any("token" in way for way in each[2].get("security", []))]
CHANGING = [each for each in OF_USERS if each[0] != "GET" and each[2]["operationId"] not in ("planJob", "validateJob")]


@pytest.fixture
def reader(api: httpx.Client) -> Iterator[httpx.Client]:
    """The API, asked with a token of the scope read."""
    token = api.post("/tokens", json={"name": "gate", "scope": "read"}).json()["token"]
    headers = {"Authorization": f"Bearer {token}"}
    with httpx.Client(base_url=api.base_url, headers=headers, trust_env=False, timeout=api.timeout) as client:
        yield client


def test_no_operation_that_changes_something_lets_a_read_token_in(reader: httpx.Client, platform: Platform, job_id: UUID) -> None:
    before = _stored(platform)
    assert len(CHANGING) > 12
    for method, path, operation in CHANGING:
        answer = reader.request(method, _url(path, job_id), json={})
        problem = answer.json()
        assert (answer.status_code, problem["type"]) == (403, "/problems/OutOfScope"), f"{method} {path}"
        assert answer.headers["content-type"] == "application/problem+json"
        assert problem["context"] == {"scope": "read", "needs": "full"}
        assert operation["operationId"] in problem["detail"]
        assert "gradstream token create --scope full" in problem["detail"]
        assert "403" in operation["responses"], f"{method} {path} does not describe the refusal"
    assert _stored(platform) == before


def test_a_read_token_uses_every_operation_that_reads_and_changes_nothing(
    reader: httpx.Client, platform: Platform, job_id: UUID
) -> None:
    before = _stored(platform)
    reading = [each for each in OF_USERS if each not in CHANGING]
    assert len(reading) > 25
    for method, path, operation in reading:
        body = {"json": {"spec": spec()}} if method == "POST" else {}
        with reader.stream(method, _url(path, job_id), **body) as answer:  # a stream of events has no end
            assert answer.status_code not in (401, 403), f"{method} {path}"
            assert "403" not in operation["responses"]
    assert reader.post("/jobs/plan", json={"spec": spec()}).status_code == 200
    assert reader.post("/jobs/validate", json={"spec": spec()}).status_code == 200
    assert reader.get("/openapi.json").json() == DOCUMENT
    assert reader.get("/session").json()["scope"] == "read"
    assert _stored(platform) == before


def test_agents_and_processes_do_not_take_a_read_token(reader: httpx.Client) -> None:
    others = [each for each in OPERATIONS if each not in OF_USERS and each[2].get("security")]
    assert len(others) > 6
    for method, path, _ in others:
        assert reader.request(method, _url(path, uuid4()), json={}).status_code == 401, f"{method} {path}"


def test_every_route_that_changes_something_is_among_those_tried() -> None:
    tried = {operation["operationId"] for _, _, operation in OPERATIONS}
    found = list(_routes(APP.routes))
    assert len(found) > 40
    for route in found:
        assert route.operation_id in tried or route.methods <= scopes.SAFE_METHODS, route.path
    assert tried >= scopes.CHANGE_NOTHING


def test_a_read_token_cannot_become_more(reader: httpx.Client, anonymous: httpx.Client) -> None:
    token = reader.headers["authorization"].removeprefix("Bearer ")
    refused = anonymous.post("/session", json={"token": token})
    assert (refused.status_code, refused.json()["type"]) == (403, "/problems/OutOfScope")
    assert "set-cookie" not in refused.headers
    assert reader.post("/sign-in-codes").status_code == 403
    assert reader.post("/tokens", json={"name": "more", "scope": "full"}).status_code == 403
    assert anonymous.get("/jobs").status_code == 401


def test_a_token_is_full_unless_it_says_otherwise(api: httpx.Client, anonymous: httpx.Client) -> None:
    made = api.post("/tokens", json={"name": "all"}).json()
    assert (made["kind"], made["scope"]) == ("api", "full")
    named = {"Authorization": f"Bearer {made['token']}"}
    assert anonymous.post("/tokens", json={"name": "next", "scope": "read"}, headers=named).status_code == 201
    assert {each["name"]: each["scope"] for each in api.get("/tokens").json()["items"]} == {
        "next": "read",
        "all": "full",
        "tests": "full",
    }


def test_a_join_token_takes_no_scope(api: httpx.Client) -> None:
    refused = api.post("/tokens", json={"name": "machines", "kind": "join", "scope": "read"})
    assert refused.status_code == 422
    assert "leave 'scope' out" in refused.json()["errors"][0]["message"]
    wrong = api.post("/tokens", json={"name": "x", "scope": "write"})
    assert (wrong.status_code, wrong.json()["errors"][0]["pointer"]) == (422, "/scope")


def _url(path: str, job_id: UUID) -> str:
    path = path.removeprefix("/api/v1").replace("/jobs/{id}", f"/jobs/{job_id}")
    return re.sub(r"\{[^}]+\}", str(uuid4()), path)


def _routes(of: Any) -> Iterator[APIRoute]:
    """All routes, also those of routers that were included."""
    for route in of:
        inner = getattr(route, "original_router", None)
        if inner is not None:
            yield from _routes(inner.routes)
        elif isinstance(route, APIRoute):
            yield route


def _stored(platform: Platform) -> dict[str, list[str]]:
    """Everything in the database, but for when tokens were used and which programs are there."""
    names = [table.__tablename__ for table in models.TABLES if table is not PresenceRow]
    with platform.database.transaction() as session:
        session.execute(text("UPDATE api_tokens SET last_used_at = NULL"))
        return {name: list(session.scalars(text(f"SELECT t::text FROM {name} t ORDER BY t::text"))) for name in names}
