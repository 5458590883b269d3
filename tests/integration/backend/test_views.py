"""Saved views: each user's own, read by others once shared, changed by their owner alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from backend.platform import Platform
from backend.users import service as users
from backend.users.schemas import CreateToken
from backend.views import service
from gradstream.api.views import ChartLayout, PageQuery
from gradstream.client import Client
from gradstream.errors import NotFound

QUERY = {"place": "jobs", "name": "slow ones", "state": {"query": "status=running&sort=-loss"}}
LAYOUT = {"place": "job-metrics", "name": "default", "state": {"columns": 3, "height": 240, "order": ["train/loss"], "hidden": []}}


@pytest.fixture
def bob(api: httpx.Client, platform: Platform) -> Iterator[httpx.Client]:
    """The API, asked by another user."""
    with platform.database.transaction() as session:
        token = users.create_token(session, users.ensure_user(session, "bob").id, CreateToken(name="bob")).token
    headers = {"Authorization": f"Bearer {token}"}
    with httpx.Client(base_url=api.base_url, headers=headers, trust_env=False, timeout=api.timeout) as client:
        yield client


def save(api: httpx.Client, body: dict[str, Any], **more: Any) -> dict[str, Any]:
    response = api.put("/views", json={**body, **more})
    assert response.status_code == 200, response.text
    return dict(response.json())


def names(api: httpx.Client, place: str = "jobs") -> list[tuple[str, bool]]:
    return [(view["name"], view["mine"]) for view in api.get("/views", params={"place": place}).json()["items"]]


def test_a_view_is_its_owners_until_it_is_shared(api: httpx.Client, bob: httpx.Client) -> None:
    saved = save(api, QUERY)
    assert (saved["owner"], saved["mine"], saved["shared"]) == ("ada", True, False)
    assert names(bob) == []
    hidden = bob.get(f"/views/{saved['id']}")
    assert (hidden.status_code, hidden.json()["type"]) == (404, "/problems/NotFound")
    assert bob.delete(f"/views/{saved['id']}").status_code == 404
    shared = save(api, QUERY, shared=True)
    assert shared["id"] == saved["id"], "links to it stay good"
    read = bob.get(f"/views/{saved['id']}").json()
    assert (read["state"], read["owner"], read["mine"]) == (QUERY["state"], "ada", False)
    assert names(bob) == [("slow ones", False)]
    refused = bob.delete(f"/views/{saved['id']}")
    assert refused.status_code == 403
    assert refused.json()["detail"] == "slow ones belongs to ada, who alone can delete it."
    own = save(bob, QUERY, state={"query": "q=mine"})
    assert own["id"] != saved["id"], "a name is that of one user"
    assert names(bob) == [("slow ones", True), ("slow ones", False)]
    assert api.delete(f"/views/{saved['id']}").status_code == 204
    assert names(api) == []
    assert names(bob) == [("slow ones", True)]


def test_a_name_stands_for_what_was_saved_last_and_for_one_page(api: httpx.Client) -> None:
    first = save(api, QUERY)
    again = save(api, QUERY, state={"query": "q=other"})
    assert (again["id"], again["state"]) == (first["id"], {"query": "q=other"})
    assert save(api, QUERY, place="compare")["id"] != first["id"]
    layout = save(api, LAYOUT)
    assert layout["state"] == LAYOUT["state"]
    assert names(api, "job-metrics") == [("default", True)]
    assert len(names(api)) == 1


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({**LAYOUT, "state": {"columns": 9}}, "/state/columns"),
        ({**LAYOUT, "state": {"colums": 2}}, "/state/colums"),
        ({**LAYOUT, "state": {"order": ["m"] * 501}}, "/state/order"),
        ({**QUERY, "state": {"query": "x" * 8001}}, "/state/query"),
        ({**QUERY, "state": {"query": "a b#c"}}, "/state/query"),
        ({**QUERY, "name": " "}, "/name"),
        ({**QUERY, "place": "nowhere"}, ""),
    ],
)
def test_a_mistake_is_named_with_its_field(api: httpx.Client, body: dict[str, Any], pointer: str) -> None:
    refused = api.put("/views", json=body)
    assert refused.status_code == 422
    assert pointer in [error["pointer"] for error in refused.json()["errors"]]


def test_a_user_has_so_many_views(api: httpx.Client, bob: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "MOST_OWN", 2)
    save(api, LAYOUT)
    save(api, QUERY)
    save(api, QUERY)
    refused = api.put("/views", json={**QUERY, "name": "third"})
    assert (refused.status_code, refused.json()["detail"]) == (409, "You have 2 saved views, which is the limit. Delete one first.")
    assert names(api) == [("slow ones", True)], "a refusal leaves nothing"
    save(bob, QUERY)


def test_the_client_keeps_views(server: str, token: str) -> None:
    with Client(server, token=token) as client:
        kept = client.save_view("compare", "two", PageQuery(query="jobs=a&metric=loss"), shared=True)
        assert client.view(kept.id).state == PageQuery(query="jobs=a&metric=loss")
        client.save_view("job-metrics", "default", ChartLayout(columns=2))
        [layout] = client.views("job-metrics")
        assert layout.state == ChartLayout(columns=2)
        client.delete_view(kept.id)
        with pytest.raises(NotFound, match="no view"):
            client.view(kept.id)
