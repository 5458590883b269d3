"""Certificate authorities for HTTP clients, loaded only where an address needs them."""

from __future__ import annotations

import ssl
from urllib.parse import urlsplit


def choose_verify(url: str) -> ssl.SSLContext | bool:
    """Return the `verify` of an httpx client for this base address.

    To load the authorities takes 30 ms of CPU time, also for `http://`. Without them a redirect to `https://` fails: no host is
    trusted unseen.
    """
    return True if urlsplit(url).scheme == "https" else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
