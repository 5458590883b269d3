"""The caller of a request. `backend.admission` finds it before the body is read; endpoints take it from the request."""

from __future__ import annotations

from typing import TypeVar

from starlette.requests import HTTPConnection

Kind = TypeVar("Kind")


def keep_caller(request: HTTPConnection, caller: object) -> None:
    request.state.caller = caller


def kept_caller(request: HTTPConnection, kind: type[Kind]) -> Kind | None:
    """Return the caller; None: it is of another kind, or the request has none."""
    caller = getattr(request.state, "caller", None)
    return caller if isinstance(caller, kind) else None
