"""The agent's side of the control plane's REST API."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import httpx
import psutil

import gradstream
from gradstream.errors import Conflict, Denied, NodeRemoved, NotFound, NotSignedIn, Unavailable
from gradstream.process.exits import Exit
from gradstream.process.gpus.torch_build import torch_build
from gradstream.process.machine import credential_of, keep_credential
from gradstream.process.watchdogs.start import Hang
from gradstream.programs.tasknames import node_queue
from gradstream.sandbox.sandbox import Isolation
from gradstream.tls import choose_verify
from worker_agent.consumer import NodeQueue
from worker_agent.desired import Desired, read_desired, read_interval
from worker_agent.machine.gpus import Gpu
from worker_agent.machine.usage import Usage
from worker_agent.output.logs import Chunk
from worker_agent.reconcile import State
from worker_agent.settings import AgentSettings, secret

_TIMEOUT = httpx.Timeout(5.0)
_DOWNLOAD_TIMEOUT = httpx.Timeout(10.0, read=30.0)
_KINDS = {401: NotSignedIn, 403: Denied, 404: NotFound, 409: Conflict}

_REMOVED = "/problems/NodeRemoved"
"""The type of the problem that the API answers to the agent of a node which a user has removed."""


@dataclass(frozen=True, slots=True)
class ProcessReport:
    """One process, as the agent reports it to the control plane."""

    id: UUID
    state: State
    pid: int | None
    exit: Exit | None
    log_offset: int
    usage: Usage | None
    """Resources of a running process, every few seconds."""
    hang: Hang | None = None
    """User code that blocks the start of the process."""


@dataclass(frozen=True, slots=True)
class Registration:
    heartbeat_every: float
    """Seconds."""
    mailbox: NodeQueue


class ControlPlane:
    """Every method raises Unavailable when the API cannot be reached or has trouble of its own, and NotSignedIn when it does
    not know this node (any more): register again. NodeRemoved: a user has removed this node; end."""

    def __init__(self, settings: AgentSettings) -> None:
        self._settings = settings
        base = f"{settings.api_url.rstrip('/')}/api/v1/agent"
        self._client = httpx.AsyncClient(base_url=base, timeout=_TIMEOUT, verify=choose_verify(base))
        self._token: str | None = None

    @property
    def registered(self) -> bool:
        return self._token is not None

    async def register(self, gpus: Sequence[Gpu], isolation: Isolation) -> Registration:
        """Enter this machine; processes that it ran before count as lost from now on."""
        settings = self._settings
        self._token = None
        credential = credential_of(settings.work_dir)
        about = {
            "name": settings.node_name,
            "slots": settings.slots,
            "labels": settings.labels,
            "version": gradstream.__version__,
            "cpus": os.cpu_count() or 1,
            "memory": psutil.virtual_memory().total,
            "gpus": [gpu.as_dict() for gpu in gpus],
            "isolation": isolation.as_json(),
            "torch": torch.as_dict() if (torch := torch_build()) else None,
        }
        try:
            answer = await self._call("POST", "/register", token=credential, json=about)
        except (NotSignedIn, NodeRemoved):
            join_token = self._join_token()
            if join_token is None:
                raise
            answer = await self._call("POST", "/register", token=join_token, json=about | {"credential": credential})
        told = _json(answer)
        try:
            token, every = str(told["token"]), read_interval(told["heartbeat_every"])
            mailbox = NodeQueue(node_queue(UUID(told["node_id"])), str(told["live_password"]))
        except (TypeError, KeyError, ValueError, AttributeError) as error:
            raise Unavailable(f"the API answered a registration with something else ({error!r})") from error
        keep_credential(settings.work_dir)
        self._token = token
        return Registration(every, mailbox)

    async def rotate(self, credential: str, announced: str) -> str:
        """Announce the next credential with the present one, or use it for the first time, with itself. Returns the password on
        the live Redis. Raises: Conflict: no user has asked for another credential."""
        told = _json(await self._call("POST", "/rotate", token=credential, json={"credential": announced}))
        try:
            return str(told["live_password"])
        except (TypeError, KeyError) as error:
            raise Unavailable(f"the API answered a new credential with something else ({error!r})") from error

    def _join_token(self) -> str | None:
        """None: there is none, so far."""
        try:
            return secret(self._settings.join_token_file) or None
        except OSError:
            return None

    async def heartbeat(self, reports: Sequence[ProcessReport]) -> Desired:
        body = {
            "processes": [_as_json(report) for report in reports],
            "load": os.getloadavg()[0],
            "memory_used": psutil.virtual_memory().used,
        }
        return read_desired(_json(await self._call("POST", "/heartbeat", json=body)))

    async def post_log(self, process_id: UUID, chunk: Chunk) -> int:
        """Returns where to go on. Raises: NotFound: the platform does not store this process's output any more."""
        body = {
            "process_id": str(process_id),
            "offset": chunk.offset,
            "text": chunk.text,
            "size": chunk.size,
            "omitted": chunk.omitted,
        }
        told = _json(await self._call("POST", "/logs", json=body))
        try:
            return int(told["next_offset"])
        except (TypeError, KeyError, ValueError) as error:
            raise Unavailable(f"the API answered output with something else ({error!r})") from error

    async def bundle(self, hash: str) -> bytes:
        return (await self._call("GET", f"/bundles/{hash}", timeout=_DOWNLOAD_TIMEOUT)).content

    async def close(self) -> None:
        await self._client.aclose()

    async def _call(self, method: str, path: str, *, token: str | None = None, **request: Any) -> httpx.Response:
        try:
            headers = {"Authorization": f"Bearer {token or self._token}"}
            answer = await self._client.request(method, path, headers=headers, **request)
        except httpx.TransportError as error:
            raise Unavailable(f"{method} {path}: {type(error).__name__}: {error}") from error
        if answer.status_code == 401:
            self._token = None
        if answer.status_code == 403 and _type(answer) == _REMOVED:
            raise NodeRemoved(_detail(answer))
        if answer.is_error:
            raise _KINDS.get(answer.status_code, Unavailable)(f"{method} {path}: {answer.status_code} {_detail(answer)}")
        return answer


def _json(answer: httpx.Response) -> Any:
    """Raises: Unavailable: what answers there is not the API, or not in order."""
    try:
        return answer.json()
    except ValueError as error:
        raise Unavailable(f"{answer.request.url.path}: answered with something that is no JSON: {answer.text[:100]!r}") from error


def _as_json(report: ProcessReport) -> dict[str, Any]:
    return {
        "id": str(report.id),
        "state": report.state,
        "pid": report.pid,
        "log_offset": report.log_offset,
        "exit": report.exit.model_dump(mode="json") if report.exit else None,
        "usage": report.usage.as_dict() if report.usage else None,
        "hang": report.hang.model_dump(mode="json") if report.hang else None,
    }


def _type(answer: httpx.Response) -> str:
    """Return the type of the API's problem; empty: a proxy on the way has answered."""
    try:
        return str(answer.json()["type"])
    except (ValueError, KeyError, TypeError):
        return ""


def _detail(answer: httpx.Response) -> str:
    try:
        return str(answer.json()["detail"])
    except (ValueError, KeyError, TypeError):
        return answer.text[:200]
