from __future__ import annotations

from uuid import UUID

from fastapi import APIRouter, Request, Response, status

from backend.db import SessionDep
from backend.platform import PlatformDep
from backend.users import service
from backend.users import sessions as browser_sessions
from backend.users.auth import COOKIE, CallerDep, SessionCookie
from backend.users.schemas import BrowserSessions, CreateToken, Me, SignIn, Tokens
from gradstream.api.platform import CreatedToken, SignInLink, TokenKind

open_router = APIRouter(tags=["users"])
"""The one way in: needs no sign-in."""
router = APIRouter(tags=["users"])


@open_router.post("/session", operation_id="signIn")
def sign_in(body: SignIn, request: Request, response: Response, session: SessionDep, platform: PlatformDep) -> Me:
    """Start a browser session from a one-time code or an API token of the scope full. Sets an HttpOnly, SameSite=Strict cookie.

    The session ends with its token: the one given here, or the one that made the code. A user has at most 100 sessions; the one
    that was used longest ago ends for a new one."""
    signed_in = browser_sessions.sign_in(
        session,
        body,
        platform.settings.session_lifetime,
        user_agent=request.headers.get("user-agent"),
        replaces=request.cookies.get(COOKIE),
    )
    lifetime, secure = int(signed_in.lifetime.total_seconds()), platform.settings.secure_cookies
    response.set_cookie(COOKIE, signed_in.cookie, lifetime, httponly=True, samesite="strict", secure=secure)
    return signed_in.me


@router.get("/session", operation_id="getSession")
def me(caller: CallerDep) -> Me:
    """The user that sends the request."""
    return service.me(caller)


@router.delete("/session", operation_id="signOut", status_code=status.HTTP_204_NO_CONTENT)
def sign_out(response: Response, session: SessionDep, cookie: SessionCookie = None) -> None:
    """End the browser session of the cookie. Other sessions and API tokens stay."""
    browser_sessions.sign_out(session, cookie)
    response.delete_cookie(COOKIE, httponly=True, samesite="strict")


@router.get("/sessions", operation_id="listSessions")
def sessions(session: SessionDep, caller: CallerDep) -> BrowserSessions:
    """The browsers in which the caller is signed in, the last used first."""
    return browser_sessions.sessions(session, caller)


@router.delete("/sessions/{id}", operation_id="endSession", status_code=status.HTTP_204_NO_CONTENT)
def end_session(id: UUID, session: SessionDep, caller: CallerDep) -> None:
    """Sign a browser out. Its open streams of events end within 30 s, its other requests are refused at once."""
    browser_sessions.end_session(session, caller, id)


@router.get("/tokens", operation_id="listTokens")
def tokens(session: SessionDep, caller: CallerDep) -> Tokens:
    """The caller's API tokens and join tokens, newest first."""
    return service.tokens(session, caller)


@router.post("/tokens", operation_id="createToken", status_code=status.HTTP_201_CREATED)
def create_token(body: CreateToken, session: SessionDep, caller: CallerDep, platform: PlatformDep) -> CreatedToken:
    """Make an API token, or a token with which machines join. The answer is the only place where it is shown."""
    if body.kind == TokenKind.JOIN:
        platform.settings.require_open_to_machines()
    return service.create_token(session, caller.user_id, body)


@router.delete("/tokens/{id}", operation_id="deleteToken", status_code=status.HTTP_204_NO_CONTENT)
def delete_token(id: UUID, session: SessionDep, caller: CallerDep) -> None:
    """Revoke a token at once, and end the browser sessions that came from it. Machines that have joined with it stay."""
    service.delete_token(session, caller, id)


@router.post("/sign-in-codes", operation_id="createSignInCode", status_code=status.HTTP_201_CREATED)
def create_sign_in_code(session: SessionDep, caller: CallerDep, platform: PlatformDep) -> SignInLink:
    """Make a one-time code that signs a browser in as the caller. The session ends with the caller's token."""
    return browser_sessions.create_sign_in_code(session, caller, platform.settings)
