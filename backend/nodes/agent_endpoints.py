"""What node agents call. Their token is the node's own, but for registration, which takes a secret of its own."""

from __future__ import annotations

from fastapi import APIRouter, Depends
from fastapi.responses import FileResponse

from backend.bundles import service as bundles
from backend.bundles.endpoints import BundleHash
from backend.db import SessionDep
from backend.logs import service as logs
from backend.logs.schemas import LogPosition, PostLog
from backend.nodes import service
from backend.nodes.auth import NodeDep, may_register
from backend.nodes.schemas import Desired, Heartbeat, Join, Joining, Register, Registered
from backend.platform import PlatformDep

router = APIRouter(prefix="/agent", tags=["agent"])


@router.post("/join", operation_id="prepareJoin", dependencies=[Depends(may_register)])
def join(body: Join, session: SessionDep, platform: PlatformDep) -> Joining:
    """What a machine needs to know before its agent registers: where both Redis are, and whether its name is free."""
    return service.joining(session, platform, body)


@router.post("/register", operation_id="registerNode", dependencies=[Depends(may_register)])
def register(body: Register, session: SessionDep, platform: PlatformDep) -> Registered:
    """Enter a machine, or enter it again after a restart: processes of its former life are then lost."""
    return service.register(session, platform, body)


@router.post("/heartbeat", operation_id="heartbeat")
def heartbeat(body: Heartbeat, node: NodeDep, session: SessionDep, platform: PlatformDep) -> Desired:
    """Report all processes and get the set that should run."""
    return service.heartbeat(session, platform, node, body)


@router.post("/logs", operation_id="postLogs")
def post_logs(body: PostLog, node: NodeDep, session: SessionDep) -> LogPosition:
    """Store output of a process. What is already stored is skipped; after a gap the answer says where to go on."""
    return logs.append(session, node.node_id, body)


@router.get("/bundles/{hash}", operation_id="fetchBundle", response_class=FileResponse)
def fetch_bundle(hash: BundleHash, node: NodeDep, session: SessionDep, platform: PlatformDep) -> FileResponse:  # noqa: ARG001
    """The archive of user code for a process that is desired here."""
    return FileResponse(bundles.archive(session, platform.files, hash), media_type="application/gzip")
