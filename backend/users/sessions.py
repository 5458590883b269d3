"""Browser sessions and the one-time codes that begin them. Each comes from an API token and ends with it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy.orm import Session

from backend import secrets
from backend.db import now
from backend.settings import BackendSettings
from backend.users import repository, service
from backend.users.models import ApiTokenRow, SessionRow, SignInCodeRow, UserRow
from backend.users.schemas import BrowserSessions, Me, SignIn, User
from backend.users.scopes import check_scope
from backend.users.service import Caller
from backend.users.user_agent import name_browser
from gradstream.api.platform import BrowserSession, SignInLink
from gradstream.errors import NotFound, NotSignedIn

MAX_SESSIONS = 100
"""Sessions of one user. A sign-in beyond them ends the one that was used longest ago."""


@dataclass(frozen=True, slots=True)
class SignedIn:
    me: Me
    cookie: str
    lifetime: timedelta


def sign_in(session: Session, body: SignIn, lifetime: timedelta, *, user_agent: str | None, replaces: str | None) -> SignedIn:
    """Begin a session, and end the one whose cookie the browser has now. Raises: NotSignedIn, OutOfScope."""
    token, user = _by_code(session, body.code) if body.code else _by_token(session, body.token or "")
    repository.remove_expired(session)
    sign_out(session, replaces)
    began = now(session)
    expires_at = _end(token, began + lifetime)
    cookie = secrets.new_token("gsc")
    session.add(
        SessionRow(
            hash=secrets.digest(cookie), user_id=user.id, token_id=token.id, browser=name_browser(user_agent), expires_at=expires_at
        )
    )
    session.flush()
    repository.keep_latest_sessions(session, user.id, MAX_SESSIONS)
    return SignedIn(Me(user=User(id=user.id, name=user.name), expires_at=expires_at), cookie, expires_at - began)


def _by_code(session: Session, code: str) -> tuple[ApiTokenRow, UserRow]:
    """Raises: NotSignedIn."""
    found = repository.take_code(session, secrets.digest(code))
    if found is None:
        raise NotSignedIn("This code is unknown, used or expired. `gradstream open` makes a new link.")
    return found


def _by_token(session: Session, token: str) -> tuple[ApiTokenRow, UserRow]:
    """Raises: NotSignedIn. OutOfScope: a session may do everything, so a token that may not cannot begin one."""
    row, user = service.find_api_token(session, token)
    check_scope(service.scope_of(row), "POST", "signIn")
    return row, user


def _end(token: ApiTokenRow, at: datetime) -> datetime:
    return at if token.expires_at is None else min(at, token.expires_at)


def sign_out(session: Session, cookie: str | None) -> None:
    if cookie:
        repository.delete_session(session, secrets.digest(cookie))


def sessions(session: Session, caller: Caller) -> BrowserSessions:
    return BrowserSessions(
        items=[
            BrowserSession(
                id=row.id,
                browser=row.browser,
                token_id=row.token_id,
                token_name=token_name,
                created_at=row.created_at,
                last_used_at=row.last_used_at,
                expires_at=row.expires_at,
                current=row.id == caller.session_id,
            )
            for row, token_name in repository.sessions(session, caller.user_id)
        ]
    )


def end_session(session: Session, caller: Caller, session_id: UUID) -> None:
    if not repository.end_session(session, caller.user_id, session_id):
        raise NotFound("You have no such session; it may have ended.")


def create_sign_in_code(session: Session, caller: Caller, settings: BackendSettings) -> SignInLink:
    """Raises: NotSignedIn: the caller's token has ended meanwhile."""
    token = service.find_api_token_of(session, caller)
    repository.remove_expired(session)
    code, expires_at = secrets.new_token("gsi"), _end(token, now(session) + settings.sign_in_code_lifetime)
    session.add(SignInCodeRow(hash=secrets.digest(code), user_id=caller.user_id, token_id=token.id, expires_at=expires_at))
    return SignInLink(code=code, url=f"{settings.public_url}/sign-in#{code}", expires_at=expires_at)
