from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TypeVar
from uuid import UUID

from sqlalchemy import and_, delete, func, or_, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from backend.users.models import ApiTokenRow, SessionRow, SignInCodeRow, UserRow
from gradstream.api.platform import TokenKind

_USE_NOTED_EVERY = timedelta(minutes=1)
Row = TypeVar("Row", ApiTokenRow, SessionRow)


def ensure_user(session: Session, name: str) -> UserRow:
    session.execute(insert(UserRow).values(name=name).on_conflict_do_nothing(index_elements=[UserRow.name]))
    return session.scalars(select(UserRow).where(UserRow.name == name)).one()


def find_token(session: Session, hash: bytes) -> tuple[ApiTokenRow, UserRow] | None:
    """Return the token of this hash, of any kind, and its user; None: there is none, or it has expired."""
    good = or_(ApiTokenRow.expires_at.is_(None), ApiTokenRow.expires_at > func.now())
    found = session.execute(select(ApiTokenRow, UserRow).join(UserRow).where(ApiTokenRow.hash == hash, good)).first()
    return None if found is None else (found[0], found[1])


def find_hash(session: Session, hash: bytes) -> bool:
    """Return whether there is such a token, expired or not."""
    return session.scalar(select(ApiTokenRow.id).where(ApiTokenRow.hash == hash)) is not None


def take_use(session: Session, token_id: UUID) -> ApiTokenRow | None:
    """Count one more use of a join token; None: it has none left, or has ended."""
    good = and_(ApiTokenRow.used < ApiTokenRow.uses, ApiTokenRow.expires_at > func.now())
    taken = update(ApiTokenRow).where(ApiTokenRow.id == token_id, good).values(used=ApiTokenRow.used + 1)
    return session.scalar(taken.returning(ApiTokenRow))


def remove_expired_tokens(session: Session, kind: TokenKind, user_id: UUID) -> None:
    mine = (ApiTokenRow.kind == kind, ApiTokenRow.user_id == user_id)
    session.execute(delete(ApiTokenRow).where(*mine, ApiTokenRow.expires_at <= func.now()))


def note_use(session: Session, used: ApiTokenRow | SessionRow) -> None:
    """Note a use to the minute, so that a busy token is not a busy row, and most uses cost no statement."""
    if used.last_used_at is not None and timedelta(0) <= datetime.now(UTC) - used.last_used_at < _USE_NOTED_EVERY:
        return
    kind = type(used)
    stale = func.coalesce(kind.last_used_at < func.now() - _USE_NOTED_EVERY, True)
    session.execute(update(kind).where(kind.id == used.id, stale).values(last_used_at=func.now()))


def find_session(session: Session, hash: bytes) -> tuple[SessionRow, UserRow] | None:
    """Return the session of this hash, and its user; None: there is none, or it has ended."""
    good = SessionRow.expires_at > func.now()
    found = session.execute(select(SessionRow, UserRow).join(UserRow).where(SessionRow.hash == hash, good)).first()
    return None if found is None else (found[0], found[1])


def find_good(session: Session, kind: type[Row], id: UUID) -> Row | None:
    """The token or session of this id, if it has not ended."""
    good = or_(kind.expires_at.is_(None), kind.expires_at > func.now())
    return session.scalar(select(kind).where(kind.id == id, good))


def take_code(session: Session, hash: bytes) -> tuple[ApiTokenRow, UserRow] | None:
    """The token that a good code came from, and its user. The code is not good any more."""
    taken = (
        delete(SignInCodeRow)
        .where(SignInCodeRow.hash == hash, SignInCodeRow.expires_at > func.now())
        .returning(SignInCodeRow.token_id)
    )
    token_id = session.scalar(taken)
    if token_id is None:
        return None
    found = session.execute(select(ApiTokenRow, UserRow).join(UserRow).where(ApiTokenRow.id == token_id)).one()
    return found[0], found[1]


def remove_expired(session: Session) -> None:
    for table in (SignInCodeRow, SessionRow):
        session.execute(delete(table).where(table.expires_at <= func.now()))


def delete_session(session: Session, hash: bytes) -> None:
    session.execute(delete(SessionRow).where(SessionRow.hash == hash))


def sessions(session: Session, user_id: UUID) -> list[tuple[SessionRow, str]]:
    """Return the user's sessions that have not ended, the last used first, each with the name of its token."""
    found = session.execute(
        select(SessionRow, ApiTokenRow.name)
        .join(ApiTokenRow, SessionRow.token_id == ApiTokenRow.id)
        .where(SessionRow.user_id == user_id, SessionRow.expires_at > func.now())
        .order_by(SessionRow.last_used_at.desc(), SessionRow.created_at.desc())
    )
    return [(row, token_name) for row, token_name in found]


def keep_latest_sessions(session: Session, user_id: UUID, count: int) -> None:
    """End the user's sessions that were used longest ago, so that `count` are left."""
    mine = select(SessionRow.id).where(SessionRow.user_id == user_id)
    surplus = mine.order_by(SessionRow.last_used_at.desc(), SessionRow.created_at.desc()).offset(count)
    session.execute(delete(SessionRow).where(SessionRow.id.in_(surplus)))


def end_session(session: Session, user_id: UUID, session_id: UUID) -> bool:
    gone = delete(SessionRow).where(SessionRow.id == session_id, SessionRow.user_id == user_id).returning(SessionRow.id)
    return session.scalar(gone) is not None


def tokens(session: Session, user_id: UUID) -> list[ApiTokenRow]:
    return list(session.scalars(select(ApiTokenRow).where(ApiTokenRow.user_id == user_id).order_by(ApiTokenRow.created_at.desc())))


def find_user(session: Session, name: str) -> UserRow | None:
    return session.scalar(select(UserRow).where(UserRow.name == name))


def delete_tokens(session: Session, user_id: UUID) -> int:
    """Delete all tokens of a user, and with them sessions and one-time codes. Returns how many there were."""
    gone = delete(ApiTokenRow).where(ApiTokenRow.user_id == user_id).returning(ApiTokenRow.id)
    return len(session.scalars(gone).all())


def delete_token(session: Session, user_id: UUID, token_id: UUID) -> bool:
    gone = delete(ApiTokenRow).where(ApiTokenRow.id == token_id, ApiTokenRow.user_id == user_id).returning(ApiTokenRow.id)
    return session.scalar(gone) is not None
