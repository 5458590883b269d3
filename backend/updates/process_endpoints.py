"""The endpoint at which workers store update samples, each with its own token."""

from __future__ import annotations

from fastapi import APIRouter

from backend.artifacts.auth import ProcessDep
from backend.db import SessionDep
from backend.platform import PlatformDep
from backend.updates import service
from gradstream.updates.posted import PostedUpdates, UpdatesOutcome

router = APIRouter(prefix="/process", tags=["process"])


@router.post("/updates", operation_id="putUpdates")
def put_updates(body: PostedUpdates, process: ProcessDep, session: SessionDep, platform: PlatformDep) -> UpdatesOutcome:
    """Store update samples of the attempt, in place of those of the same step. Samples beyond the job's limits are dropped, and
    counted. 409 once the process or its attempt is over."""
    return service.put(session, platform, process, body)
