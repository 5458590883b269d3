"""Links that sign a browser in: their output, and their opening in a browser without showing the code to other users."""

from __future__ import annotations

import html
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from gradstream.hostnames import LOOPBACK, PAGE_HOST

if TYPE_CHECKING:
    from gradstream.client import SignInLink

_PAGE = '<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url={url}"><title>Gradstream</title>\n'


def say_link(link: SignInLink) -> None:
    from rich.text import Text

    from gradstream.cli.terminal.output import talking

    until = f"{link.expires_at.astimezone():%H:%M}"
    talking().print(Text.assemble("Open ", (link.url, "bold cyan"), f"  (works once, until {until})"))
    if urlsplit(link.url).hostname == PAGE_HOST:
        talking().print(f"     If the browser does not find {PAGE_HOST}, write {LOOPBACK[0]} there.", style="dim")


def has_display() -> bool:
    """Return whether a browser would show a window here; one that runs in the terminal would take it over."""
    return sys.platform == "darwin" or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))


def open_browser(link: SignInLink, folder: Path) -> bool:
    """Return whether a browser could be started. It is given a private file of `folder` that leads on to the link: everybody on the
    machine can read a browser's arguments."""
    import webbrowser

    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    page = folder / "sign-in.html"
    page.unlink(missing_ok=True)
    with open(os.open(page, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(_PAGE.format(url=html.escape(link.url)))
    try:
        return webbrowser.open(page.as_uri())
    except webbrowser.Error:
        return False
