from __future__ import annotations

from uuid import UUID

from fastapi import APIRouter, Response, status

from backend.db import SessionDep
from backend.platform import PlatformDep
from backend.users import service
from backend.users.auth import COOKIE, CallerDep, SessionCookie
from backend.users.schemas import CreatedToken, CreateToken, Me, SignIn, SignInCode, TokenKind, Tokens

open_router = APIRouter(tags=["users"])
"""The one way in: needs no sign-in."""
router = APIRouter(tags=["users"])


@open_router.post("/session", operation_id="signIn")
def sign_in(body: SignIn, response: Response, session: SessionDep, platform: PlatformDep) -> Me:
    """Start a browser session from a one-time code or an API token of the scope full. Sets an HttpOnly, SameSite=Strict cookie."""
    cookie, me = service.sign_in(session, body, platform.settings.session_lifetime)
    lifetime = int(platform.settings.session_lifetime.total_seconds())
    response.set_cookie(COOKIE, cookie, lifetime, httponly=True, samesite="strict", secure=platform.settings.secure_cookies)
    return me


@router.get("/session", operation_id="getSession")
def me(caller: CallerDep) -> Me:
    """Who is asking."""
    return service.me(caller)


@router.delete("/session", operation_id="signOut", status_code=status.HTTP_204_NO_CONTENT)
def sign_out(response: Response, session: SessionDep, cookie: SessionCookie = None) -> None:
    """End the browser session of the cookie. Other sessions and API tokens stay."""
    service.sign_out(session, cookie)
    response.delete_cookie(COOKIE, httponly=True, samesite="strict")


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
    """Revoke a token at once. Machines that have joined with it stay."""
    service.delete_token(session, caller, id)


@router.post("/sign-in-codes", operation_id="createSignInCode", status_code=status.HTTP_201_CREATED)
def create_sign_in_code(session: SessionDep, caller: CallerDep, platform: PlatformDep) -> SignInCode:
    """Make a one-time code that signs a browser in as the caller."""
    return service.create_sign_in_code(session, caller, platform.settings)
