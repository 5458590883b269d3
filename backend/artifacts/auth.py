from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from backend.platform import Platform
from backend.web.callers import kept_caller
from gradstream.errors import NotSignedIn

Bearer = Annotated[
    HTTPAuthorizationCredentials | None,
    Depends(HTTPBearer(auto_error=False, scheme_name="process", description="A job process's own token")),
]


def process_of(platform: Platform, token: str) -> UUID:
    """The process whose token this is. The job's lock decides later if its attempt is still alive. Raises: NotSignedIn."""
    process_id = platform.derived.process_of(token)
    if process_id is None:
        raise NotSignedIn("This is not the token of a job process.")
    return process_id


async def current_process(request: Request, credentials: Bearer) -> UUID:  # noqa: ARG001
    """The process that `backend.admission` has found. Raises: NotSignedIn."""
    process_id = kept_caller(request, UUID)
    if process_id is None:
        raise NotSignedIn("This needs the token of a job process.")
    return process_id


ProcessDep = Annotated[UUID, Depends(current_process)]
