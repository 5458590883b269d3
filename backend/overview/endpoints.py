from __future__ import annotations

from uuid import UUID

from fastapi import APIRouter

from backend.db import SessionDep
from backend.jobs.history_schemas import Process
from backend.overview import intervene, service
from backend.overview.schemas import Choices, Config, Overview
from backend.platform import PlatformDep
from backend.users.auth import CallerDep

router = APIRouter(prefix="/jobs/{id}", tags=["jobs"])


@router.get("/overview", operation_id="getOverview")
def overview(id: UUID, session: SessionDep) -> Overview:
    """How the job came to where it is, how fast it is against one worker alone, and how its processes stand."""
    return service.overview(session, id)


@router.get("/config", operation_id="getConfig")
def config(id: UUID, session: SessionDep, platform: PlatformDep) -> Config:
    """The job file: as it was sent, as short as it can be said, and with everything filled in; and the values it comes to."""
    return service.config(session, platform.files, id)


@router.get("/processes/{process_id}/choices", operation_id="getChoices")
def choices(id: UUID, process_id: UUID, session: SessionDep) -> Choices:
    """What a restart and a stop of this process would cost, before it is done."""
    return intervene.choices(session, id, process_id)


@router.post("/processes/{process_id}/restart", operation_id="restartProcess")
def restart(id: UUID, process_id: UUID, session: SessionDep, caller: CallerDep) -> Process:
    """End a process of a running job. Its next incarnation follows, or a new attempt of the whole job; `getChoices` says which.
    409 when it has ended."""
    return intervene.restart(session, caller, id, process_id)


@router.post("/processes/{process_id}/stop", operation_id="stopProcess")
def stop(id: UUID, process_id: UUID, session: SessionDep, caller: CallerDep, platform: PlatformDep) -> Process:
    """Ask a worker of a running job to leave at its next boundary; the others go on. 409 for a shard or the evaluator."""
    return intervene.stop(session, platform, caller, id, process_id)
