"""What a platform holds that generated calls may name, and whose secrets it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import UUID

import httpx

from backend.app import openapi, routes
from backend.platform import Platform
from backend.scheduler.controller import Controller
from gradstream import bundle
from gradstream.process.order import ProcessOrder
from tests.hostile.calls import IDS, Call, Calls
from tests.hostile.wire import Answer
from tests.integration.backend.agent import Agent, make_join_token
from tests.integration.backend.jobs import WORK, spec
from tests.integration.backend.metrics import store

CANARY = "canary-7c1e"
"""In all that users keep in the platform: code, output, environment, files. Who is not signed in never reads it."""
_FOREIGN = "foreign-canary-19d4"
"""In the files of another job than that of the process that calls."""
_TELL_PROCESS_TOKENS = {"heartbeat"}
"""Operations that give a node the tokens of its processes."""


class World:
    """A user's jobs: one that runs on a node, one that waits and one that has ended. Calls may delete all of it, so it is made
    anew now and then."""

    def __init__(self, api: httpx.Client, controller: Controller, platform: Platform, folder: Path) -> None:
        self._api, self._controller, self._platform = api, controller, platform
        self._document = openapi(routes())
        self._code = folder / "code"
        self._code.mkdir()
        (self._code / "work.py").write_text(f"{WORK}# {CANARY}\n")
        self._made = 0
        self.renew()

    def renew(self) -> None:
        """Raises: AssertionError: what calls have done leaves no place for a new job."""
        self._made += 1
        anonymous = httpx.Client(base_url=self._api.base_url, trust_env=False, timeout=self._api.timeout)
        for job in self._api.get("/jobs", params={"limit": 200}).json()["items"]:
            self._api.post(f"/jobs/{job['id']}/stop")
        for node in self._api.get("/nodes").json()["items"]:
            self._api.post(f"/nodes/{node['id']}/drain")  # a node of the world before may still count as alive
        code = self._api.post(
            "/bundles", content=bundle.pack(self._code).data, headers={"Content-Type": "application/gzip"}
        ).json()["hash"]
        join_token = make_join_token(self._platform, uses=1000)
        self.agent = agent = Agent(anonymous, join_token, f"calls-{self._made}", slots=8)
        jobs = [self._job(code, name) for name in ("ours", "theirs")]
        self._controller.run_once()
        agent.run_all()
        self._controller.run_once()
        ours, theirs = ([order for order in agent.heartbeat().values() if str(order.job_id) == job] for job in jobs)
        assert len(ours) == len(theirs) > 0, "both jobs run"
        for order in (ours[0], theirs[0]):
            agent.log(order.label, f"{CANARY}\n")
        for rank in (0, 1):
            store(self._platform, UUID(jobs[0]), rank, range(60))
        jobs += [self._job(code, "waits", roles={"server": {"count": 1}, "worker": {"count": 100}}), self._job(code, "gone")]
        self._api.post(f"/jobs/{jobs[-1]}/stop")
        self._put(ours, CANARY)
        self._put(theirs, _FOREIGN)
        self._tokens = {"user": self._token("user"), "read": self._token("read", scope="read")}
        spare = [self._token("spare")["id"] for _ in range(3)]
        session = self._session(anonymous)
        orders = [*ours, *theirs]
        self._secrets = {
            "registration": join_token,
            "credential": agent.credential,
            "node": agent.token,
            **{name: t["token"] for name, t in self._tokens.items()},
            "session": session,
        }
        self._secrets |= {f"process {order.id}": str(order.store.token) for order in orders}
        self._passwords = {str(order.plane.password) for order in orders}
        self._process = f"process {ours[0].id}"
        sessions = self._api.get("/sessions").json()["items"]
        ids = {
            "job": jobs,
            "process": [str(order.id) for order in orders],
            "node": [agent_id(self._api, agent.name)],
            "token": spare,
            "session": [sessions[-1]["id"]],
            "bundle": [code],
            "artifact": ["model.safetensors", "best.safetensors", "result.json", "worker-0.safetensors", "manifest.json"],
            "file": [
                "checkpoints/0/worker-0.safetensors",
                "checkpoints/0/manifest.json",
                "checkpoints/1/manifest.json",
                "result.json",
                "model.safetensors",
                "checkpoints/9/shard-0.safetensors",
            ],
        }
        assert set(ids) == set(IDS)
        self.calls = Calls(self._document, ids, self._credentials())
        anonymous.close()

    def _job(self, code: str, name: str, **changes: Any) -> str:
        given = spec(name=name, env={"NOTE": CANARY}, **changes)
        answer = self._api.post("/jobs", json={"spec": given, "bundle": code})
        assert answer.status_code == 201, answer.text
        return str(answer.json()["id"])

    def _put(self, orders: list[ProcessOrder], content: str) -> None:
        self.agent.orders = {order.id: order for order in orders}
        self.agent.commit_checkpoint(0)
        assert self.agent.put("evaluator", "model.safetensors", content.encode()).status_code == 200

    def _token(self, name: str, **more: str) -> dict[str, str]:
        answer = self._api.post("/tokens", json={"name": name, **more})
        assert answer.status_code == 201, answer.text
        return dict(answer.json())

    def _session(self, anonymous: httpx.Client) -> str:
        answer = anonymous.post("/session", json={"token": self._token("browser")["token"]})
        assert answer.status_code == 200, answer.text
        return answer.cookies["gradstream_session"]

    def _credentials(self) -> dict[str, tuple[bytes, bytes] | None]:
        def bearer(secret: str) -> tuple[bytes, bytes]:
            return b"authorization", b"Bearer " + secret.encode()

        known = self._secrets
        return {
            "token": bearer(known["user"]),
            "session": (b"cookie", b"gradstream_session=" + known["session"].encode()),
            "read": bearer(known["read"]),
            "node": bearer(known["node"]),
            "registration": bearer(known["registration"]),
            "credential": bearer(known["credential"]),
            "process": bearer(known[self._process]),
            "stranger": None,
            "garbage": (b"authorization", b"Bearer \xff\x00" + b"x" * 200),
            "basic": (b"authorization", b"Basic YWRhOmFkYQ=="),
            "empty": (b"authorization", b"Bearer "),
        }

    def leaked(self, call: Call, answer: Answer) -> str | None:
        """The name of what this answer says to somebody who must not know it."""
        text = answer.content.decode("utf-8", "replace")
        if call.operation not in _TELL_PROCESS_TOKENS or call.caller != "node":
            found = next((name for name, secret in self._secrets.items() if secret in text), None)
            found = found or next(("a plane password" for password in self._passwords if password in text), None)
            if found:
                return found
        if CANARY in text and call.caller not in ("token", "session", "read", "node", "process"):
            return "a canary, to somebody who is not signed in"
        return "a file of another job" if _FOREIGN in text and call.caller == "process" else None


def agent_id(api: httpx.Client, name: str) -> str:
    return str(next(node["id"] for node in api.get("/nodes").json()["items"] if node["name"] == name))
