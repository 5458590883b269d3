from __future__ import annotations

from typing import Annotated

from fastapi import Depends
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from backend.nodes import service
from backend.nodes.service import NodeCaller
from backend.platform import PlatformDep
from backend.users.auth import required

Bearer = Annotated[
    HTTPAuthorizationCredentials | None,
    Depends(HTTPBearer(auto_error=False, scheme_name="node", description="A node's token, as `registerNode` answered it")),
]
SharedSecret = Annotated[
    HTTPAuthorizationCredentials | None,
    Depends(
        HTTPBearer(
            auto_error=False, scheme_name="registration", description="The secret of the platform's own machines, or a join token"
        )
    ),
]


def may_register(credentials: SharedSecret, platform: PlatformDep) -> None:
    """Raises: NotSignedIn, unless the request carries the secret that the platform's machines share, or a join token."""
    given = required(credentials)
    with platform.database.transaction() as session:
        service.check_registration(session, platform, given)


def current_node(credentials: Bearer, platform: PlatformDep) -> NodeCaller:
    token = required(credentials)
    with platform.database.transaction() as session:
        return service.caller_of_token(session, token)


NodeDep = Annotated[NodeCaller, Depends(current_node)]
