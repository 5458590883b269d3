"""`gradstream token` against a real platform."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import httpx
import pytest

from gradstream.client import Client, Credentials
from gradstream.errors import NotSignedIn, OutOfScope
from tests.integration.cli.shared import LINE, Gradstream


def works(url: str, token: str) -> bool:
    try:
        with Client(Credentials(url, token)) as client:
            client.user()
    except NotSignedIn:
        return False
    return True


def test_a_token_is_made_listed_rotated_and_revoked(gradstream: Gradstream, credentials: Credentials, client: Client) -> None:
    made = gradstream("token", "create", "ci-cli", "--expires", "30d")
    assert made.returncode == 0, made.stderr
    first = made.stdout.strip()
    assert "shown this once" in made.stderr
    listed = gradstream("token", "list", "--json").stdout
    assert first not in listed
    [one] = [each for each in json.loads(listed)["items"] if each["name"] == "ci-cli"]
    assert (one["kind"], one["scope"], bool(one["expires_at"])) == ("api", "full", True)
    second = gradstream("token", "rotate", "ci-cli").stdout.strip()
    assert [works(credentials.url, token) for token in (first, second)] == [False, True]
    [rotated] = [each for each in client.tokens() if each.name == "ci-cli"]
    assert rotated.expires_at
    assert abs(rotated.expires_at - rotated.created_at - timedelta(days=30)) < timedelta(seconds=1), "as the first one, from now on"
    gradstream("token", "rotate", "ci-cli", "--expires", "1h")
    [shorter] = [each for each in client.tokens() if each.name == "ci-cli"]
    assert shorter.expires_at
    assert abs(shorter.expires_at - shorter.created_at - timedelta(hours=1)) < timedelta(seconds=1)
    assert gradstream("token", "revoke", "ci-cli").returncode == 0
    assert [each.name for each in client.tokens()].count("ci-cli") == 0
    assert gradstream("token", "revoke", "ci-cli").returncode == 4
    closed = gradstream("token", "create", "--join")
    assert closed.returncode == 1
    assert "gradstream up --host" in closed.stderr


def test_a_read_token_follows_and_plans_but_changes_nothing(
    gradstream: Gradstream, credentials: Credentials, tmp_path: Path
) -> None:
    made = gradstream("token", "create", "gate-cli", "--scope", "read", "--expires", "30d")
    assert made.returncode == 0, made.stderr
    assert "scope read" in made.stderr
    rotated = gradstream("token", "rotate", "gate-cli", "--json").stdout
    assert json.loads(rotated)["scope"] == "read", "another secret, but no other rights"
    file = tmp_path / "token"
    file.write_text(json.loads(rotated)["token"])
    gate = ("--url", credentials.url, "--token-file", str(file))
    assert gradstream("jobs", *gate).returncode == 0
    assert gradstream("submit", str(LINE), "--plan", *gate).returncode == 0
    for arguments in (("submit", str(LINE)), ("open", "--print"), ("token", "create", "more"), ("token", "revoke", "gate-cli")):
        refused = gradstream(*arguments, *gate)
        assert refused.returncode == 5, refused.stderr
        assert "scope 'read'" in refused.stderr
        assert "gradstream token create --scope full" in " ".join(refused.stderr.split())
    with Client(Credentials(credentials.url, file.read_text())) as client, pytest.raises(OutOfScope):
        client.create_token("more")
    [row] = [line.split() for line in gradstream("token", "list").stdout.splitlines() if "gate-cli" in line]
    assert row[1:4] == ["gate-cli", "api", "read"]
    both = gradstream("token", "create", "--join", "--scope", "read")
    assert both.returncode == 2
    assert "a join token has no scope" in both.stderr


def test_browser_sessions_are_listed_and_ended(gradstream: Gradstream, credentials: Credentials, client: Client) -> None:
    headers, api = {"User-Agent": "shop\x7f-bot/1.0"}, f"{credentials.url}/api/v1"
    with httpx.Client(base_url=api, headers=headers) as browser, httpx.Client(base_url=api, headers=headers) as other:
        for each in (browser, other):
            assert each.post("/session", json={"code": client.sign_in_link().partition("#")[2]}).status_code == 200
        later, earlier = [each for each in client.sessions() if each.browser == "shop -bot/1.0"]
        ids = [each["id"] for each in json.loads(gradstream("session", "list", "--json").stdout)["items"]]
        assert ids == [str(each.id) for each in client.sessions()]
        [row] = [line.split() for line in gradstream("session", "list").stdout.splitlines() if str(earlier.id)[:8] in line]
        assert row[:3] == [str(earlier.id)[:8], "shop", "-bot/1.0"]
        ended = gradstream("session", "end", str(earlier.id)[:8])
        assert (ended.returncode, "signed out shop -bot/1.0" in ended.stderr) == (0, True)
        assert [each.get("/session").status_code for each in (browser, other)] == [401, 200]
        again = gradstream("session", "end", str(earlier.id)[:8])
        assert again.returncode == 4
        assert "gradstream session list" in again.stderr
        client.end_session(later.id)
        assert other.get("/session").status_code == 401
