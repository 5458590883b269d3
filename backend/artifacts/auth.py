from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import Depends
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from backend.platform import PlatformDep
from backend.users.auth import required
from gradstream.errors import NotSignedIn

Bearer = Annotated[
    HTTPAuthorizationCredentials | None,
    Depends(HTTPBearer(auto_error=False, scheme_name="process", description="A job process's own token")),
]


def current_process(credentials: Bearer, platform: PlatformDep) -> UUID:
    """The process whose token the request carries. Whether its attempt still lives is decided under the job's lock."""
    process_id = platform.derived.process_of(required(credentials))
    if process_id is None:
        raise NotSignedIn("This is no token of a job process.")
    return process_id


ProcessDep = Annotated[UUID, Depends(current_process)]
