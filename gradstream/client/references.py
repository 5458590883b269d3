"""References to a job, token or session: users may write the beginning of its id."""

from __future__ import annotations

from uuid import UUID

_SHORTEST = 4
"""Characters. Fewer would fit many ids, and names as well."""


def begins_id(reference: str, uuid: UUID) -> bool:
    return len(reference) >= _SHORTEST and str(uuid).startswith(reference.lower())
