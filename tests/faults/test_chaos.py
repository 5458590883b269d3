"""Processes killed at random, several times in a job: it ends, every sample counts once, and under bsp the bits are right."""

import os
import random
import signal
import time
from pathlib import Path

import pytest
import torch

from tests.platforms import Lab, slow_until

VICTIMS = ("worker-0", "worker-1", "server-0", "server-1", "evaluator")
KILLS = int(os.environ.get("GRADSTREAM_CHAOS_KILLS", "5"))
"""An hour's worth: 600."""


@pytest.mark.more
@pytest.mark.timeout(300)
def test_random_kills(lab: Lab, tmp_path: Path) -> None:
    seed = int(os.environ.get("GRADSTREAM_CHAOS_SEED", "7"))
    chance, epochs = random.Random(seed), 60 + 25 * KILLS
    bsp = {"strategy": {"name": "sync", "lr": 0.05}, "optimizer": {"name": "adam", "lr": 0.01}, "stop": {"epochs": epochs}}
    calm = lab.submit("chaos-calm", **bsp)
    stormy = {"args": slow_until(tmp_path / "go"), "checkpoint": {"every": 0.5}, "retries": 100}
    jobs = [
        lab.submit("chaos-bsp", **bsp, **stormy),
        lab.submit("chaos-asp", strategy={"name": "async", "lr": 0.01}, stop={"epochs": epochs}, **stormy),
    ]
    killed: list[str] = []
    for job in jobs:
        lab.trains(job, 200)
    while len(killed) < KILLS and not all(lab.client.job(job.id).ended for job in jobs):
        time.sleep(chance.uniform(0.5, 2.5))  # the moment of a death is what varies here
        victim = chance.choice(VICTIMS)
        if found := lab.pids(victim):
            os.kill(chance.choice(sorted(found)), signal.SIGKILL)
            killed.append(victim)
    (tmp_path / "go").touch()
    assert len(killed) >= 3, f"the jobs were over after {killed}"
    ended = [lab.ended(job) for job in jobs]
    for job in ended:
        assert job.status == "succeeded", f"seed {seed}, killed {killed}: {job.message}"
        assert job.progress.samples == job.progress.total_samples, f"seed {seed}, killed {killed}"
    expected, got = lab.weights(lab.ended(calm), tmp_path), lab.weights(ended[0], tmp_path)
    assert all(torch.equal(got[name], expected[name]) for name in expected), f"seed {seed}, killed {killed}"
