"""Machines that join with a token: what they are told, what is refused, and what the token opens."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from alembic import command
from sqlalchemy import text

from backend.platform import Platform
from backend.settings import BackendSettings
from backend.users import service as users
from backend.users.schemas import CreateToken
from gradstream.api.platform import TokenKind
from gradstream.errors import Invalid
from gradstream.process.machine import credential_of, has_credential, keep_credential
from tests.integration.backend.test_migrations import config_for


@pytest.fixture
def settings(settings: BackendSettings) -> BackendSettings:
    return settings.model_copy(update={"join_live_url": "redis://0.0.0.0:8001", "join_plane_url": "redis://10.0.0.5:8002"})


@pytest.fixture
def join_token(api: httpx.Client) -> dict[str, Any]:
    made: dict[str, Any] = api.post("/tokens", json={"name": "machines", "kind": "join"}).json()
    return made


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def machine(name: str, credential: str | None = None) -> dict[str, Any]:
    return {"name": name, "credential": credential, "slots": 2, "cpus": 2, "memory": 1 << 30, "version": "0.1.0"}


def secret(who: str) -> str:
    """A credential that its agent has made."""
    return f"gsc_{who}".ljust(40, ".")


class Machines:
    """Machines that register over HTTP."""

    def __init__(self, http: httpx.Client) -> None:
        self._http = http

    def prepare(self, name: str, token: str) -> httpx.Response:
        return self._http.post("/agent/join", json={"name": name}, headers=bearer(token))

    def join(self, name: str, token: str, who: str) -> httpx.Response:
        return self._http.post("/agent/register", json=machine(name, secret(who)), headers=bearer(token))

    def restart(self, name: str, who: str) -> httpx.Response:
        return self._http.post("/agent/register", json=machine(name), headers=bearer(secret(who)))

    def heartbeat(self, registered: httpx.Response) -> int:
        return self._http.post("/agent/heartbeat", json={}, headers=bearer(registered.json()["token"])).status_code


@pytest.fixture
def machines(anonymous: httpx.Client) -> Machines:
    return Machines(anonymous)


def make_token(api: httpx.Client, **given: Any) -> str:
    return str(api.post("/tokens", json={"name": "machines", "kind": "join", **given}).json()["token"])


def test_a_machine_is_told_where_both_redis_are_and_registers(
    anonymous: httpx.Client, api: httpx.Client, join_token: dict[str, Any]
) -> None:
    headers = bearer(join_token["token"])
    told = anonymous.post("/agent/join", json={"name": "second"}, headers=headers).json()
    assert told.pop("time")
    assert told == {"version": "0.1.0", "live_url": "redis://0.0.0.0:8001", "plane_url": "redis://10.0.0.5:8002"}
    registered = anonymous.post("/agent/register", json=machine("second", secret("m")), headers=headers)
    assert registered.status_code == 200
    [node] = api.get("/nodes").json()["items"]
    assert (node["name"], node["joined_with"]) == ("second", f"machines ({join_token['id'][:8]}) of ada")
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
    assert join_token["id"] not in listed, "an expired join token ends for a new one"
    assert api.delete(f"/tokens/{fresh['id']}").status_code == 204
    assert anonymous.post("/agent/join", json={"name": "second"}, headers=bearer(fresh["token"])).status_code == 401


@pytest.mark.parametrize(
    "given",
    [
        {"expires_in": 0},
        {"expires_in": -1},
        {"expires_in": 1e300},
        {"kind": "admin"},
        {"uses": 2},
        {"kind": "join", "uses": 0},
        {"kind": "join", "uses": 10**9},
    ],
)
def test_what_no_token_can_have_is_refused(api: httpx.Client, given: dict[str, Any]) -> None:
    assert api.post("/tokens", json={"name": "x", **given}).status_code == 422


def test_a_token_is_for_one_machine_unless_it_says_for_how_many(api: httpx.Client, machines: Machines) -> None:
    one, two = make_token(api), make_token(api, uses=2)
    assert machines.join("a", one, "a").status_code == 200
    spent = machines.join("b", one, "b")
    assert spent.status_code == 401
    assert "spent: it was for one machine, which has joined. `gradstream token create --join`" in spent.json()["detail"]
    assert machines.prepare("b", one).status_code == 401, "told before an agent starts"
    taken = machines.join("a", two, "b")
    assert taken.status_code == 409, "and that has used up nothing"
    answers = [machines.join(name, two, name).status_code for name in ("b", "c", "d")]
    assert answers == [200, 200, 401]
    used = {(each["uses"], each["used"]) for each in api.get("/tokens").json()["items"]}
    assert used == {(1, 1), (2, 2), (None, 0)}


def test_a_token_that_many_use_at_once_lets_in_as_many_as_it_says(api: httpx.Client, machines: Machines) -> None:
    token = make_token(api, uses=3)
    with ThreadPoolExecutor(12) as pool:
        answers = list(pool.map(lambda number: machines.join(f"n{number}", token, f"{number}").status_code, range(12)))
    assert sorted(set(answers)) == [200, 401]
    assert answers.count(200) == len(api.get("/nodes").json()["items"]) == 3


def test_a_node_comes_back_by_its_credential_alone(api: httpx.Client, machines: Machines) -> None:
    first = machines.join("second", make_token(api), "m")
    again = machines.restart("second", "m")
    assert again.json()["node_id"] == first.json()["node_id"]
    assert [machines.heartbeat(first), machines.heartbeat(again)] == [401, 200]
    renamed = machines.restart("other-name", "m")
    assert (renamed.status_code, [node["name"] for node in api.get("/nodes").json()["items"]]) == (200, ["other-name"])
    assert machines.restart("second", "somebody").status_code == 401
    machines.join("third", make_token(api), "t")
    assert machines.restart("third", "m").status_code == 409, "not under the name of another one"


def test_no_token_takes_the_name_of_a_living_node(platform: Platform, api: httpx.Client, machines: Machines) -> None:
    token = make_token(api, uses=5)
    first = machines.join("second", token, "first")
    refused = [machines.prepare("second", token), machines.join("second", token, "other")]
    assert [answer.status_code for answer in refused] == [409, 409]
    assert all("--name" in answer.json()["detail"] for answer in refused)
    with platform.database.transaction() as session:
        session.execute(text("UPDATE nodes SET last_seen_at = now() - interval '1 day'"))
    assert machines.join("second", token, "other").status_code == 409, "silent, but it may be the API that was away"
    assert machines.heartbeat(first) == 200
    with platform.database.transaction() as session:
        session.execute(text("UPDATE nodes SET status = 'lost'"))
    assert machines.join("second", token, "other").status_code == 200, "the first one is gone"
    assert machines.restart("second", "first").status_code == 401, "and its credential with it"
    assert machines.heartbeat(first) == 401


def test_a_removed_node_needs_another_token(api: httpx.Client, machines: Machines) -> None:
    first = machines.join("second", make_token(api), "m")
    assert api.delete(f"/nodes/{first.json()['node_id']}").status_code == 204
    for refused in (machines.restart("second", "m"), machines.prepare("second", secret("m"))):
        assert (refused.status_code, refused.json()["type"]) == (403, "/problems/NodeRemoved")
    back = machines.join("second", make_token(api), "m")
    assert back.json()["node_id"] == first.json()["node_id"]
    assert api.delete(f"/nodes/{first.json()['node_id']}").status_code == 204
    assert machines.join("elsewhere", make_token(api), "m").status_code == 200, "the same folder under another name"


def test_a_token_without_a_credential_is_no_use(api: httpx.Client, anonymous: httpx.Client) -> None:
    for credential in (None, "short"):
        body = machine("second", credential)
        refused = anonymous.post("/agent/register", json=body, headers=bearer(make_token(api)))
        assert refused.status_code == 422
        assert "credential" in refused.text


def test_the_secret_of_an_operator_is_entered_once_in_its_life(platform: Platform, machines: Machines) -> None:
    """As `backend migrate` does at each start of the containers."""
    secret = "of a file, made by make-secrets".ljust(64, "x")

    def enter(secret: str = secret) -> None:
        with platform.database.transaction() as session:
            users.enter_join_token(session, secret, uses=1)

    enter()
    assert machines.join("cpu", secret, "cpu").status_code == 200
    enter()
    assert machines.join("evil", secret, "evil").status_code == 401
    with platform.database.transaction() as session:
        session.execute(text("UPDATE api_tokens SET expires_at = now() - interval '1 day', used = 0 WHERE kind = 'join'"))
        users.create_token(session, users.ensure_user(session, "ada").id, CreateToken(name="more", kind=TokenKind.JOIN))
    enter()
    assert machines.join("evil", secret, "evil").status_code == 401, "also after its hour"
    with pytest.raises(Invalid, match="32 are the least"):
        enter("guessable")


def test_a_node_of_an_older_version_comes_back_by_what_is_in_its_folder(
    platform: Platform, api: httpx.Client, machines: Machines, tmp_path: Path
) -> None:
    """It kept an identity there, and told it to the platform as it is. Another folder's row had the same, under an older name."""
    for name in ("today", "before"):
        machines.join(name, make_token(api), name)
    folder = tmp_path / "agent"
    folder.mkdir()
    (folder / "machine").write_text("5e" * 16)
    config = config_for(platform)
    with platform.database.engine.begin() as connection:
        config.attributes["connection"] = connection
        command.downgrade(config, "0018")
        connection.execute(text("UPDATE nodes SET machine = :machine"), {"machine": "5e" * 16})
        connection.execute(text("UPDATE nodes SET last_seen_at = now() - interval '1 day' WHERE name = 'before'"))
        command.upgrade(config, "head")
    assert has_credential(folder)
    headers = bearer(credential_of(folder))
    keep_credential(folder)
    assert machines._http.post("/agent/register", json=machine("today"), headers=headers).status_code == 200
    [file] = folder.iterdir()
    assert (file.name, file.stat().st_mode & 0o777) == ("credential", 0o600)


class TestClosed:
    @pytest.fixture
    def join_token(self, platform: Platform) -> str:
        with platform.database.transaction() as session:
            users.enter_join_token(session, "a" * 40, uses=1)
        return "a" * 40

    @pytest.fixture
    def settings(self, settings: BackendSettings) -> BackendSettings:
        return settings.model_copy(update={"join_live_url": None})

    def test_says_how_to_open_it(self, anonymous: httpx.Client, api: httpx.Client, join_token: str) -> None:
        refused = api.post("/tokens", json={"name": "machines", "kind": "join"})
        joined = anonymous.post("/agent/join", json={"name": "second"}, headers=bearer(join_token))
        for answer in (refused, joined):
            assert answer.status_code == 409
            assert "gradstream up --host" in answer.json()["detail"]
