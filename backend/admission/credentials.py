"""Who sends a request, by its headers alone."""

from __future__ import annotations

from collections.abc import Hashable

import anyio
from anyio import CapacityLimiter
from fastapi.security.utils import get_authorization_scheme_param
from starlette.requests import HTTPConnection

from backend.admission.rules import Who
from backend.artifacts import auth as processes
from backend.nodes import auth as nodes
from backend.platform import Platform
from backend.users import auth as users
from gradstream.errors import NotSignedIn

_THREADS = 4
"""That look up credentials of one kind at once: what strangers send takes no thread from those who are known."""


class Credentials:
    def __init__(self) -> None:
        self._threads = {who: CapacityLimiter(_THREADS) for who in Who}

    async def check(self, request: HTTPConnection, who: Who, platform: Platform) -> Hashable:
        """Leave the caller in the request's state, where its endpoint finds it; return what counts as one caller.

        Raises: NotSignedIn, ForeignPage, NodeRemoved."""
        if who is Who.ANYONE:
            return request.client.host if request.client else None
        token = _bearer(request)
        if who is Who.PROCESS:
            process = processes.process_of(platform, token)
            request.state.caller = process
            return process
        threads = self._threads[who]
        if who is Who.USER:
            cookie = request.cookies.get(users.COOKIE)
            user = await anyio.to_thread.run_sync(users.signed_in, platform, token, cookie, request.headers, limiter=threads)
            request.state.caller = user
            return user.user_id
        if token is None:
            raise NotSignedIn("This needs a token: send 'Authorization: Bearer <token>'.")
        if who is Who.NODE:
            node = await anyio.to_thread.run_sync(nodes.node_of, platform, token, limiter=threads)
            request.state.caller = node
            return node.node_id
        await anyio.to_thread.run_sync(nodes.check_may_register, platform, token, limiter=threads)
        request.state.caller = nodes.REGISTERS
        return nodes.REGISTERS


def _bearer(request: HTTPConnection) -> str | None:
    scheme, token = get_authorization_scheme_param(request.headers.get("authorization"))
    return token if scheme.lower() == "bearer" and token else None
