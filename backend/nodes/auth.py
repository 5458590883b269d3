from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from backend.nodes import service
from backend.nodes.identity import joining
from backend.nodes.identity.joining import Registrant
from backend.nodes.service import NodeCaller
from backend.platform import Platform
from backend.web.callers import kept_caller
from gradstream.errors import NotSignedIn

Bearer = Annotated[
    HTTPAuthorizationCredentials | None,
    Depends(HTTPBearer(auto_error=False, scheme_name="node", description="A node's token, as `registerNode` answered it")),
]
JoinOrCredential = Annotated[
    HTTPAuthorizationCredentials | None,
    Depends(HTTPBearer(auto_error=False, scheme_name="registration", description="A join token, or the credential of a node")),
]


REGISTERS = "registers"
"""Name under which the rate limits count all registrations together."""


def registrant_of(platform: Platform, given: str) -> Registrant:
    """Raises: NotSignedIn, NodeRemoved."""
    with platform.database.transaction() as session:
        return joining.find_registrant(session, given)


def node_of(platform: Platform, token: str) -> NodeCaller:
    """Raises: NotSignedIn, NodeRemoved."""
    with platform.database.transaction() as session:
        return service.caller_of_token(session, token)


async def current_registrant(request: Request, credentials: JoinOrCredential) -> Registrant:  # noqa: ARG001
    """Return the machine or node that registers, as `backend.admission` has found it. Raises: NotSignedIn."""
    registrant = kept_caller(request, Registrant)
    if registrant is None:
        raise NotSignedIn("Registering needs a join token, or the credential of a node.")
    return registrant


async def current_node(request: Request, credentials: Bearer) -> NodeCaller:  # noqa: ARG001
    """The node that `backend.admission` has found. Raises: NotSignedIn."""
    node = kept_caller(request, NodeCaller)
    if node is None:
        raise NotSignedIn("This needs the token of a node.")
    return node


RegistrantDep = Annotated[Registrant, Depends(current_registrant)]
NodeDep = Annotated[NodeCaller, Depends(current_node)]
