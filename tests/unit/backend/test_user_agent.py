"""What the list of sessions calls a browser."""

from __future__ import annotations

from backend.users.user_agent import LONGEST, name_browser

CHROME = "Mozilla/5.0 ({}) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 {}Safari/537.36"
NAMES = {
    "Mozilla/5.0 (X11; Linux x86_64; rv:133.0) Gecko/20100101 Firefox/133.0": "Firefox 133 on Linux",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Safari/605.1.15": (
        "Safari 18 on macOS"
    ),
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like) CriOS/131.0 Mobile/1 Safari/6": (
        "Chrome 131 on iOS"
    ),
    CHROME.format("Windows NT 10.0; Win64; x64", "") + " Edg/131.0.0.0": "Edge 131 on Windows",
    CHROME.format("X11; CrOS x86_64 14541.0.0", ""): "Chrome 131 on ChromeOS",
    CHROME.format("Linux; Android 10; K", "Mobile "): "Chrome 131 on Android",
    CHROME.format("X11; Linux x86_64", "").replace("Chrome", "HeadlessChrome"): "Chrome 131 on Linux",
    "Firefox/" + "9" * 100: "Firefox 9999",
    "python-httpx/0.28.1": "python-httpx/0.28.1",
    "a\x00b\n\x1b[31m\t c\u202e\xa0d": "a b [31m c d",
    "x" * 100_000: "x" * LONGEST,
    "": "unknown",
    " \r\n ": "unknown",
}


def test_a_browser_has_a_short_printable_name() -> None:
    assert {sent: name_browser(sent) for sent in NAMES} == NAMES
    assert name_browser(None) == "unknown"
