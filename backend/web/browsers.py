"""Browsers: the headers that every response sends them, and the pages from which a session's cookie is accepted.

A cookie knows no port: a browser sends it along with requests of every page of this host, a notebook's or a job's own."""

from __future__ import annotations

from collections.abc import Mapping

from fastapi import FastAPI
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gradstream.errors import ForeignPage

_POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self' 'unsafe-inline'",  # the component library writes its sizes and colours into elements
    "img-src": "'self' data:",
    "font-src": "'self'",
    "connect-src": "'self'",
    "form-action": "'self'",
    "base-uri": "'none'",
    "frame-ancestors": "'none'",
}
HEADERS = {
    "Content-Security-Policy": "; ".join(f"{name} {value}" for name, value in _POLICY.items()),
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_OWN = {"same-origin", "none"}
"""Values of Sec-Fetch-Site: the platform's page asks, or the user, by the address bar or a bookmark."""


def check_page(headers: Mapping[str, str]) -> None:
    """Check the page that sent a session's cookie. Old browsers send only the origin, programs neither. Raises: ForeignPage."""
    site, origin = headers.get("sec-fetch-site"), headers.get("origin")
    elsewhere = origin is not None and origin.partition("://")[2] != headers.get("host")
    if (site not in _OWN) if site else elsewhere:
        raise ForeignPage(
            f"The page {origin or 'of another site'} sent this request, but only the platform's own page may use a "
            "browser's session. Programs send an API token."
        )


class _Headers:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, with_headers)


def install(app: FastAPI) -> None:
    app.add_middleware(_Headers)
