"""The program that holds a port, named in an error with a remedy."""

from __future__ import annotations

import errno
import socket

import psutil

from gradstream.errors import Conflict, Invalid


def refuse_if_taken(host: str, port: int, option: str = "--port") -> None:
    """`option` is what chooses the port. Raises: Conflict, naming the program that listens there as far as we may see it, and what
    to do. Invalid: no such host or port."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    if port > 65535:
        raise Invalid(f"there is no port {port}; choose one with {option}")
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the API does: a closed connection may linger
        try:
            probe.bind((host, port))
        except PermissionError as error:
            raise Conflict(f"port {port} may not be used by this account; choose one above 1023 with {option}") from error
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise Invalid(f"'{host}' is not an address of this machine: {error.strerror}") from error
            raise Conflict(f"{host}:{port} is taken{_by(port)}; choose another with {option}") from error


def _by(port: int) -> str:
    try:
        listening = [c for c in psutil.net_connections("inet") if c.status == psutil.CONN_LISTEN]
        pid = next((c.pid for c in listening if c.laddr and c.laddr[1] == port), None)
        owner = psutil.Process(pid) if pid else None
        command = " ".join(owner.cmdline())[:100] if owner else ""
    except (psutil.AccessDenied, psutil.NoSuchProcess):
        return ""  # another account's, and we may not look
    if owner is None:
        return ""
    ours = " (a Gradstream platform: `gradstream down` stops it)" if "backend api" in command else ""
    return f" by process {owner.pid}, `{command}`{ours}"
