"""The checks of a machine before its agent starts: the platform's answer, and whether this machine can work with it."""

from __future__ import annotations

import fcntl
import json
import os
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import gradstream
from gradstream.client.credentials import Credentials
from gradstream.client.transport import Transport
from gradstream.errors import Conflict, Denied, NotFound, NotSignedIn, Unavailable
from gradstream.local.options import Isolate
from gradstream.local.programs import clean_environment, python_program

CLOCK_WARNING, CLOCK_LIMIT = 2.0, 60.0
"""Seconds by which the clocks may differ: the times in charts and logs of this machine's processes come from its own clock."""
_WILDCARDS = ("0.0.0.0", "::")
_CONNECT_TIMEOUT = 3.0
_JOIN_TOKEN = "join-token"


@dataclass(frozen=True, slots=True)
class Invitation:
    """The platform's answer to a machine that wants to join."""

    version: str
    clock_ahead: float
    """Seconds that this machine's clock is ahead of the platform's."""
    live_url: str
    plane_url: str


def check_installed() -> None:
    """Raises: Unavailable: a part of Gradstream that a node needs is missing."""
    missing = [module for module in ("torch", "worker_agent", "celery", "redis", "msgspec") if find_spec(module) is None]
    if missing:
        names = ", ".join("PyTorch (torch)" if module == "torch" else module for module in missing)
        raise Unavailable(f"{names} cannot be imported here, and a node needs it: pip install 'gradstream[train,agent]'")


def ask(url: str, name: str, secrets: Sequence[str]) -> Invitation:
    """`secrets`: the node's credential, a join token, or both: the first one that the platform takes counts.

    Raises: Unavailable: it cannot be reached. NotSignedIn, Denied: it takes none of them. Conflict: the name is taken, or no
    machine can join."""
    *others, last = secrets
    for secret in others:
        with suppress(NotSignedIn, Denied):
            return _ask(Credentials(url, secret), name)
    return _ask(Credentials(url, last), name)


def _ask(platform: Credentials, name: str) -> Invitation:
    transport = Transport(platform, timeout=3.0, on_retry=lambda why: None, inner=None)
    began = time.time()
    try:
        told = transport.json("POST", "agent/join", json={"name": name})
    except Unavailable as error:
        raise Unavailable(
            f"{error.message}. Does the platform run there, started with `gradstream up --host ADDRESS`, and does its firewall let "
            f"port {urlsplit(platform.url).port or 'of the address'} in?"
        ) from error
    except NotFound as error:
        raise NotFound(f"{platform.url} answers, but not as a Gradstream platform that machines can join") from error
    finally:
        transport.close()
    return _read(told, platform.url, ahead=(began + time.time()) / 2)


def _read(told: Any, url: str, ahead: float) -> Invitation:
    """`ahead`: this machine's time when the platform looked at its clock."""
    try:
        host = urlsplit(url).hostname or ""
        live, plane = (_at(told[name], host) for name in ("live_url", "plane_url"))
        clock = ahead - datetime.fromisoformat(told["time"]).timestamp()
        return Invitation(str(told["version"]), clock, live, plane)
    except (KeyError, TypeError, ValueError) as error:
        raise Unavailable(f"{url} does not answer as a Gradstream platform does") from error


def _at(redis_url: str, host: str) -> str:
    """With this host instead of the address that stands for all of the platform's."""
    where = urlsplit(redis_url)
    if where.hostname not in _WILDCARDS:
        return redis_url
    return f"redis://{f'[{host}]' if ':' in host else host}:{where.port}"


def check(invitation: Invitation, platform: str) -> None:
    """Raises: Conflict: another version, or a wrong clock. Unavailable: a Redis cannot be reached."""
    mine, theirs, ahead = gradstream.__version__, invitation.version, invitation.clock_ahead
    if mine != theirs:
        raise Conflict(
            f"this is Gradstream {mine}, and {platform} runs {theirs}: a node needs the same version "
            f"(pip install 'gradstream[train,agent]=={theirs}')"
        )
    if abs(ahead) > CLOCK_LIMIT:
        raise Conflict(f"{said_clock(ahead)}. Set it, for example with `timedatectl set-ntp true`, and join again")
    check_redis("the live Redis", invitation.live_url, platform)
    check_redis("the data plane's Redis", invitation.plane_url.partition(",")[0], platform)


def said_clock(ahead: float) -> str:
    return f"this machine's clock is {abs(ahead):.0f} s {'ahead of' if ahead > 0 else 'behind'} the platform's"


def check_redis(what: str, url: str, platform: str) -> None:
    """One ping. A Redis that wants a password is there, too. Raises: Unavailable."""
    where = urlsplit(url)
    address = (where.hostname or "", where.port or 6379)
    try:
        with socket.create_connection(address, timeout=_CONNECT_TIMEOUT) as connection:
            connection.sendall(b"PING\r\n")
            answer = connection.recv(256)
    except OSError as error:
        why = f"no answer within {_CONNECT_TIMEOUT:g} s" if isinstance(error, TimeoutError) else error.strerror or str(error)
        raise Unavailable(
            f"{platform} answers, but {what} at {address[0]}:{address[1]} cannot be reached: {why}. Let that port through the "
            "platform's firewall, for this machine"
        ) from error
    if not answer.startswith((b"+PONG", b"-NOAUTH")):
        raise Unavailable(f"{what} at {address[0]}:{address[1]} refused: {answer.decode(errors='replace').strip()}")


class NodeFolder:
    """The folder of one node on this machine: its agent's work, its log, and the agent's secrets while it runs."""

    def __init__(self, path: Path) -> None:
        self.path = path.expanduser().resolve()
        self.log = self.path / "agent.log"

    @contextmanager
    def held(self) -> Iterator[None]:
        """Raises: Conflict: this node runs already."""
        (self.path / "secrets").mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            raise Conflict(
                f"another `gradstream join` runs in {self.path}. End that one, or give this one a --name of its own"
            ) from None
        try:
            yield
        finally:
            for secret in (self.path / "secrets").iterdir():
                secret.unlink()
            os.close(lock)

    def forget_join_token(self) -> None:
        """The node has a credential now: what may be left of the token is for other machines, and not for the jobs here."""
        (self.path / "secrets" / _JOIN_TOKEN).unlink(missing_ok=True)

    def keep_secret(self, name: str, value: str) -> Path:
        path = self.path / "secrets" / name
        path.unlink(missing_ok=True)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(value)
        return path


def agent_command() -> list[str]:
    return python_program("worker_agent")


def agent_environment(
    folder: NodeFolder,
    url: str,
    join_token: str | None,
    invitation: Invitation,
    *,
    name: str,
    slots: int | None,
    isolate: Isolate | None = None,
    mps: bool = False,
) -> dict[str, str]:
    """`join_token`: kept in the folder until `forget_join_token`."""
    settings: dict[str, object] = {
        "API_URL": url,
        "NODE_NAME": name,
        "LIVE_REDIS_URL": invitation.live_url,
        "PLANE_REDIS_URL": invitation.plane_url,
        "PROCESS_API_URL": url,
        "WORK_DIR": folder.path,
        "HIDDEN": folder.path,
        **(isolate or Isolate()).settings(),
        "MPS": mps,
    }
    if join_token:
        settings["JOIN_TOKEN_FILE"] = folder.keep_secret(_JOIN_TOKEN, join_token)
    return clean_environment(settings | ({"SLOTS": slots} if slots else {}))


def news(log: Path, seen: int) -> tuple[list[dict[str, Any]], int]:
    """Lines that an agent has written to its log behind the first `seen` bytes, and how many bytes are seen now."""
    try:
        with log.open("rb") as file:
            seen = seen if seen <= os.fstat(file.fileno()).st_size else 0  # a new log has begun
            file.seek(seen)
            whole, _, _ = file.read().rpartition(b"\n")
    except OSError:
        return [], seen
    found = []
    for line in whole.splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            continue  # a library's own words
        found += [entry] if isinstance(entry, dict) else []
    return found, seen + len(whole) + bool(whole)
