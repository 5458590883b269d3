"""Opaque cursors: where a page ended, in a form that nobody is tempted to build."""

from __future__ import annotations

import base64
import binascii
from datetime import datetime
from uuid import UUID

from gradstream.errors import Invalid, Problem


def encode(created_at: datetime, id: UUID) -> str:
    return base64.urlsafe_b64encode(f"{created_at.isoformat()}|{id.hex}".encode()).decode().rstrip("=")


def decode(cursor: str) -> tuple[datetime, UUID]:
    """Raises: Invalid for anything that `encode` did not make."""
    try:
        time, _, identity = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode().partition("|")
        return datetime.fromisoformat(time), UUID(hex=identity)
    except (binascii.Error, ValueError) as error:
        problem = Problem("/query/cursor", "is not the next_cursor of an earlier page; start without a cursor")
        raise Invalid("The cursor is not valid.", [problem]) from error
