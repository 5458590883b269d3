"""Who may ask: nobody without a token or a session, but for health and the sign-in itself."""

from __future__ import annotations

import re
from uuid import uuid4

import httpx
import pytest

from backend.app import openapi, routes

DOCUMENT = openapi(routes())
OPEN = {("get", "/api/v1/health"), ("post", "/api/v1/session")}
CLOSED = [(method, path) for path, methods in DOCUMENT["paths"].items() for method in methods if (method, path) not in OPEN]


@pytest.mark.more
def test_every_other_endpoint_refuses_strangers(anonymous: httpx.Client) -> None:
    assert len(CLOSED) > 25
    for method, path in CLOSED:
        url = re.sub(r"\{[^}]+\}", str(uuid4()), path.removeprefix("/api/v1"))
        for headers in ({}, {"Authorization": "Bearer gst_made-up"}, {"Cookie": "gradstream_session=made-up"}):
            answer = anonymous.request(method, url, headers=headers, json={})
            assert (answer.status_code, answer.json()["type"]) == (401, "/problems/NotSignedIn"), f"{method} {path} {headers}"


def test_a_session_is_for_the_platforms_own_page(api: httpx.Client, anonymous: httpx.Client) -> None:
    """Cookies know no ports: pages of other programs on this host send them along."""
    anonymous.post("/session", json={"code": api.post("/sign-in-codes").json()["code"]})
    host = anonymous.base_url.netloc.decode()
    own = ({}, {"Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "none"}, {"Origin": f"http://{host}"})
    foreign = (
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Origin": "http://127.0.0.1:8888"},
        {"Origin": "null"},
    )
    for method, path in (("GET", "/jobs"), ("POST", "/sign-in-codes")):
        assert [anonymous.request(method, path, headers=headers).status_code < 300 for headers in own] == [True] * 4
        for headers in foreign:
            answer = anonymous.request(method, path, headers=headers)
            assert (answer.status_code, answer.json()["type"]) == (403, "/problems/ForeignPage"), headers
    assert api.get("/jobs", headers=foreign[0]).status_code == 200, "a token says itself who sends"


def test_every_answer_tells_browsers_what_a_page_may_do(api: httpx.Client, anonymous: httpx.Client) -> None:
    for answer in (api.get("/jobs"), anonymous.get("/jobs"), anonymous.get("/nowhere"), anonymous.get("/health")):
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"


def test_every_operation_has_a_name_and_a_sentence() -> None:
    operations = [operation for methods in DOCUMENT["paths"].values() for operation in methods.values()]
    names = [operation["operationId"] for operation in operations]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z][A-Za-z]+", name) for name in names)
    assert all(operation.get("description") for operation in operations)


def test_the_description_of_the_api_wants_a_sign_in_too(api: httpx.Client, anonymous: httpx.Client) -> None:
    assert api.get("/openapi.json").json() == DOCUMENT
    assert [anonymous.get(path).status_code for path in ("/openapi.json", "/docs", "/redoc")] == [401] * 3


def test_health_needs_no_sign_in(anonymous: httpx.Client) -> None:
    assert anonymous.get("/health").json() == {"status": "ok", "version": "0.1.0"}


def test_a_code_signs_a_browser_in_once(api: httpx.Client, anonymous: httpx.Client) -> None:
    made = api.post("/sign-in-codes").json()
    assert made["url"].endswith(f"/sign-in#{made['code']}")
    signed_in = anonymous.post("/session", json={"code": made["code"]})
    assert signed_in.json()["user"]["name"] == "ada"
    cookie = signed_in.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert anonymous.get("/session").json()["user"]["name"] == "ada"
    assert anonymous.get("/jobs").status_code == 200
    again = httpx.post(f"{anonymous.base_url}session", json={"code": made["code"]})
    assert again.status_code == 401
    assert anonymous.delete("/session").status_code == 204
    anonymous.cookies.clear()
    anonymous.cookies.set("gradstream_session", re.findall(r"gradstream_session=([^;]+)", signed_in.headers["set-cookie"])[0])
    assert anonymous.get("/jobs").status_code == 401, "the session ended on the server, not only in the browser"


def test_a_token_is_shown_once_and_can_be_revoked(api: httpx.Client, anonymous: httpx.Client) -> None:
    made = api.post("/tokens", json={"name": "ci"}).json()
    headers = {"Authorization": f"Bearer {made['token']}"}
    assert anonymous.get("/session", headers=headers).json()["user"]["name"] == "ada"
    listed = {each["name"]: each for each in api.get("/tokens").json()["items"]}
    assert listed["ci"]["last_used_at"] is not None
    assert made["token"] not in str(listed)
    assert api.delete(f"/tokens/{made['id']}").status_code == 204
    assert anonymous.get("/session", headers=headers).status_code == 401
    assert api.delete(f"/tokens/{made['id']}").status_code == 404


def test_sign_in_wants_exactly_one_proof(anonymous: httpx.Client) -> None:
    for body in ({}, {"code": "a", "token": "b"}):
        assert anonymous.post("/session", json=body).status_code == 422
