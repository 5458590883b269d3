from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import delete, func, or_, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from backend.users.models import ApiTokenRow, SessionRow, SignInCodeRow, UserRow
from backend.users.schemas import TokenKind

_USE_NOTED_EVERY = timedelta(minutes=1)


def ensure_user(session: Session, name: str) -> UserRow:
    session.execute(insert(UserRow).values(name=name).on_conflict_do_nothing(index_elements=[UserRow.name]))
    return session.scalars(select(UserRow).where(UserRow.name == name)).one()


def find_token(session: Session, hash: bytes) -> tuple[ApiTokenRow, UserRow] | None:
    """One that has not expired, of any kind, and its user."""
    good = or_(ApiTokenRow.expires_at.is_(None), ApiTokenRow.expires_at > func.now())
    found = session.execute(select(ApiTokenRow, UserRow).join(UserRow).where(ApiTokenRow.hash == hash, good)).first()
    return None if found is None else (found[0], found[1])


def remove_expired_tokens(session: Session, kind: TokenKind) -> None:
    session.execute(delete(ApiTokenRow).where(ApiTokenRow.kind == kind, ApiTokenRow.expires_at <= func.now()))


def note_use(session: Session, hash: bytes) -> None:
    """To the minute, so that a busy token is not a busy row."""
    stale = func.coalesce(ApiTokenRow.last_used_at < func.now() - _USE_NOTED_EVERY, True)
    session.execute(update(ApiTokenRow).where(ApiTokenRow.hash == hash, stale).values(last_used_at=func.now()))


def user_of_session(session: Session, hash: bytes) -> tuple[UserRow, datetime] | None:
    found = session.execute(
        select(UserRow, SessionRow.expires_at).join(SessionRow).where(SessionRow.hash == hash, SessionRow.expires_at > func.now())
    ).first()
    return None if found is None else (found[0], found[1])


def take_code(session: Session, hash: bytes) -> UserRow | None:
    """The user of a code that is still good, which it ends being."""
    taken = (
        delete(SignInCodeRow)
        .where(SignInCodeRow.hash == hash, SignInCodeRow.expires_at > func.now())
        .returning(SignInCodeRow.user_id)
    )
    user_id = session.scalar(taken)
    return None if user_id is None else session.get(UserRow, user_id)


def remove_expired(session: Session) -> None:
    for table in (SignInCodeRow, SessionRow):
        session.execute(delete(table).where(table.expires_at <= func.now()))


def delete_session(session: Session, hash: bytes) -> None:
    session.execute(delete(SessionRow).where(SessionRow.hash == hash))


def tokens(session: Session, user_id: UUID) -> list[ApiTokenRow]:
    return list(session.scalars(select(ApiTokenRow).where(ApiTokenRow.user_id == user_id).order_by(ApiTokenRow.created_at.desc())))


def delete_token(session: Session, user_id: UUID, token_id: UUID) -> bool:
    gone = delete(ApiTokenRow).where(ApiTokenRow.id == token_id, ApiTokenRow.user_id == user_id).returning(ApiTokenRow.id)
    return session.scalar(gone) is not None
