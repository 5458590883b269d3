from __future__ import annotations

from uuid import UUID

from fastapi import APIRouter

from backend.db import SessionDep
from backend.overview import intervene, service
from backend.overview.schemas import Overview
from backend.platform import PlatformDep
from backend.users.auth import CallerDep
from gradstream.api.history import Choices, Process
from gradstream.api.jobs import Config

router = APIRouter(prefix="/jobs/{id}", tags=["jobs"])


@router.get("/overview", operation_id="getOverview")
def overview(id: UUID, session: SessionDep) -> Overview:
    """The job's attempts and process failures, its speed against one worker alone, and the state of its processes."""
    return service.overview(session, id)


@router.get("/config", operation_id="getConfig")
def config(id: UUID, session: SessionDep, platform: PlatformDep) -> Config:
    """The job file: as it was sent, as short as it can be said, and with everything filled in; and the values it comes to."""
    return service.config(session, platform.files, id)


@router.get("/processes/{process_id}/choices", operation_id="getChoices")
def choices(id: UUID, process_id: UUID, session: SessionDep) -> Choices:
    """The cost of a restart and of a stop of this process, before it is done."""
    return intervene.choices(session, id, process_id)


@router.post("/processes/{process_id}/restart", operation_id="restartProcess")
def restart(id: UUID, process_id: UUID, session: SessionDep, caller: CallerDep) -> Process:
    """End a process of a running job. Its next incarnation follows, or a new attempt of the whole job; `getChoices` says which.
    409 when it has ended."""
    return intervene.restart(session, caller, id, process_id)


@router.post("/processes/{process_id}/stop", operation_id="stopProcess")
def stop(id: UUID, process_id: UUID, session: SessionDep, caller: CallerDep, platform: PlatformDep) -> Process:
    """Ask a worker of a running job to leave at its next round boundary; the others continue. 409 for a shard or the evaluator."""
    return intervene.stop(session, platform, caller, id, process_id)
