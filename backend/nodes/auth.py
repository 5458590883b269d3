from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from backend.nodes import service
from backend.nodes.service import NodeCaller
from backend.platform import Platform
from gradstream.errors import NotSignedIn

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


REGISTERS = "registers"
"""The caller in the state of a request that may register a machine."""


def check_may_register(platform: Platform, given: str) -> None:
    """Raises: NotSignedIn, unless it is the secret that the platform's machines share, or a join token."""
    with platform.database.transaction() as session:
        service.check_registration(session, platform, given)


def node_of(platform: Platform, token: str) -> NodeCaller:
    """Raises: NotSignedIn, NodeRemoved."""
    with platform.database.transaction() as session:
        return service.caller_of_token(session, token)


async def may_register(request: Request, credentials: SharedSecret) -> None:  # noqa: ARG001
    """Raises: NotSignedIn, unless `backend.admission` has found that the request may register a machine."""
    if getattr(request.state, "caller", None) != REGISTERS:
        raise NotSignedIn("Registering needs the secret of the platform's machines, or a join token.")


async def current_node(request: Request, credentials: Bearer) -> NodeCaller:  # noqa: ARG001
    """The node that `backend.admission` has found. Raises: NotSignedIn."""
    caller = getattr(request.state, "caller", None)
    if not isinstance(caller, NodeCaller):
        raise NotSignedIn("This needs the token of a node.")
    return caller


NodeDep = Annotated[NodeCaller, Depends(current_node)]
