"""`gradstream token` against a real platform."""

from __future__ import annotations

import json
from pathlib import Path

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


def test_a_token_is_made_listed_rotated_and_revoked(gradstream: Gradstream, credentials: Credentials) -> None:
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
    assert gradstream("token", "revoke", "ci-cli").returncode == 0
    assert not works(credentials.url, second)
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
