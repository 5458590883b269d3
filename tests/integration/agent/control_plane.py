"""A tiny control plane: the agent's side of the REST API over real HTTP, with everything it was told kept for tests to read."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from uuid import UUID

from gradstream.process.order import ProcessOrder

JOIN_TOKEN = "a-join-token"
NODE_ID = UUID(int=1)
LIVE_PASSWORD = "of this node, on the live Redis"


class ControlPlane:
    def __init__(self) -> None:
        self.desired: list[ProcessOrder] = []
        self.reported: dict[UUID, dict[str, Any]] = {}
        """The last report of each process."""
        self.at_exit: dict[UUID, str] = {}
        """The output that was stored when a process's exit was first reported."""
        self.logs: dict[UUID, bytearray] = {}
        self.stored: dict[UUID, int] = {}
        """Bytes of output that are stored or left out."""
        self.bundles: dict[str, bytes] = {}
        self.fetched: list[str] = []
        self.registrations: list[dict[str, Any]] = []
        self.token = ""
        self.credential: str | None = None
        """What the agent registers with, once it has joined."""
        self.announced: str | None = None
        """The credential that the agent changes to."""
        self.rotating = False
        """A user has asked for another credential."""
        self.die_at_rotation: list[int] = []
        """At the calls with these numbers, answer nothing; `rotations` counts them."""
        self.rotations: list[tuple[str, str]] = []
        """The credential that a call was made with, and the one that it announced."""
        self.beats = 0
        self.beat_times: list[float] = []
        self.heartbeat_every = 0.5
        self.more: dict[str, Any] = {}
        """Members that orders have beside their own."""
        self.removed = False
        """A user has removed the node."""
        self.junk: list[bytes] = []
        """What the next heartbeats are answered instead."""
        self._port = 0
        self._server: ThreadingHTTPServer | None = None
        self.open()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def open(self) -> None:
        """Serve, on the port of the first time."""
        plane = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                plane._answer(self)

            do_POST = do_GET

            def log_message(self, format: str, *args: Any) -> None:
                """Silent."""

        ThreadingHTTPServer.daemon_threads = True
        self._server = ThreadingHTTPServer(("127.0.0.1", self._port), Handler)
        self._port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def close(self) -> None:
        """Refuse connections from now on; what was told is kept."""
        if self._server:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def add_bundle(self, data: bytes) -> str:
        hash = hashlib.sha256(data).hexdigest()
        self.bundles[hash] = data
        return hash

    def log(self, id: UUID) -> str:
        return self.logs.get(id, bytearray()).decode()

    def _answer(self, request: BaseHTTPRequestHandler) -> None:
        if self._server is None:
            request.close_connection = True  # a kept connection of the time before `close`
            return
        body = request.rfile.read(int(request.headers.get("Content-Length") or 0))
        path = request.path.removeprefix("/api/v1/agent")
        given = request.headers["Authorization"].removeprefix("Bearer ")
        by_credential = (self.credential, self.announced)
        known = {"/register": (JOIN_TOKEN, *by_credential), "/rotate": by_credential}.get(path, (self.token,))
        if given not in known:
            status, answer = 401, b'{"detail": "who are you?"}'
        elif self.removed and path != "/register":
            status, answer = 403, b'{"type": "/problems/NodeRemoved", "detail": "The node was removed."}'
        elif path.startswith("/bundles/"):
            self.fetched.append(path.removeprefix("/bundles/"))
            status, answer = 200, self.bundles[self.fetched[-1]]
        else:
            if given == self.announced:
                self.credential, self.announced, self.rotating = given, None, False
            handle = {
                "/rotate": partial(self._rotate, given),
                "/register": self._register,
                "/heartbeat": self._heartbeat,
                "/logs": self._logs,
            }[path]
            status, answer = 200, json.dumps(handle(json.loads(body))).encode()
            if path == "/heartbeat" and self.junk:
                answer = self.junk.pop()
            if path == "/rotate" and len(self.rotations) in self.die_at_rotation:
                request.close_connection = True
                return
        request.send_response(status)
        request.send_header("Content-Length", str(len(answer)))
        request.end_headers()
        request.wfile.write(answer)

    def _register(self, body: dict[str, Any]) -> dict[str, Any]:
        self.registrations.append(body)
        self.credential = body.get("credential", self.credential)
        self.token = f"node-token-{len(self.registrations)}"
        return {
            "node_id": str(NODE_ID),
            "token": self.token,
            "live_password": LIVE_PASSWORD,
            "heartbeat_every": self.heartbeat_every,
        }

    def _rotate(self, given: str, body: dict[str, Any]) -> dict[str, Any]:
        self.rotations.append((given, body["credential"]))
        if body["credential"] != given:
            self.announced = body["credential"]
        return {"live_password": LIVE_PASSWORD}

    def _heartbeat(self, body: dict[str, Any]) -> dict[str, Any]:
        self.beats += 1
        self.beat_times.append(time.monotonic())
        for report in body["processes"]:
            id = UUID(report["id"])
            self.reported[id] = report
            if report["exit"]:
                self.at_exit.setdefault(id, self.log(id))
        orders = [order.model_dump(mode="json") | self.more for order in self.desired]
        return {"desired": orders, "heartbeat_every": self.heartbeat_every, "rotate": self.rotating, "moon": "full"}

    def _logs(self, body: dict[str, Any]) -> dict[str, Any]:
        stored = self.logs.setdefault(UUID(body["process_id"]), bytearray())
        at = self.stored.get(id := UUID(body["process_id"]), 0)
        if body["offset"] - body["omitted"] <= at <= body["offset"]:
            stored += body["text"].encode()
            self.stored[id] = at = body["offset"] + body["size"]
        return {"next_offset": at}
