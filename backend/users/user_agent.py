"""A short name of the browser that signs in, for the list of sessions."""

from __future__ import annotations

import re

LONGEST = 60
"""Characters."""
_BROWSERS = (
    ("Edge", r"Edg(?:e|A|iOS)?/"),
    ("Opera", r"OPR/"),
    ("Samsung Internet", r"SamsungBrowser/"),
    ("Firefox", r"(?:Firefox|FxiOS)/"),
    ("Chrome", r"(?:HeadlessChrome|Chrome|CriOS)/"),
    ("Safari", r"Version/(?=.*Safari/)"),
)
"""The first that fits counts: most browsers also name those after them."""
_SYSTEMS = (
    ("Windows", "Windows"),
    ("Android", "Android"),
    ("iOS", "iPhone|iPad"),
    ("macOS", "Mac OS X|Macintosh"),
    ("ChromeOS", "CrOS"),
    ("Linux", "Linux|X11"),
)


def name_browser(user_agent: str | None) -> str:
    """`Firefox 133 on Linux`. For a program the printable beginning of what it sent; it is never empty or long."""
    words = " ".join("".join(each if each.isprintable() else " " for each in (user_agent or "")[:1000]).split())
    for name, mark in _BROWSERS:
        if found := re.search(mark + r"(\d{1,4})", words):
            system = next((name for name, mark in _SYSTEMS if re.search(mark, words)), None)
            return f"{name} {found[1]}" + (f" on {system}" if system else "")
    return words[:LONGEST].strip() or "unknown"
