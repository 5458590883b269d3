"""A job that runs, as far as the control plane can tell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx

from backend.scheduler.controller import Controller
from gradstream.process.exits import ExitReason
from tests.integration.backend.agent import Agent
from tests.integration.backend.jobs import submit


class Running:
    """A job of two workers that runs on one agent."""

    def __init__(self, api: httpx.Client, agent: Agent, controller: Controller, folder: Path, **changes: Any) -> None:
        self.api, self.agent, self.controller = api, agent, controller
        self.id: str = submit(api, folder, **changes)["id"]
        self.start()

    def start(self) -> None:
        """From queued to running."""
        self.controller.run_once()
        self.agent.run_all()
        self.controller.run_once()

    @property
    def job(self) -> dict[str, Any]:
        found: dict[str, Any] = self.api.get(f"/jobs/{self.id}").json()
        return found

    @property
    def status(self) -> tuple[str, str | None]:
        return self.job["status"], self.job["reason"]

    def items(self, what: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.api.get(f"/jobs/{self.id}/{what}").json()["items"]
        return found

    def processes(self, attempt: int) -> dict[str, str]:
        """Status by label and incarnation."""
        return {f"{p['label']}.{p['incarnation']}": p["status"] for p in self.items("processes") if p["attempt"] == attempt}

    def succeed(self, result: bytes = b'{"eval": {"accuracy": 0.98}}') -> None:
        """All that a job leaves when it is done; `result` is what its evaluator says."""
        self.agent.commit_checkpoint(0)
        self.agent.put("evaluator", "model.safetensors", b"the model")
        self.agent.put("evaluator", "result.json", result)
        self.agent.exit()
        self.controller.run_once()

    def end_all(self, reason: ExitReason = ExitReason.KILLED) -> None:
        """The agent has killed what was no longer desired, and says so."""
        alive = [p["id"] for p in self.items("processes") if p["ended_at"] is None]
        end = {"reason": reason, "message": "killed", "code": -15}
        self.agent.reports = {id: {"id": id, "state": "exited", "exit": end} for id in alive}
        self.agent.heartbeat()
        self.controller.run_once()
