"""An agent, and the processes it would run, as the control plane sees them: over HTTP and Redis, without any process."""

from __future__ import annotations

import hashlib
import json
from typing import Any
from uuid import UUID

import httpx

from backend.platform import Platform
from backend.users import service as users
from backend.users.schemas import CreateToken
from gradstream.api.platform import TokenKind
from gradstream.process.exits import ExitReason
from gradstream.process.order import ProcessOrder


class Agent:
    def __init__(
        self,
        http: httpx.Client,
        join_token: str,
        name: str,
        *,
        slots: int,
        gpus: int = 0,
        cpus: int = 2,
        torch: dict[str, Any] | None = None,
    ) -> None:

        self.http, self.join_token, self.name, self.slots, self.gpus = http, join_token, name, slots, gpus
        self.credential = f"credential of {name}".ljust(32, ".")
        self.cpus, self.torch = cpus, torch
        self.orders: dict[UUID, ProcessOrder] = {}
        """What was desired at the last heartbeat."""
        self.reports: dict[UUID, dict[str, Any]] = {}
        self.register()

    def register(self) -> None:
        gpus = [{"index": index, "name": "a GPU", "memory": 1 << 30} for index in range(self.gpus)]
        body = {"name": self.name, "slots": self.slots, "cpus": self.cpus, "memory": 1 << 30, "gpus": gpus, "version": "0.1.0"}
        body |= {"torch": self.torch}
        answer = self.http.post("/agent/register", json=body, headers=_bearer(self.credential))
        if answer.status_code in (401, 403):
            joining = body | {"credential": self.credential}
            answer = self.http.post("/agent/register", json=joining, headers=_bearer(self.join_token))
        assert answer.status_code == 200, answer.text
        told = answer.json()
        self.node_id, self.token, self.live_password = UUID(told["node_id"]), str(told["token"]), str(told["live_password"])

    def rotate(self, announced: str, credential: str | None = None) -> httpx.Response:
        """Announce a credential with the present one, or with another."""
        headers = _bearer(credential or self.credential)
        return self.http.post("/agent/rotate", json={"credential": announced}, headers=headers)

    def heartbeat(self) -> dict[UUID, ProcessOrder]:
        body = {"processes": list(self.reports.values())}
        answer = self.http.post("/agent/heartbeat", json=body, headers=_bearer(self.token))
        assert answer.status_code == 200, answer.text
        orders = [ProcessOrder.model_validate(order) for order in answer.json()["desired"]]
        self.orders = {order.id: order for order in orders}
        self.reports = {id: report for id, report in self.reports.items() if id in self.orders}
        return self.orders

    def run_all(self) -> None:
        """Report that everything desired runs."""
        for id in self.heartbeat():
            self.reports[id] = {"id": str(id), "state": "running", "pid": 1000 + len(self.reports)}
        self.heartbeat()

    def exit(self, *labels: str, reason: ExitReason = ExitReason.DONE, code: int = 0, message: str = "") -> None:
        """Report that processes ended; without labels, all of them."""
        for order in self.orders.values():
            if not labels or order.label in labels:
                end = {"reason": reason, "message": message, "code": code}
                self.reports[order.id] = {"id": str(order.id), "state": "exited", "exit": end}
        self.heartbeat()

    def order(self, label: str) -> ProcessOrder:
        return next(order for order in self.orders.values() if order.label == label)

    def put(self, label: str, path: str, content: bytes = b"state") -> httpx.Response:
        """Store a file as this process does."""
        return put_file(self.http, self.order(label), path, content)

    def commit_checkpoint(self, number: int) -> None:
        """Put all files that a checkpoint of the running job needs."""
        workers = sorted({order.rank for order in self.orders.values() if order.role == "worker"})
        servers = sorted({order.rank for order in self.orders.values() if order.role == "server"})
        manifest = {"checkpoint": number, "members": workers, "servers": len(servers), "version": number, "samples": 10 * number}
        for rank in workers:
            assert self.put(f"worker-{rank}", f"checkpoints/{number}/worker-{rank}.safetensors").status_code == 200
        for k in servers:
            assert self.put(f"server-{k}", f"checkpoints/{number}/shard-{k}.safetensors").status_code == 200
        answer = self.put("server-0", f"checkpoints/{number}/manifest.json", json.dumps(manifest).encode())
        assert answer.json()["committed_checkpoint"] == number

    def put_list(self, label: str, path: str, files: dict[str, bytes], rests_on: list[dict[str, Any]]) -> httpx.Response:
        """Store the list of a part: `files` by name, and files of earlier checkpoints."""
        listed = [{"name": name, **about(content)} for name, content in files.items()]
        return self.put(label, path, json.dumps({"files": listed, "rests_on": rests_on}).encode())

    def resume(self, label: str, part: str) -> list[tuple[str, bytes]]:
        """Paths, with the attempt, and contents of the files that a process resumes a part from."""
        headers = _bearer(self.order(label).store.token or "")
        answer = self.http.get("/process/resume", params={"part": part}, headers=headers)
        assert answer.status_code == 200, answer.text
        found = []
        for file in answer.json()["files"]:
            path = f"{file['attempt']}/{file['path']}"
            content = self.http.get(f"/process/resume/{path}", headers=headers).content
            assert hashlib.sha256(content).hexdigest() == file["sha256"]
            found.append((path, content))
        return found

    def log(self, label: str, text: str, offset: int = 0) -> int:
        body = {"process_id": str(self.order(label).id), "offset": offset, "text": text}
        answer = self.http.post("/agent/logs", json=body, headers=_bearer(self.token))
        assert answer.status_code == 200, answer.text
        return int(answer.json()["next_offset"])


def make_join_token(platform: Platform, uses: int = 100) -> str:
    with platform.database.transaction() as session:
        given = CreateToken(name="machines", kind=TokenKind.JOIN, uses=uses)
        return users.create_token(session, users.ensure_user(session, "ada").id, given).token


def about(content: bytes) -> dict[str, Any]:
    return {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}


def put_file(http: httpx.Client, order: ProcessOrder, path: str, content: bytes) -> httpx.Response:
    headers = {**_bearer(order.store.token or ""), "X-Sha256": hashlib.sha256(content).hexdigest()}
    return http.put(f"/process/files/{path}", content=content, headers=headers)


def _bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}
