"""The user that sends a request. `backend.admission` asks before it reads a body, in a short transaction of its own: a request
which then takes its time (an upload, a stream) holds no connection meanwhile."""

from __future__ import annotations

from typing import Annotated

import structlog
from fastapi import Depends, Request
from fastapi.security import APIKeyCookie, HTTPAuthorizationCredentials, HTTPBearer
from starlette.requests import HTTPConnection

from backend.platform import Platform
from backend.users import service
from backend.users.scopes import check_scope, is_read
from backend.users.service import Caller
from backend.web import browsers
from backend.web.callers import kept_caller
from gradstream.errors import NotSignedIn

log = structlog.get_logger(__name__)

COOKIE = "gradstream_session"

Bearer = Annotated[
    HTTPAuthorizationCredentials | None,
    Depends(HTTPBearer(auto_error=False, scheme_name="token", description="An API token")),
]
SessionCookie = Annotated[
    str | None,
    Depends(APIKeyCookie(name=COOKIE, auto_error=False, scheme_name="session", description="Set by `signIn`")),
]


def cookie_of(request: HTTPConnection) -> str | None:
    """The session's cookie. Raises: ForeignPage: a page that is not ours has sent it."""
    cookie = request.cookies.get(COOKIE)
    if cookie:
        browsers.check_page(request.headers)
    return cookie


def signed_in(platform: Platform, token: str | None, cookie: str | None) -> Caller:
    """Raises: NotSignedIn."""
    if token is None and not cookie:
        raise _not_signed_in()
    with platform.database.transaction() as session:
        if token is not None:
            return service.caller_of_token(session, token)
        return service.caller_of_cookie(session, cookie or "")


async def current_caller(request: Request, token: Bearer, cookie: SessionCookie) -> Caller:  # noqa: ARG001
    """Return the caller that `backend.admission` has found, if it may use this operation. Every router of users depends on it.
    The log keeps who asked for which change, as what was deleted has no events.

    Raises: NotSignedIn, OutOfScope."""
    caller = kept_caller(request, Caller)
    if caller is None:
        raise _not_signed_in()
    operation = getattr(request.scope.get("route"), "operation_id", None)
    check_scope(caller.scope, request.method, operation)
    if not is_read(request.method, operation):
        about = {"operation": operation, "path": request.url.path[:_MAX_PATH], "token": str(caller.token_id)}
        log.info("a user asks for a change", actor=caller.actor, **about)
    return caller


_MAX_PATH = 200
"""Characters of a path in the log."""


def _not_signed_in() -> NotSignedIn:
    return NotSignedIn(
        "Sign in first: `gradstream open` makes a link for a browser; programs send 'Authorization: Bearer <API token>'."
    )


CallerDep = Annotated[Caller, Depends(current_caller)]
