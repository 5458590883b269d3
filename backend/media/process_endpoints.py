"""The endpoint at which a job's processes store logged media, each with its own token."""

from __future__ import annotations

from fastapi import APIRouter

from backend.artifacts.auth import ProcessDep
from backend.db import SessionDep
from backend.media import service
from backend.platform import PlatformDep
from gradstream.user_logging.posted import MediaOutcome, PostedMedia

router = APIRouter(prefix="/process", tags=["process"])


@router.post("/media", operation_id="putMedia")
def put_media(body: PostedMedia, process: ProcessDep, session: SessionDep, platform: PlatformDep) -> MediaOutcome:
    """Store logged media of the attempt, in place of those of the same name and step. Items beyond the job's limits are dropped,
    and counted. 409 once the process or its attempt is over."""
    return service.put(session, platform, process, body)
