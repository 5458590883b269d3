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
from gradstream.process.machine import machine_of
from gradstream.process.watchdog import Hang
from worker_agent.desired import Desired, read_desired
from worker_agent.gpus import Gpu
from worker_agent.logs import Chunk
from worker_agent.reconcile import State
from worker_agent.settings import Settings, secret
from worker_agent.usage import Usage

_TIMEOUT = httpx.Timeout(5.0)
_DOWNLOAD_TIMEOUT = httpx.Timeout(10.0, read=30.0)
_KINDS = {401: NotSignedIn, 403: Denied, 404: NotFound, 409: Conflict}

_REMOVED = "/problems/NodeRemoved"
"""The type of the problem that the API answers to the agent of a node which a user has removed."""


@dataclass(frozen=True, slots=True)
class Report:
    """One process, as the control plane is told of it."""

    id: UUID
    state: State
    pid: int | None
    exit: Exit | None
    log_offset: int
    usage: Usage | None
    """Of a process that runs, every now and then."""
    hang: Hang | None = None
    """Of a process that starts: what takes long."""


class ControlPlane:
    """Every method raises Unavailable when the API cannot be reached or has trouble of its own, and NotSignedIn when it does
    not know this node (any more): register again. NodeRemoved: a user has removed this node; end."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._client = httpx.AsyncClient(base_url=f"{settings.api_url.rstrip('/')}/api/v1/agent", timeout=_TIMEOUT)
        self._token: str | None = None

    @property
    def registered(self) -> bool:
        return self._token is not None

    async def register(self, gpus: Sequence[Gpu]) -> float:
        """Enter this machine; processes of its former life count as lost from now on. Returns the heartbeat interval, seconds."""
        settings = self._settings
        self._token = None
        answer = await self._call(
            "POST", "/register", token=secret(settings.node_token_file),
            json={
                "name": settings.node_name, "machine": machine_of(settings.work_dir), "slots": settings.slots,
                "labels": settings.labels, "version": gradstream.__version__,
                "cpus": os.cpu_count() or 1, "memory": psutil.virtual_memory().total,
                "gpus": [gpu.as_dict() for gpu in gpus],
            },
        )  # fmt: skip
        told = _json(answer)
        try:
            token, every = str(told["token"]), float(told["heartbeat_every"])
        except (TypeError, KeyError, ValueError) as error:
            raise Unavailable(f"the API answered a registration with something else ({error!r})") from error
        self._token = token
        return every

    async def heartbeat(self, reports: Sequence[Report]) -> Desired:
        body = {
            "processes": [_as_json(report) for report in reports],
            "load": os.getloadavg()[0],
            "memory_used": psutil.virtual_memory().used,
        }
        return read_desired(_json(await self._call("POST", "/heartbeat", json=body)))

    async def post_log(self, process_id: UUID, chunk: Chunk) -> int:
        """Returns where to go on. Raises: NotFound: nobody wants this process's output any more."""
        body = {"process_id": str(process_id), "offset": chunk.offset, "text": chunk.text, "size": chunk.size, "cut": chunk.cut}
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


def _as_json(report: Report) -> dict[str, Any]:
    return {
        "id": str(report.id), "state": report.state, "pid": report.pid, "log_offset": report.log_offset,
        "exit": report.exit.model_dump(mode="json") if report.exit else None,
        "usage": report.usage.as_dict() if report.usage else None,
        "hang": report.hang.model_dump(mode="json") if report.hang else None,
    }  # fmt: skip


def _type(answer: httpx.Response) -> str:
    """Of a problem of the API; a proxy on the way sends none."""
    try:
        return str(answer.json()["type"])
    except (ValueError, KeyError, TypeError):
        return ""


def _detail(answer: httpx.Response) -> str:
    try:
        return str(answer.json()["detail"])
    except (ValueError, KeyError, TypeError):
        return answer.text[:200]
