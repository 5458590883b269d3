"""How machines become nodes: with a join token the first time, and with a credential of their own after each start.

The agent makes its credential before it joins, so an answer that is lost costs no use of a token: the next try is known by it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from uuid import UUID

from sqlalchemy.orm import Session

import gradstream
from backend import secrets
from backend.db import after_commit
from backend.nodes import repository
from backend.nodes.identity.accounts import open_account
from backend.nodes.models import NodeRow
from backend.nodes.schemas import Joining, JoinRequest, Register, Registered, Rotate, Rotated
from backend.nodes.service import lose_processes, refuse_removed
from backend.platform import Platform
from backend.users import service as users
from gradstream.errors import Conflict, Invalid, NotSignedIn


@dataclass(frozen=True, slots=True)
class Registrant:
    """A caller that may register: a node with its credential, or a machine with a join token."""

    node_id: UUID | None = None
    credential_hash: bytes = b""
    join_token_id: UUID | None = None


def find_registrant(session: Session, given: str) -> Registrant:
    """Raises: NotSignedIn: neither the credential of a node nor a join token with a use left. NodeRemoved."""
    hash = secrets.digest(given)
    node = repository.by_credential(session, hash)
    if node is None:
        return Registrant(join_token_id=users.check_join_token(session, given))
    refuse_removed(node)
    return Registrant(node_id=node.id, credential_hash=hash)


def prepare_join(session: Session, platform: Platform, registrant: Registrant, body: JoinRequest) -> Joining:
    """Raises: Conflict: no machine can join, or not by this name."""
    settings = platform.settings
    live, plane = settings.require_open_to_machines()
    _refuse_held_name(session, body.name, registrant.node_id)
    return Joining(version=gradstream.__version__, time=datetime.now(UTC), live_url=live, plane_url=plane)


def register(session: Session, platform: Platform, registrant: Registrant, body: Register) -> Registered:
    """An agent that starts has no processes: those that it ran before are lost.

    Raises: Conflict: another node has this name. NotSignedIn: the join token was used up, or the credential ended, meanwhile."""
    token = secrets.new_token("gsn")
    node_id = registrant.node_id
    if node_id is None:
        node_id = _join(session, registrant, body, secrets.digest(token))
    else:
        _use_credential(session, registrant)
        _refuse_held_name(session, body.name, node_id)
        repository.return_(session, node_id, body, secrets.digest(token))
    lose_processes(session, node_id, f"the agent of {body.name} was started again", actor=f"node:{body.name}", told_only=True)
    credential_hash = registrant.credential_hash or secrets.digest(body.credential or "")
    password = _open_account(session, platform, node_id, credential_hash)
    every = platform.settings.heartbeat_every.total_seconds()
    return Registered(node_id=node_id, token=token, live_password=password, heartbeat_every=every)


def rotate(session: Session, platform: Platform, registrant: Registrant, body: Rotate) -> Rotated:
    """Two calls change a credential: one with the old one announces the next, one with the next ends the old one. So a node
    whose agent or API dies in between has a credential that counts.

    Raises: NotSignedIn: it is a join token, or the credential ended meanwhile. Conflict: no user has asked for another one."""
    node = _use_credential(session, registrant)
    announced = secrets.digest(body.credential)
    if announced != registrant.credential_hash:
        if node.rotating_since is None:
            raise Conflict(f"No user has asked {node.name} for another credential: `gradstream node rotate {node.name}`.")
        node.next_credential_hash = announced
        return Rotated(live_password=platform.derived.live_password(node.id, registrant.credential_hash))
    return Rotated(live_password=_open_account(session, platform, node.id, announced))


def _use_credential(session: Session, registrant: Registrant) -> NodeRow:
    """Raises: NotSignedIn."""
    node_id = registrant.node_id
    node = repository.use_credential(session, node_id, registrant.credential_hash) if node_id else None
    if node is None:
        raise NotSignedIn("This credential has ended, or it belongs to a join token. Send the node's present credential.")
    return node


def _open_account(session: Session, platform: Platform, node_id: UUID, credential_hash: bytes) -> str:
    """Return its password. The account is opened after the commit."""
    password = platform.derived.live_password(node_id, credential_hash)
    after_commit(session, ("account", node_id), partial(open_account, platform.live, node_id, password))
    return password


def _join(session: Session, registrant: Registrant, body: Register, token_hash: bytes) -> UUID:
    assert registrant.join_token_id is not None, "it has no credential"
    if body.credential is None:
        raise Invalid("A machine that joins sends its 'credential': a secret of 32 random characters or more.")
    joined_with = users.use_join_token(session, registrant.join_token_id)
    _refuse_held_name(session, body.name, None)
    node_id = repository.enter(session, body, secrets.digest(body.credential), token_hash, joined_with)
    if node_id is None:
        raise _held(body.name)
    return node_id


def _refuse_held_name(session: Session, name: str, node_id: UUID | None) -> None:
    if repository.is_held(session, name, node_id):
        raise _held(name)


def _held(name: str) -> Conflict:
    return Conflict(
        f"Another machine is the node '{name}' here. Choose another name: `gradstream join --name`, GRADSTREAM_NODE_NAME. If this "
        "machine is that node, but has lost its folder, wait until the platform counts it as lost, or remove it."
    )
