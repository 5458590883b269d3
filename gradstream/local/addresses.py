"""Under which address other machines reach this one."""

from __future__ import annotations

import socket

_ELSEWHERE = ("192.0.2.1", "2001:db8::1")
"""Addresses reserved for documentation. Nothing is sent there."""


def url_for_others(host: str, port: int) -> str:
    """Return the URL of a server that listens on `host`. If that means all addresses, the URL has the one that leads outside."""
    if host in ("0.0.0.0", "::"):
        host = _outward(*((_ELSEWHERE[0], socket.AF_INET) if host == "0.0.0.0" else (_ELSEWHERE[1], socket.AF_INET6)))
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def _outward(elsewhere: str, family: socket.AddressFamily) -> str:
    """The address from which this machine would send to another network; without a way there, its name."""
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((elsewhere, 9))
            return str(probe.getsockname()[0])
    except OSError:
        return socket.gethostname()
