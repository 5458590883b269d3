"""HTTP through the door of a process (`gradstream.sandbox.door`)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import httpcore
import httpx
from httpcore._backends.sync import SyncStream

from gradstream.sandbox import door
from gradstream.tls import choose_verify


def http_transport(base: str) -> httpx.HTTPTransport:
    """For a client of httpx: as its own transport, but each connection comes through the door of this process."""
    context = httpx.create_ssl_context(verify=choose_verify(base), trust_env=False)
    transport = httpx.HTTPTransport(trust_env=False, verify=context)
    transport._pool = httpcore.ConnectionPool(network_backend=_DoorBackend(), ssl_context=context)
    return transport


class _DoorBackend(httpcore.SyncBackend):
    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        try:
            return SyncStream(door.connect(f"{host}:{port}"))
        except TimeoutError as error:
            raise httpcore.ConnectTimeout(str(error)) from error
        except OSError as error:
            raise httpcore.ConnectError(str(error)) from error
