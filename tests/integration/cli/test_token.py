"""`gradstream token` against a real platform."""

from __future__ import annotations

import json

from gradstream.client import Client, Credentials
from gradstream.errors import NotSignedIn
from tests.integration.cli.shared import Gradstream


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
    assert (one["kind"], bool(one["expires_at"])) == ("api", True)
    second = gradstream("token", "rotate", "ci-cli").stdout.strip()
    assert [works(credentials.url, token) for token in (first, second)] == [False, True]
    assert gradstream("token", "revoke", "ci-cli").returncode == 0
    assert not works(credentials.url, second)
    assert gradstream("token", "revoke", "ci-cli").returncode == 4
    closed = gradstream("token", "create", "--join")
    assert closed.returncode == 1
    assert "gradstream up --host" in closed.stderr
