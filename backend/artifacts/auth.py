from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from backend.platform import Platform
from gradstream.errors import NotSignedIn

Bearer = Annotated[
    HTTPAuthorizationCredentials | None,
    Depends(HTTPBearer(auto_error=False, scheme_name="process", description="A job process's own token")),
]


def process_of(platform: Platform, token: str | None) -> UUID:
    """The process whose token this is. The job's lock decides later if its attempt is still alive. Raises: NotSignedIn."""
    if token is None:
        raise NotSignedIn("This needs a token: send 'Authorization: Bearer <token>'.")
    process_id = platform.derived.process_of(token)
    if process_id is None:
        raise NotSignedIn("This is not the token of a job process.")
    return process_id


async def current_process(request: Request, credentials: Bearer) -> UUID:  # noqa: ARG001
    """The process that `backend.admission` has found. Raises: NotSignedIn."""
    caller = getattr(request.state, "caller", None)
    if not isinstance(caller, UUID):
        raise NotSignedIn("This needs the token of a job process.")
    return caller


ProcessDep = Annotated[UUID, Depends(current_process)]
