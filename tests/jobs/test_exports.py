"""The example that serves while it trains: a job, a folder that follows it, and a server that answers from the folder."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.platforms import Lab, free_port
from tests.support import TIMEOUT, eventually

EXAMPLE = Path(__file__).parents[2] / "examples" / "clicks"
PEOPLE = [["34", "job-2", "12", "45"], ["60", "job-999999", "3", "20"]]


@contextmanager
def served(folder: Path) -> Iterator[httpx.Client]:
    port = free_port()
    command = [sys.executable, "-m", "uvicorn", "serve:app", "--port", str(port), "--log-level", "warning"]
    environment = os.environ | {"EXPORTS": str(folder), "LOOK_EVERY": "0.2"}
    with subprocess.Popen(command, cwd=EXAMPLE, env=environment) as process:
        try:
            with httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=TIMEOUT) as http:
                eventually(lambda: answers(http), "the server")
                yield http
        finally:
            process.terminate()


def answers(http: httpx.Client) -> bool:
    try:
        return http.get("/docs").status_code == 200
    except httpx.TransportError:
        return False


@pytest.mark.more
def test_a_server_answers_from_the_exports_of_a_job_that_trains(lab: Lab, tmp_path: Path) -> None:
    job = lab.submit(
        "offers",
        code=EXAMPLE,
        workload={"entrypoint": "offers:Offers", "args": {"examples": 20_000}},
        strategy={"name": "async", "lr": 0.05},
        batch_size=128,
        tables={"deep": {"rule": {"name": "adagrad", "rowwise": True, "lr": 0.1}, "admit": {"count": 3}}},
        stop={"epochs": 1000},
        evaluate={"every": "10 epochs"},
        export={"every": "1s"},
    )
    lab.trains(job)
    folder, seen = tmp_path / "followed", dict[int, list[float]]()

    def committed() -> list[int]:
        return [each.number for each in lab.client.exports(job) if each.state == "committed"]

    eventually(committed, "the first export")
    lab.client.download_exports(job, into=folder)
    with served(folder) as http:

        def ask() -> int:
            lab.client.download_exports(job, into=folder)
            answer = http.post("/clicks", json={"people": PEOPLE}).json()
            seen[answer["export"]] = answer["clicks"]
            return len(seen)

        eventually(lambda: ask() >= 3, "answers from three exports")
        lab.client.stop(job)
        lab.ended(job)
        last = max(committed())
        eventually(lambda: ask() and last in seen, "an answer from the last export")
    assert all(0 < click < 1 for clicks in seen.values() for click in clicks)
    assert len({tuple(clicks) for clicks in seen.values()}) == len(seen), "it learns"
    assert seen[last][0] > seen[last][1], "the first works more and has more schooling"
