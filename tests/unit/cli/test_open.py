"""`gradstream open`: the browser gets the link by way of a private file."""

from __future__ import annotations

import os
import stat
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gradstream.cli.platform.browse import has_display, open_browser
from gradstream.client import SignInLink
from tests.support import eventually

LINK = SignInLink(code="gsi_code", url="http://127.0.0.1:8000/sign-in#gsi_code", expires_at=datetime(2030, 1, 1, tzinfo=UTC))


@pytest.fixture
def arguments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file with the arguments of the last browser that was started."""
    seen, browser = tmp_path / "arguments", tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\nprintf "%s" "$*" > {seen}\n')
    browser.chmod(0o755)
    monkeypatch.setenv("BROWSER", f"{browser} %s")
    return seen


def test_the_code_stands_in_a_private_file_and_in_no_argument_list(arguments: Path, tmp_path: Path) -> None:
    for _ in range(2):
        assert open_browser(LINK, tmp_path / "config")
    page = tmp_path / "config" / "sign-in.html"
    assert eventually(lambda: arguments.exists() and arguments.read_text(), "the browser") == page.as_uri()
    assert f'url={LINK.url}"' in page.read_text()
    assert stat.S_IMODE(page.stat().st_mode) == 0o600


def test_a_browser_needs_a_display_or_to_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)
    assert has_display() == (os.uname().sysname == "Darwin")
    monkeypatch.setenv("DISPLAY", ":0")
    assert has_display()
