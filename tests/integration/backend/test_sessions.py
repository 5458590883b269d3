"""Browser sessions: they end with the API token that they came from, and can be listed and ended."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import text

from backend.platform import Platform
from backend.stream import signed_in
from backend.users import service, sessions
from backend.users.schemas import CreateToken
from tests.integration.backend.jobs import submit
from tests.integration.backend.test_stream import stream

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:133.0) Gecko/20100101 Firefox/133.0"
Open = Callable[[dict[str, str]], httpx.Client]


@pytest.fixture
def open_(anonymous: httpx.Client) -> Iterator[Open]:
    """Signs a browser in; or gives a program a token."""
    with ExitStack() as opened:

        def open_one(proof: dict[str, str]) -> httpx.Client:
            headers = {"User-Agent": FIREFOX} | ({"Authorization": f"Bearer {proof['bearer']}"} if "bearer" in proof else {})
            made = httpx.Client(base_url=anonymous.base_url, headers=headers, trust_env=False, timeout=anonymous.timeout)
            client = opened.enter_context(made)
            if "bearer" not in proof:
                assert client.post("/session", json=proof).status_code == 200
            return client

        yield open_one


def make_token(api: httpx.Client, name: str, **more: Any) -> dict[str, Any]:
    made: dict[str, Any] = api.post("/tokens", json={"name": name, **more}).json()
    return made


def code_of(client: httpx.Client) -> dict[str, str]:
    return {"code": client.post("/sign-in-codes").json()["code"]}


def status(client: httpx.Client) -> int:
    return client.get("/session").status_code


def test_what_came_from_a_token_ends_with_it_however_it_came(api: httpx.Client, open_: Open) -> None:
    token, other = make_token(api, "lent"), make_token(api, "mine")
    program = open_({"bearer": token["token"]})
    direct = open_({"token": token["token"]})
    by_code = open_(code_of(program))
    by_session = open_(code_of(by_code))
    mine = open_({"token": other["token"]})
    unused = [code_of(program), code_of(by_session)]
    browsers = [direct, by_code, by_session]
    assert [status(each) for each in [*browsers, mine]] == [200] * 4
    assert {each["token_name"] for each in api.get("/sessions").json()["items"]} == {"lent", "mine"}
    assert api.delete(f"/tokens/{token['id']}").status_code == 204
    assert [status(each) for each in [*browsers, program, mine]] == [401, 401, 401, 401, 200]
    assert [api.post("/session", json=code).status_code for code in unused] == [401, 401]
    assert direct.post("/tokens", json={"name": "more"}).status_code == 401
    assert [each["token_name"] for each in api.get("/sessions").json()["items"]] == ["mine"]


def test_a_session_is_over_when_its_token_expires(api: httpx.Client, platform: Platform, open_: Open) -> None:
    token = make_token(api, "soon", expires_in=300)
    program, browser = open_({"bearer": token["token"]}), open_({"token": token["token"]})
    by_session = open_(code_of(browser))
    end = datetime.fromisoformat(token["expires_at"])
    for each in (browser, by_session):
        assert datetime.fromisoformat(each.get("/session").json()["expires_at"]) == end
        [cookie] = each.cookies.jar
        assert cookie.expires
        assert abs(cookie.expires - end.timestamp()) < 60
    code = program.post("/sign-in-codes").json()
    assert datetime.fromisoformat(code["expires_at"]) == end, "sooner than in ten minutes"
    lasting = open_({"token": make_token(api, "never")["token"]})
    ahead = datetime.fromisoformat(lasting.get("/session").json()["expires_at"]) - end
    assert ahead > timedelta(days=13)
    with platform.database.transaction() as session:
        for table in ("api_tokens", "sessions", "sign_in_codes"):
            session.execute(text(f"UPDATE {table} SET expires_at = expires_at - interval '301 s'"))
    assert [status(each) for each in (browser, by_session, lasting)] == [401, 401, 200]
    assert api.post("/session", json={"code": code["code"]}).status_code == 401
    assert len(api.get("/sessions").json()["items"]) == 1


def test_sessions_are_listed_and_ended_by_their_user_alone(
    api: httpx.Client, platform: Platform, open_: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = open_(code_of(api)), open_(code_of(api))
    with platform.database.transaction() as session:
        bob = service.create_token(session, service.ensure_user(session, "bob").id, CreateToken(name="bob")).token
        session.execute(text("UPDATE sessions SET last_used_at = last_used_at - interval '1 hour'"))
    stranger = open_({"bearer": bob})
    [mine] = [each for each in first.get("/sessions").json()["items"] if each["current"]]
    listed = api.get("/sessions").json()["items"]
    assert [each["current"] for each in listed] == [False, False], "a program has no session"
    assert listed[0]["id"] == mine["id"], "the last used is the first"
    assert (mine["browser"], mine["token_name"]) == ("Firefox 133 on Linux", "tests")
    assert mine["created_at"] <= mine["last_used_at"] < mine["expires_at"]
    assert datetime.fromisoformat(mine["last_used_at"]) - datetime.fromisoformat(listed[1]["last_used_at"]) > timedelta(minutes=59)

    assert stranger.get("/sessions").json() == {"items": []}
    assert stranger.delete(f"/sessions/{mine['id']}").status_code == 404
    assert status(first) == 200
    assert second.delete(f"/sessions/{mine['id']}").status_code == 204
    assert [status(first), status(second)] == [401, 200]
    assert second.delete(f"/sessions/{mine['id']}").status_code == 404
    assert second.delete("/sessions/1").status_code == 422

    assert second.post("/session", json=code_of(api)).status_code == 200
    assert len(api.get("/sessions").json()["items"]) == 1, "who signs in again has one session"
    monkeypatch.setattr(sessions, "MAX_SESSIONS", 2)
    third, fourth = open_(code_of(api)), open_(code_of(api))
    assert [status(each) for each in (second, third, fourth)] == [401, 200, 200]


def test_an_open_stream_ends_with_its_caller(
    api: httpx.Client, open_: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(signed_in, "POLL_INTERVAL", 0.0)
    job_id = submit(api, tmp_path)["id"]
    token = make_token(api, "lent")
    program, browser = open_({"bearer": token["token"]}), open_(code_of(api))
    [session] = browser.get("/sessions").json()["items"]
    with stream(program, f"/jobs/{job_id}/stream") as told, stream(browser, "/jobs/stream") as listed:
        assert (next(told).kind, next(listed).kind) == ("event", "job")
        for gone in (f"/tokens/{token['id']}", f"/sessions/{session['id']}"):
            assert api.delete(gone).status_code == 204
        api.post(f"/jobs/{job_id}/stop")
        for events in (told, listed):
            assert all("cancelled" not in str(event.data) for event in events), "what happens next is not for them"
    assert [status(program), status(browser)] == [401, 401]
