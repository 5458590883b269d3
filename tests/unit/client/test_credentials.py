"""Whom a command talks to, and that a token goes nowhere else."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from gradstream.client import Credentials
from gradstream.client.credentials import ClientSettings
from gradstream.errors import NotFound, NotSignedIn


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user with a login file and a platform of their own."""
    for name in ("URL", "TOKEN", "TOKEN_FILE"):
        monkeypatch.delenv(f"GRADSTREAM_{name}", raising=False)
    monkeypatch.setenv("GRADSTREAM_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("GRADSTREAM_DATA_DIR", str(tmp_path / "data"))
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "client.json").write_text(json.dumps({"url": "http://127.0.0.1:8000", "token": "local"}))
    Credentials("https://lab.example.org", "lab").save(tmp_path / "config" / "credentials.json")
    return tmp_path


def pair(found: Credentials) -> tuple[str, str]:
    return found.url, found.token


def test_the_order_is_flags_environment_login_local(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (kept / "flag").write_text("flag\n")
    assert pair(Credentials.find()) == ("https://lab.example.org", "lab")
    assert pair(Credentials.find(url="gradstream.localhost:8000")) == ("http://127.0.0.1:8000", "local"), "the page's name for it"

    monkeypatch.setenv("GRADSTREAM_URL", "https://env.example.org/")
    monkeypatch.setenv("GRADSTREAM_TOKEN", "env")
    assert pair(Credentials.find()) == ("https://env.example.org", "env")
    assert pair(Credentials.find(url="flag.example.org", token_file=kept / "flag")) == ("http://flag.example.org", "flag")

    monkeypatch.delenv("GRADSTREAM_URL")
    monkeypatch.delenv("GRADSTREAM_TOKEN")
    ClientSettings().login_file.unlink()
    assert pair(Credentials.find()) == ("http://127.0.0.1:8000", "local")


def test_a_kept_token_is_for_its_own_address_only(kept: Path) -> None:
    assert pair(Credentials.find(url="http://127.0.0.1:8000/api/v1")) == ("http://127.0.0.1:8000", "local")
    with pytest.raises(NotSignedIn, match=r"no token for https://other\.example\.org"):
        Credentials.find(url="https://other.example.org")


def test_nothing_known_says_what_to_do(kept: Path) -> None:
    ClientSettings().login_file.unlink()
    (kept / "data" / "client.json").write_text("{ half")
    with pytest.raises(NotSignedIn, match="gradstream up"):
        Credentials.find()
    with pytest.raises(NotFound, match="cannot be read"):
        Credentials.find(url="http://x", token_file=kept / "gone")


def test_the_login_file_is_private_and_the_token_is_not_shown(kept: Path) -> None:
    path = ClientSettings().login_file
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert "lab'" not in repr(Credentials.load(path))
    Credentials("http://new", "again").save(path)
    assert Credentials.load(path) == Credentials("http://new", "again")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
