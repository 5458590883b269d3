"""Accounts: API tokens, browser sessions, and the one-time codes that begin one."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy.orm import Session

from backend import secrets
from backend.db import now
from backend.settings import Settings
from backend.users import repository
from backend.users.models import ApiTokenRow, SessionRow, SignInCodeRow, UserRow
from backend.users.schemas import (
    CreatedToken,
    CreateToken,
    Me,
    SignIn,
    SignInCode,
    Token,
    TokenKind,
    Tokens,
    TokenScope,
    User,
)
from backend.users.scopes import check_scope
from gradstream.errors import NotFound, NotSignedIn

JOIN_LIFETIME = 86400.0
"""Seconds that a join token is good for if nothing else is said."""
_PREFIXES = {TokenKind.API: "gst", TokenKind.JOIN: "gsj"}


@dataclass(frozen=True, slots=True)
class Caller:
    """A signed-in user, as of this request."""

    user_id: UUID
    name: str
    scope: TokenScope
    expires_at: datetime | None = None
    """End of the browser session; None for an API token."""

    @property
    def actor(self) -> str:
        """As events name who did something."""
        return f"user:{self.name}"


def caller_of_token(session: Session, token: str) -> Caller:
    row, user = _find_token(session, token, TokenKind.API)
    return Caller(user.id, user.name, _scope_of(row))


def check_join_token(session: Session, token: str) -> None:
    """Raises: NotSignedIn, unless machines may join with this token."""
    _find_token(session, token, TokenKind.JOIN)


_WRONG_KIND = {
    TokenKind.API: "This token lets machines join, and nothing else. `gradstream token create` makes an API token.",
    TokenKind.JOIN: "This is an API token, which is not for machines. `gradstream token create --join` makes a join token.",
}


def _find_token(session: Session, token: str, kind: TokenKind) -> tuple[ApiTokenRow, UserRow]:
    """A token of this kind that is good now, and its user. Raises: NotSignedIn."""
    hash = secrets.digest(token)
    found = repository.find_token(session, hash)
    if found is None:
        what = "API" if kind == TokenKind.API else "join"
        raise NotSignedIn(f"This {what} token is not known here. It may have expired or been revoked.")
    row, _ = found
    if row.kind != kind:
        raise NotSignedIn(_WRONG_KIND[kind])
    repository.note_use(session, hash)
    return found


def _scope_of(row: ApiTokenRow) -> TokenScope:
    return TokenScope.READ if row.scope is None else TokenScope(row.scope)


def caller_of_cookie(session: Session, cookie: str) -> Caller:
    found = repository.user_of_session(session, secrets.digest(cookie))
    if found is None:
        raise NotSignedIn("The session has ended; sign in again.")
    user, expires_at = found
    return Caller(user.id, user.name, TokenScope.FULL, expires_at)


def me(caller: Caller) -> Me:
    return Me(user=User(id=caller.user_id, name=caller.name), expires_at=caller.expires_at, scope=caller.scope)


def ensure_user(session: Session, name: str) -> UserRow:
    return repository.ensure_user(session, name)


def sign_in(session: Session, body: SignIn, lifetime: timedelta) -> tuple[str, Me]:
    """The new session's cookie, and who it is for. Raises: NotSignedIn, OutOfScope."""
    user = _by_code(session, body.code) if body.code else _by_token(session, body.token or "")
    repository.remove_expired(session)
    cookie, expires_at = secrets.new_token("gsc"), now(session) + lifetime
    session.add(SessionRow(hash=secrets.digest(cookie), user_id=user.id, expires_at=expires_at))
    return cookie, Me(user=User(id=user.id, name=user.name), expires_at=expires_at)


def _by_code(session: Session, code: str) -> UserRow:
    """Raises: NotSignedIn."""
    user = repository.take_code(session, secrets.digest(code))
    if user is None:
        raise NotSignedIn("This code is not known, was used before, or has expired. `gradstream open` makes a new link.")
    return user


def _by_token(session: Session, token: str) -> UserRow:
    """Raises: NotSignedIn. OutOfScope: a session may do everything, so a token that may not cannot begin one."""
    row, user = _find_token(session, token, TokenKind.API)
    check_scope(_scope_of(row), "POST", "signIn")
    return user


def sign_out(session: Session, cookie: str | None) -> None:
    if cookie:
        repository.delete_session(session, secrets.digest(cookie))


def tokens(session: Session, caller: Caller) -> Tokens:
    return Tokens(items=[Token.model_validate(row) for row in repository.tokens(session, caller.user_id)])


def create_token(session: Session, user_id: UUID, given: CreateToken) -> CreatedToken:
    kind, expires_in = given.kind, given.expires_in
    scope = given.scope or TokenScope.FULL if kind == TokenKind.API else None
    token = secrets.new_token(_PREFIXES[kind])
    if kind == TokenKind.JOIN:
        repository.remove_expired_tokens(session, kind)  # each start of a platform makes one
        expires_in = expires_in or JOIN_LIFETIME
    expires_at = None if expires_in is None else now(session) + timedelta(seconds=expires_in)
    row = ApiTokenRow(
        user_id=user_id, name=given.name, hash=secrets.digest(token), last_used_at=None,
        kind=kind, scope=scope, expires_at=expires_at,
    )  # fmt: skip
    session.add(row)
    session.flush()
    return CreatedToken(**Token.model_validate(row).model_dump(), token=token)


def delete_token(session: Session, caller: Caller, token_id: UUID) -> None:
    if not repository.delete_token(session, caller.user_id, token_id):
        raise NotFound("You have no such token.")


def create_sign_in_code(session: Session, caller: Caller, settings: Settings) -> SignInCode:
    code, expires_at = secrets.new_token("gsi"), now(session) + settings.sign_in_code_lifetime
    session.add(SignInCodeRow(hash=secrets.digest(code), user_id=caller.user_id, expires_at=expires_at))
    return SignInCode(code=code, url=f"{settings.public_url}/sign-in#{code}", expires_at=expires_at)
