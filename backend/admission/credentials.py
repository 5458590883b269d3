"""The caller of a request, found by its headers alone."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial

from fastapi.security.utils import get_authorization_scheme_param
from starlette.requests import HTTPConnection

from backend import secrets
from backend.admission.lookups import Found, Lookups
from backend.admission.rules import Who
from backend.artifacts import auth as processes
from backend.nodes import auth as nodes
from backend.platform import Platform
from backend.users import auth as users
from backend.web.callers import keep_caller
from gradstream.errors import NotSignedIn


class CredentialCheck:
    def __init__(self) -> None:
        self._lookups = {who: Lookups() for who in Who}

    async def check(self, request: HTTPConnection, who: Who, platform: Platform) -> Hashable:
        """Leave the caller in the request's state, where its endpoint finds it; return what counts as one caller.

        Raises: NotSignedIn, ForeignPage, NodeRemoved."""
        if who is Who.ANYONE:
            return request.client.host if request.client else None
        token = _bearer(request)
        if who is Who.USER:
            cookie = users.cookie_of(request) if token is None else None
            look = partial(users.signed_in, platform, token, cookie)
            user = await self._find(who, f"cookie {cookie}" if token is None else f"token {token}", look)
            keep_caller(request, user)
            return user.user_id
        if token is None:
            raise NotSignedIn("This needs a token: send 'Authorization: Bearer <token>'.")
        if who is Who.PROCESS:
            process = processes.process_of(platform, token)
            keep_caller(request, process)
            return process
        if who is Who.NODE:
            node = await self._find(who, token, partial(nodes.node_of, platform, token))
            keep_caller(request, node)
            return node.node_id
        keep_caller(request, await self._find(who, token, partial(nodes.registrant_of, platform, token)))
        return nodes.REGISTERS

    async def _find(self, who: Who, secret: str, look: Callable[[], Found]) -> Found:
        return await self._lookups[who].find(secrets.digest(secret), look)


def carries_token(request: HTTPConnection, who: Who) -> bool:
    """Return whether a token decides about this request. No page of another site has one, so any host name of the platform may
    receive it."""
    return who is not Who.ANYONE and _bearer(request) is not None


def _bearer(request: HTTPConnection) -> str | None:
    scheme, token = get_authorization_scheme_param(request.headers.get("authorization"))
    return token if scheme.lower() == "bearer" and token else None
