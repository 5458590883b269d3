"""Who sends a request. Each check is a short transaction of its own, so that a request which then takes its time
(an upload, a stream) holds no connection meanwhile."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import APIKeyCookie, HTTPAuthorizationCredentials, HTTPBearer

from backend import browsers
from backend.platform import Platform, PlatformDep
from backend.users import service
from backend.users.scopes import check_scope
from backend.users.service import Caller
from gradstream.errors import NotSignedIn

COOKIE = "gradstream_session"

Bearer = Annotated[
    HTTPAuthorizationCredentials | None,
    Depends(HTTPBearer(auto_error=False, scheme_name="token", description="An API token")),
]
SessionCookie = Annotated[
    str | None,
    Depends(APIKeyCookie(name=COOKIE, auto_error=False, scheme_name="session", description="Set by `signIn`")),
]


def required(credentials: HTTPAuthorizationCredentials | None) -> str:
    """The bearer token of a request that takes nothing else. Raises: NotSignedIn."""
    if credentials is None:
        raise NotSignedIn("This needs a token: send 'Authorization: Bearer <token>'.")
    return credentials.credentials


def current_caller(request: Request, platform: PlatformDep, token: Bearer, cookie: SessionCookie) -> Caller:
    """Who asks, and may use this operation. Every router of users depends on it. Raises: NotSignedIn, OutOfScope, ForeignPage."""
    if token is None and cookie:
        browsers.check_page(request.headers)
    caller = _signed_in(platform, token, cookie)
    check_scope(caller.scope, request.method, getattr(request.scope.get("route"), "operation_id", None))
    return caller


def _signed_in(platform: Platform, token: HTTPAuthorizationCredentials | None, cookie: str | None) -> Caller:
    """Raises: NotSignedIn."""
    with platform.database.transaction() as session:
        if token is not None:
            return service.caller_of_token(session, token.credentials)
        if cookie:
            return service.caller_of_cookie(session, cookie)
    raise NotSignedIn(
        "Sign in first: `gradstream open` makes a link for a browser; programs send 'Authorization: Bearer <API token>'."
    )


CallerDep = Annotated[Caller, Depends(current_caller)]
