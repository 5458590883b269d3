"""Hostile workloads of many kinds beside a victim: it has the bits of an undisturbed run, and nothing of them is left."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import torch

from gradstream.api.jobs import Job
from tests.platforms import Lab, slow_until
from tests.support import TIMEOUT, eventually
from tests.userland.attacker import ATTACKS
from tests.userland.troublemaker import TROUBLE

FEW = ["forks", "memory", "deaf", "kills_all_that_it_may"]
STEADY: dict[str, Any] = {"strategy": {"name": "sync"}, "stop": {"epochs": 25}}
"""A job of a hundred mini-batches of each worker."""
PAUSE = 2.0
"""Seconds of a mini-batch while there is trouble: it trains all the while."""
_BESIDE_ONE = 7
GONE_WITHIN = 5.0
"""Seconds after the end of a job."""


def test_there_are_enough_kinds() -> None:
    assert len(TROUBLE) >= 24
    assert len(ATTACKS) >= 20


def batches() -> list[Any]:
    """A few kinds, then all others, so many beside one victim as a test has time for."""
    others = [kind for kind in TROUBLE if kind not in FEW]
    parts = [others[at : at + _BESIDE_ONE] for at in range(0, len(others), _BESIDE_ONE)]
    return [pytest.param(FEW, id="few"), *(pytest.param(kinds, id=f"{kinds[0]}...", marks=pytest.mark.long) for kinds in parts)]


@pytest.mark.more
@pytest.mark.parametrize("kinds", batches())
def test_no_trouble_reaches_a_victim_or_outlives_its_job(kinds: list[str], lab: Lab, tmp_path: Path) -> None:
    isolation = lab.client.nodes()[0].isolation
    if not isolation or isolation.level != "namespace":
        pytest.skip("some of these would end a platform that does not isolate its jobs")
    go = tmp_path / "go"
    victim = lab.submit("victim", args=slow_until(go, PAUSE), **STEADY)
    lab.trains(victim)
    before = _there(lab)
    try:
        for kind in kinds:
            _make_trouble(lab, kind)
            left = set[str]()

            def gone() -> bool:
                nonlocal left
                left = _there(lab) - before
                return not left

            try:
                eventually(gone, "an end", GONE_WITHIN)
            except AssertionError:
                raise AssertionError(f"'{kind}' has left {sorted(left)}") from None
        assert not lab.client.job(victim.id).ended, "it was there all the while"
    finally:
        go.touch()
    ended = lab.ended(victim)
    calm = lab.ended(lab.submit(**STEADY))
    assert (ended.status, ended.attempt) == ("succeeded", 1), lab.messages(ended)
    assert {process.incarnation for process in lab.client.processes(victim.id)} == {0}
    expected, got = lab.weights(calm, tmp_path), lab.weights(ended, tmp_path)
    assert all(torch.equal(expected[name], got[name]) for name in expected)


def _make_trouble(lab: Lab, kind: str) -> None:
    """A job that does so, until its end, or until it is stopped."""
    job = lab.submit(
        "trouble",
        workload={"entrypoint": "troublemaker:Troublemaker", "args": {"kind": kind, "api": urlsplit(lab.platform.url).netloc}},
        roles={"worker": {"count": 1, "device": "cpu"}, "server": {"count": 1}},
        stop={"steps": 8},
        retries=0,
        network="platform",
    )

    def made() -> bool:
        return "TROUBLE" in _said(lab, job) or lab.client.job(job.id).ended

    eventually(made, f"the trouble '{kind}'")
    if not lab.client.job(job.id).ended:
        lab.client.stop(job.id)
    lab.ended(job, 4 * TIMEOUT)
    assert "TROUBLE" in _said(lab, job), kind


def _said(lab: Lab, job: Job) -> str:
    return "".join(chunk.text for chunk in lab.client.logs(job.id, role="worker"))


def _there(lab: Lab) -> set[str]:
    """Processes below the agent, folders of processes, mounts and shared memory."""
    agent = lab.program("worker_agent")
    folders = (lab.platform.folder.agent / "processes").iterdir()
    homes = {Path(file.path).parent for file in agent.open_files() if file.path.startswith("/dev/shm/gradstream-")}  # no other's
    memory = (path for home in homes for path in home.iterdir())
    found = {f"process {program.pid}" for program in agent.children(recursive=True)} | {str(path) for path in (*folders, *memory)}
    return found | set(Path("/proc/self/mountinfo").read_text().splitlines())
