"""Nothing that an agent or a process says stops the platform: files, reports, output, metrics, wake-ups."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest

from backend.metrics import ingest
from backend.platform import Platform
from backend.scheduler.controller import Controller
from backend.wakeups.wakeup import CHANNEL
from gradstream.metrics import LOSS
from gradstream.process.order import plane_id
from gradstream.wire.redis import keys
from gradstream.wire.telemetry import records
from tests.hostile.messages import hurt
from tests.hostile.progress import Progress
from tests.hostile.runs import FIRST, runs
from tests.integration.backend.agent import Agent
from tests.integration.backend.metrics import point
from tests.integration.backend.running import Running
from tests.support import eventually

RUNS = runs(60, 500)
LONGEST = 2.0
"""Seconds of processor time that one message may take of the API and of these tests together."""
MANIFEST = {"checkpoint": 1, "members": [0, 1], "servers": 1, "version": 3, "samples": 40, "pushed": {"0": 2, "1": 1}}
RESULT = {
    "eval": {"loss": 0.5, "accuracy": None},
    "version": 3,
    "samples": 40,
    "target": False,
    "stopped_by": "target",
    "best": {"metric": "eval/loss", "value": 0.5, "samples": 20},
}


class Sender:
    """Sends what was hurt, and keeps what the platform must not do: fail, or take long."""

    def __init__(self, http: httpx.Client, progress: Progress) -> None:
        self._http, self.progress = http, progress
        self.faults = dict[str, str]()

    def send(self, seed: int, method: str, path: str, content: bytes, token: str) -> None:
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        if method == "PUT":
            headers["X-Sha256"] = hashlib.sha256(content).hexdigest()
        began = time.process_time()
        answer = self._http.request(method, path, content=content, headers=headers)
        took = time.process_time() - began
        self.progress.note(seed, str(answer.status_code), took)
        if answer.status_code >= 500 or took > LONGEST:
            self.faults.setdefault(
                f"{answer.status_code} {path}", f"seed {seed}, {took:.1f} s: {content[:300]!r}\n{answer.text[:300]}"
            )

    def check(self) -> None:
        print(self.progress)  # noqa: T201
        assert not self.faults, "\n\n".join(f"{what}\n{which}" for what, which in self.faults.items())


@pytest.fixture
def sender(anonymous: httpx.Client, progress_of: Callable[[str], Progress]) -> Sender:
    return Sender(anonymous, progress_of("messages"))


@pytest.mark.more
def test_no_file_of_a_process_ends_in_an_error_or_outside_its_job(running: Running, platform: Platform, sender: Sender) -> None:
    """Manifests, part lists and results."""
    agent, job = running.agent, platform.files.of_job(UUID(running.id))
    listed = {"files": [{"name": "worker-0.x", "size": 1, "sha256": "0" * 64}], "rests_on": []}
    kinds: list[tuple[str, str, Any]] = [
        ("server-0", "checkpoints/{n}/manifest.json", MANIFEST),
        ("worker-0", "checkpoints/{n}/worker-0.json", listed),
        ("evaluator", "result.json", RESULT),
    ]
    elsewhere = files_but(platform.files.root, job)
    for seed in range(FIRST, FIRST + RUNS):
        number = seed % 5 + 1
        if seed % 10 == 0:
            for label, part in (("worker-0", "worker-0"), ("worker-1", "worker-1"), ("server-0", "shard-0")):
                agent.put(label, f"checkpoints/{number}/{part}.safetensors")
        for label, path, message in kinds:
            content = hurt(seed, message | ({"checkpoint": number} if message is MANIFEST else {}))
            token = agent.order(label).store.token or ""
            sender.send(seed, "PUT", f"/process/files/{path.format(n=number)}", content, token)
        for shown in ("", "/files", "/artifacts", "/events", "/attempts"):
            answer = running.api.get(f"/jobs/{running.id}{shown}")
            assert answer.status_code == 200, (seed, shown, answer.text)
    sender.check()
    assert sender.progress.met["422"] > RUNS, "most of it is refused, in sentences"
    assert files_but(platform.files.root, job) == elsewhere
    agent.commit_checkpoint(9)
    assert running.status == ("running", None)


def files_but(root: Path, job: Path) -> set[Path]:
    return {path for path in root.rglob("*") if path.is_file() and not path.is_relative_to(job)}


class Listening:
    """The thread of an API process that hears of changes."""

    def __init__(self, platform: Platform) -> None:
        self.heard, self._stopped = set[UUID](), threading.Event()
        self.thread = threading.Thread(target=platform.wakeup.follow, args=(self._stopped, self.heard.add))
        self.thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self.thread.join()


@pytest.fixture
def listening(platform: Platform) -> Iterator[Listening]:
    listening = Listening(platform)
    yield listening
    listening.stop()


@pytest.mark.more
def test_no_junk_ends_who_listens(
    api: httpx.Client,
    anonymous: httpx.Client,
    join_token: str,
    controller: Controller,
    platform: Platform,
    listening: Listening,
    sender: Sender,
    tmp_path: Path,
) -> None:
    """Junk arrives in the channel of agents, the metric streams and the wake-ups. A job that it ends is followed by another."""
    made = 0

    def make() -> Running:
        nonlocal made
        made += 1
        return Running(api, Agent(anonymous, join_token, f"junk-{made}", slots=4), controller, tmp_path)

    running = make()
    for seed in range(FIRST, FIRST + RUNS):
        for path, message in agents_messages(running.agent, seed):
            sender.send(seed, "POST", path, hurt(seed, message), running.agent.token)
        send_metrics(platform, UUID(running.id), seed)
        platform.live.publish(CHANNEL, hurt(seed, f"me {running.id}"))
        if seed % 10 == 9:
            controller.run_once()
            if running.status[0] != "running":
                running = make()
    sender.check()
    assert min(sender.progress.met["200"], sender.progress.met["422"]) > RUNS // 10, (
        "what is taken or refused all alike tries nothing"
    )

    running, honest = make(), batch("worker-0", 1, records.pack_points([point(LOSS.name, 1.0)]))
    j = plane_id(UUID(running.id), 1)
    platform.plane.xadd(keys.metrics(j), honest)  # type: ignore[arg-type]
    controller.run_once()
    eventually(lambda: not platform.plane.xlen(keys.metrics(j)) or controller.run_once(), "the metrics of an honest process")
    job = UUID(running.id)
    eventually(lambda: platform.live.publish(CHANNEL, f"me {job}") and job in listening.heard, "a wake-up")
    assert listening.thread.is_alive()


def agents_messages(agent: Agent, seed: int) -> Iterator[tuple[str, Any]]:
    """A heartbeat that reports all processes, and a piece of output, both in order."""
    usage = {"at": time.time(), "cpu": 0.5, "memory": 1 << 20, "gpu": None, "gpu_memory": None}
    hang = {"phase": "`dataset()`", "line": "work.py:3", "call": "load", "seconds": 20.0}
    reports = [
        report | {"usage": usage, "log_offset": 0, "hang": hang if seed % 3 == 0 else None} for report in agent.reports.values()
    ]
    if seed % 7 == 0 and reports:
        reports[0] |= {"state": "exited", "exit": {"reason": "done", "message": "", "code": 0}}
    yield "/agent/heartbeat", {"processes": reports, "load": 0.5, "memory_used": 1 << 20}
    if reports:
        yield "/agent/logs", {"process_id": reports[-1]["id"], "offset": seed, "text": "text", "size": 4, "omitted": 0}


def send_metrics(platform: Platform, job: UUID, seed: int) -> None:
    """Batches that user code writes with the account of its attempt, and what is no batch; stored as the controller does."""
    points = hurt(seed, [[1000.0, 0, 1, 32, 1, "train/loss", 0.5], [1000.0, 0, 1, 32, 1, "eval/loss", 0.5, "user/x", "nan"]])
    for source, number, content in (
        ("worker-0", seed, points),
        (hurt(seed + 1, "worker-0").decode("utf-8", "replace")[:2000], seed, records.pack_points([point("x" * (seed % 300), 1.0)])),
    ):
        platform.plane.xadd(keys.metrics(plane_id(job, 1)), batch(source, number, content), maxlen=1000)  # type: ignore[arg-type]
    ingest.ingest(platform.database, platform.plane, job, 1)


def batch(source: str, number: int, points: bytes) -> dict[str, Any]:
    return {"source": source, "batch": number, "points": points}
