"""Accounts and their tokens, and who a caller is. `sessions` has the browsers that are signed in."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy.orm import Session

from backend import secrets
from backend.db import now
from backend.users import repository
from backend.users.models import ApiTokenRow, SessionRow, UserRow
from backend.users.schemas import CreateToken, Me, Tokens, User
from gradstream.api.platform import CreatedToken, Token, TokenKind, TokenScope
from gradstream.errors import Invalid, NotFound, NotSignedIn

JOIN_LIFETIME = 3600.0
"""Seconds that a join token is good for if nothing else is said."""
_PREFIXES = {TokenKind.API: "gst", TokenKind.JOIN: "gsj"}


@dataclass(frozen=True, slots=True)
class Caller:
    """A signed-in user, as of this request."""

    user_id: UUID
    name: str
    scope: TokenScope
    token_id: UUID
    """The API token that asks, or that the browser session came from."""
    session_id: UUID | None = None
    """None for an API token."""
    expires_at: datetime | None = None
    """End of the browser session; None for an API token."""

    @property
    def actor(self) -> str:
        """As events name who did something."""
        return f"user:{self.name}"


def caller_of_token(session: Session, token: str) -> Caller:
    row, user = find_api_token(session, token)
    return Caller(user.id, user.name, scope_of(row), row.id)


def find_api_token(session: Session, token: str) -> tuple[ApiTokenRow, UserRow]:
    """Find the token, if it is good now, and its user. Raises: NotSignedIn."""
    return _find_token(session, token, TokenKind.API)


def find_api_token_of(session: Session, caller: Caller) -> ApiTokenRow:
    """The one behind this request. Raises: NotSignedIn: it has ended since the request began."""
    row = repository.find_good(session, ApiTokenRow, caller.token_id)
    if row is None:
        raise NotSignedIn(_ENDED)
    return row


def check_join_token(session: Session, token: str) -> UUID:
    """The id of a token with which one more machine may join. Raises: NotSignedIn."""
    row, _ = _find_token(session, token, TokenKind.JOIN)
    if row.used >= (row.uses or 0):
        raise NotSignedIn(_spent(row))
    return row.id


def use_join_token(session: Session, token_id: UUID) -> str:
    """One more machine has joined with it, unless this transaction is rolled back. Returns who let it in, in words.

    Raises: NotSignedIn: others were quicker, or it has ended since it was checked."""
    row = repository.take_use(session, token_id)
    if row is None:
        raise NotSignedIn("This join token is spent, or has ended. `gradstream token create --join` makes another one.")
    user = session.get_one(UserRow, row.user_id)
    return f"{row.name} ({str(row.id)[:8]}) of {user.name}"


def _spent(row: ApiTokenRow) -> str:
    many = "one machine, which has" if row.uses == 1 else f"{row.uses} machines, which have"
    return (
        f"This join token is spent: it was for {many} joined. `gradstream token create --join` makes another one, `--uses N` "
        "for several machines."
    )


def enter_join_token(session: Session, secret: str, uses: int) -> None:
    """Let machines join with a secret that an operator has made, from now on for an hour. One that was ever entered stays as it
    is: it may have been read since. Raises: Invalid: it is too short."""
    if len(secret) < SHORTEST_SECRET:
        raise Invalid(f"the join token has {len(secret)} characters, and {SHORTEST_SECRET} are the least; make it at random")
    owner = ensure_user(session, PLATFORM_USER)
    if repository.find_hash(session, secrets.digest(secret)):
        return
    session.add(
        ApiTokenRow(
            user_id=owner.id,
            name="own machines",
            hash=secrets.digest(secret),
            last_used_at=None,
            kind=TokenKind.JOIN,
            scope=None,
            expires_at=now(session) + timedelta(seconds=JOIN_LIFETIME),
            uses=uses,
        )
    )


PLATFORM_USER = "platform"
"""Owns the join tokens that no person has made. It has no API token, so no one-time code or token signs in as it."""
SHORTEST_SECRET = 32
"""Characters."""

_ENDED = "The session has ended; sign in again."
_WRONG_KIND = {
    TokenKind.API: "This is a join token, which only lets machines join. `gradstream token create` makes an API token.",
    TokenKind.JOIN: "This is an API token, which machines cannot join with. `gradstream token create --join` makes a join token.",
}


def _find_token(session: Session, token: str, kind: TokenKind) -> tuple[ApiTokenRow, UserRow]:
    """A token of this kind that is good now, and its user. Raises: NotSignedIn."""
    hash = secrets.digest(token)
    found = repository.find_token(session, hash)
    if found is None:
        what = "API" if kind == TokenKind.API else "join"
        raise NotSignedIn(f"This {what} token is unknown here. It may have expired or been revoked.")
    row, _ = found
    if row.kind != kind:
        raise NotSignedIn(_WRONG_KIND[kind])
    repository.note_use(session, row)
    return found


def scope_of(row: ApiTokenRow) -> TokenScope:
    return TokenScope.READ if row.scope is None else TokenScope(row.scope)


def caller_of_cookie(session: Session, cookie: str) -> Caller:
    found = repository.find_session(session, secrets.digest(cookie))
    if found is None:
        raise NotSignedIn(_ENDED)
    row, user = found
    repository.note_use(session, row)
    return Caller(user.id, user.name, TokenScope.FULL, row.token_id, row.id, row.expires_at)


def check_still_signed_in(session: Session, caller: Caller) -> None:
    """Raises: NotSignedIn: the token or session of a request that goes on has ended."""
    if caller.session_id is None:
        repository.note_use(session, find_api_token_of(session, caller))
        return
    row = repository.find_good(session, SessionRow, caller.session_id)
    if row is None:
        raise NotSignedIn(_ENDED)
    repository.note_use(session, row)


def me(caller: Caller) -> Me:
    return Me(user=User(id=caller.user_id, name=caller.name), expires_at=caller.expires_at, scope=caller.scope)


def ensure_user(session: Session, name: str) -> UserRow:
    return repository.ensure_user(session, name)


def tokens(session: Session, caller: Caller) -> Tokens:
    return Tokens(items=[Token.model_validate(row) for row in repository.tokens(session, caller.user_id)])


def create_token(session: Session, user_id: UUID, given: CreateToken) -> CreatedToken:
    kind, expires_in = given.kind, given.expires_in
    scope = given.scope or TokenScope.FULL if kind == TokenKind.API else None
    token = secrets.new_token(_PREFIXES[kind])
    if kind == TokenKind.JOIN:
        repository.remove_expired_tokens(session, kind, user_id)  # each start of a platform makes one
        expires_in = expires_in or JOIN_LIFETIME
    expires_at = None if expires_in is None else now(session) + timedelta(seconds=expires_in)
    row = ApiTokenRow(
        user_id=user_id,
        name=given.name,
        hash=secrets.digest(token),
        last_used_at=None,
        kind=kind,
        scope=scope,
        expires_at=expires_at,
        uses=(given.uses or 1) if kind == TokenKind.JOIN else None,
    )
    session.add(row)
    session.flush()
    return CreatedToken(**Token.model_validate(row).model_dump(), token=token)


def lock_out(session: Session, name: str) -> int:
    """Revoke all tokens of a user. Browser sessions and open streams end with them; jobs and machines go on. Only an operator can
    let the user in again. Returns how many tokens there were. Raises: NotFound."""
    user = repository.find_user(session, name)
    if user is None:
        raise NotFound(f"There is no user {name}.")
    return repository.delete_tokens(session, user.id)


def delete_token(session: Session, caller: Caller, token_id: UUID) -> None:
    if not repository.delete_token(session, caller.user_id, token_id):
        raise NotFound("You have no such token.")
