"""The endpoints of node agents. An agent sends its node's token; to register, a join token or the node's credential."""

from __future__ import annotations

from fastapi import APIRouter, Depends
from fastapi.responses import FileResponse

from backend.bundles import service as bundles
from backend.bundles.endpoints import BundleHash
from backend.db import SessionDep
from backend.logs import service as logs
from backend.logs.schemas import LogPosition, PostLog
from backend.nodes import service
from backend.nodes.auth import NodeDep, RegistrantDep
from backend.nodes.identity import joining
from backend.nodes.presence import heard
from backend.nodes.schemas import DesiredProcesses, Heartbeat, Joining, JoinRequest, Register, Registered, Rotate, Rotated
from backend.platform import PlatformDep
from backend.web.stored_file import StoredFileResponse

router = APIRouter(prefix="/agent", tags=["agent"])


@router.post("/join", operation_id="prepareJoin")
def join(body: JoinRequest, registrant: RegistrantDep, session: SessionDep, platform: PlatformDep) -> Joining:
    """Tell a machine what its agent needs before it registers: where both Redis are, and whether its name is free."""
    return joining.prepare_join(session, platform, registrant, body)


@router.post("/register", operation_id="registerNode")
def register(body: Register, registrant: RegistrantDep, session: SessionDep, platform: PlatformDep) -> Registered:
    """Make a machine a node, with a join token, or enter a node after its agent's restart, with its credential: the
    processes that it ran before are then lost. 409: another node that is not lost has the name."""
    return joining.register(session, platform, registrant, body)


@router.post("/rotate", operation_id="rotateCredential")
def rotate(body: Rotate, registrant: RegistrantDep, session: SessionDep, platform: PlatformDep) -> Rotated:
    """Announce a node's next credential, with its old one, then use it: the same call with the next one ends the old one.
    409: no user has asked this node for another credential."""
    return joining.rotate(session, platform, registrant, body)


@router.post("/heartbeat", operation_id="heartbeat", dependencies=[Depends(heard)])
def heartbeat(body: Heartbeat, node: NodeDep, session: SessionDep, platform: PlatformDep) -> DesiredProcesses:
    """Report all processes and get the set that should run."""
    return service.heartbeat(session, platform, node, body)


@router.post("/logs", operation_id="postLogs")
def post_logs(body: PostLog, node: NodeDep, session: SessionDep) -> LogPosition:
    """Store output of a process. The platform skips text that it has already; after a gap the answer says where to go on."""
    return logs.append(session, node.node_id, body)


@router.get("/bundles/{hash}", operation_id="fetchBundle", response_class=FileResponse)
def fetch_bundle(hash: BundleHash, node: NodeDep, session: SessionDep, platform: PlatformDep) -> FileResponse:
    """The archive of user code for a process that is desired here. 404: none has this code."""
    service.check_bundle(session, node.node_id, hash)
    return StoredFileResponse(bundles.archive(session, platform.files, hash), media_type="application/gzip")
