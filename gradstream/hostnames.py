"""Names of this machine, and the one under which the local page is opened."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

LOOPBACK = ("127.0.0.1", "localhost", "::1")
PAGE_HOST = "gradstream.localhost"
"""Browsers resolve names below `localhost` to this machine by themselves. A name of its own keeps the page's cookies from the other
local servers, as a cookie knows no port."""


def is_here(host: str | None) -> bool:
    return host in LOOPBACK or host == PAGE_HOST


def page_url(url: str) -> str:
    """An address of a local platform as its page is opened; other addresses stay."""
    return _with_host(url, PAGE_HOST) if urlsplit(url).hostname in LOOPBACK else url


def program_url(url: str) -> str:
    """An address as programs reach it: the resolver of a system need not know names below `localhost`."""
    return _with_host(url, LOOPBACK[0]) if urlsplit(url).hostname == PAGE_HOST else url


def check_host_name(name: str) -> str:
    """Raises: ValueError."""
    if not re.fullmatch(r"[\w-]+(\.[\w-]+)*", name):
        raise ValueError(f"'{name}' is not a host name; write it like gradstream.example.org, without http:// and port")
    return name


def _with_host(url: str, host: str) -> str:
    where = urlsplit(url)
    return where._replace(netloc=f"{host}:{where.port}" if where.port else host).geturl()
