"""The names that the platform is reached by. A page of another site can have its own name resolve to this machine (DNS rebinding);
its requests then seem to come from the platform's own page, but they name that site as their host."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterable
from ipaddress import ip_address
from urllib.parse import urlsplit

from backend.settings import BackendSettings
from gradstream.errors import UnknownHost
from gradstream.hostnames import LOOPBACK, PAGE_HOST

_PORT = re.compile(r":\d*$")
_LONGEST = 253
"""Letters of a name in the DNS."""


class KnownHosts:
    def __init__(self, names: Iterable[str]) -> None:
        self._names = frozenset(name.lower() for name in names)

    def check(self, header: str | None) -> None:
        """`header` is the request's `Host`. Browsers always send one. An IP address is never made to resolve to another one.

        Raises: UnknownHost."""
        name = "" if header is None else _PORT.sub("", header.strip()).lower().removesuffix(".")
        if header is None or name in self._names or _is_address(name):
            return
        name = name[:_LONGEST]
        raise UnknownHost(
            f"This platform is not known by the name '{name}'. If that is its name, start it with "
            f"`gradstream up --allowed-host {name}`, or set GRADSTREAM_ALLOWED_HOSTS={name} for its API; else use its IP address.",
            host=name,
        )


def known_hosts(settings: BackendSettings, bound: str) -> KnownHosts:
    """Return the names of this machine, of the address that the API listens on (`bound`), and of all addresses in its settings."""
    named = [urlsplit(url).hostname for url in (settings.public_url, settings.process_api_url) if url]
    own = [] if bound in LOOPBACK else _own_names()
    return KnownHosts([*LOOPBACK, PAGE_HOST, bound, *filter(None, named), *own, *settings.allowed_hosts])


def _own_names() -> list[str]:
    """Return the names by which other machines of the same network call this one."""
    full = socket.gethostname()
    short = full.partition(".")[0]
    return [full, short, f"{short}.local"]


def _is_address(name: str) -> bool:
    try:
        ip_address(name.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    return True
