"""Opaque cursors: the end of a page, in a form that no client builds by hand."""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from gradstream.errors import Invalid, Mistake

Value = str | int | float | None


@dataclass(frozen=True, slots=True)
class Cursor:
    """The last row of a page: by what its list is sorted, the row's value there, and what makes the order total."""

    order: str
    value: Value
    created_at: datetime
    id: UUID


def encode(cursor: Cursor) -> str:
    text = json.dumps([cursor.order, cursor.value, cursor.created_at.isoformat(), cursor.id.hex])
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def decode(cursor: str, order: str) -> Cursor:
    """Raises: Invalid for anything that `encode` did not make, and for a cursor of a list in another order."""
    try:
        made_for, value, time, identity = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        found = Cursor(made_for, value, datetime.fromisoformat(time), UUID(hex=identity))
        if made_for != order or not isinstance(value, Value) or found.created_at.tzinfo is None:
            raise ValueError(order)
        return found
    except (binascii.Error, ValueError, TypeError, AttributeError) as error:
        problem = Mistake("/query/cursor", "is not the next_cursor of an earlier page in this order; start without a cursor")
        raise Invalid("The cursor is not valid.", [problem]) from error
