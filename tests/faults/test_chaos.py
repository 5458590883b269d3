"""Processes killed at random, several times in a job: it ends, every sample counts once, and under bsp the bits are right."""

import os
import random
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import torch

from gradstream.api.jobs import Job
from tests.platforms import Lab, slow_until
from tests.support import eventually

VICTIMS = ("worker-0", "worker-1", "server-0", "server-1", "evaluator")
PEERS = [f"worker-{rank}/{peer}" for rank in (0, 1) for peer in (1, 2)]
KILLS = int(os.environ.get("GRADSTREAM_CHAOS_KILLS", "5"))
"""An hour's worth: 600."""
SEED = int(os.environ.get("GRADSTREAM_CHAOS_SEED", "7"))
EPOCHS = 60 + 25 * KILLS
BSP: dict[str, Any] = {
    "strategy": {"name": "sync", "lr": 0.05},
    "optimizer": {"name": "adam", "lr": 0.01},
    "stop": {"epochs": EPOCHS},
}
OFTEN = {"checkpoint": {"every": 0.5}, "retries": 100}


SHAPES: dict[str, dict[str, Any]] = {
    "fsdp": {"worker": {"group": {"fsdp": 2}}, "server": {"count": 2}},
    "replicate": {"worker": {"group": {"replicate": 3}}, "server": {"count": 1}},
    "stages": {"worker": {"group": {"stages": 2}}, "server": {"count": 1}},
    "no servers": {"worker": {}, "server": {"count": 0}},
    "no servers, over gloo": {"worker": {}, "server": {"count": 0, "collective": "gloo"}},
    "groups without servers": {"worker": {"group": {"replicate": 2}}, "server": {"count": 0}},
}


def _shapes(*shapes: str, long: Sequence[str]) -> list[Any]:
    return [*shapes, *(pytest.param(shape, marks=pytest.mark.long) for shape in long)]


@pytest.mark.more
@pytest.mark.timeout(300)
def test_random_kills(lab: Lab, tmp_path: Path) -> None:
    calm = lab.ended(lab.submit("chaos-calm", **BSP))
    stormy = {"args": slow_until(tmp_path / "go"), **OFTEN}
    jobs = [
        lab.submit("chaos-bsp", **BSP, **stormy),
        lab.submit("chaos-asp", strategy={"name": "async", "lr": 0.01}, stop={"epochs": EPOCHS}, **stormy),
    ]
    killed = _kill_at_random(lab, jobs, VICTIMS)
    (tmp_path / "go").touch()
    _check_bits(lab, calm, _ended(lab, jobs, killed)[0], tmp_path, killed)


@pytest.mark.more
@pytest.mark.timeout(300)
@pytest.mark.parametrize("shape", _shapes("no servers, over gloo", long=("fsdp", "no servers", "groups without servers")))
def test_random_kills_while_the_others_continue(shape: str, lab: Lab, tmp_path: Path) -> None:
    """Which rounds the survivors make depends on the moment of each death, so no bits are compared."""
    fields = {**BSP, **OFTEN, "on_worker_loss": "continue", "args": slow_until(tmp_path / "go"), "roles": _roles(shape)}
    job = lab.submit("stormy", **fields)
    killed = _kill_at_random(lab, [job], [*VICTIMS, *PEERS])
    (tmp_path / "go").touch()
    [ended] = _ended(lab, [job], killed)
    ledger = lab.ledger(ended)
    for rank in (0, 1):
        fates = sum(ledger.get((fate, rank), 0) for fate in ("applied", "deferred", "dropped", "pending"))
        assert ledger["pushed", rank] == fates, f"seed {SEED}, killed {killed}: {ledger}"
    eventually(lambda: not any(lab.pids(label) for label in (*VICTIMS, *PEERS)), "no process of a job is left")


@pytest.mark.more
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "shape",
    _shapes("fsdp", "no servers, over gloo", long=("replicate", "stages", "no servers", "groups without servers")),
)
def test_random_kills_of_each_shape(shape: str, lab: Lab, tmp_path: Path) -> None:
    entrypoint, accumulate = ("deep:Deep", 2) if shape == "stages" else ("steady:Steady", 1)
    fields = {**BSP, "roles": _roles(shape), "accumulate": accumulate}
    calm = lab.ended(lab.submit("calm", **fields, workload={"entrypoint": entrypoint}))
    workload = {"entrypoint": entrypoint, "args": slow_until(tmp_path / "go")}
    job = lab.submit("stormy", **fields, **OFTEN, workload=workload)
    killed = _kill_at_random(lab, [job], [*VICTIMS, *PEERS])
    (tmp_path / "go").touch()
    [ended] = _ended(lab, [job], killed)
    _check_bits(lab, calm, ended, tmp_path, killed)
    eventually(lambda: not any(lab.pids(label) for label in (*VICTIMS, *PEERS)), "no process of a job is left")


def _roles(shape: str) -> dict[str, Any]:
    given = SHAPES[shape]
    return {"worker": {"count": 2, "device": "cpu", **given["worker"]}, "server": given["server"]}


def _kill_at_random(lab: Lab, jobs: Sequence[Job], victims: Sequence[str]) -> list[str]:
    """Return the labels of the killed processes."""
    chance = random.Random(SEED)
    killed: list[str] = []
    for job in jobs:
        lab.trains(job, 200)
    while len(killed) < KILLS and not all(lab.client.job(job.id).ended for job in jobs):
        time.sleep(chance.uniform(0.5, 2.5))  # the moment of a death is what varies here
        found = {label: pids for label in victims if (pids := lab.pids(label))}
        if found:
            victim = chance.choice(sorted(found))
            with suppress(ProcessLookupError):  # its attempt has ended meanwhile
                os.kill(chance.choice(sorted(found[victim])), signal.SIGKILL)
                killed.append(victim)
    assert len(killed) >= 3, f"the jobs were over after {killed}"
    return killed


def _ended(lab: Lab, jobs: Sequence[Job], killed: list[str]) -> list[Job]:
    ended = [lab.ended(job) for job in jobs]
    for job in ended:
        assert job.status == "succeeded", f"seed {SEED}, killed {killed}: {job.message}"
        assert job.progress.samples == job.progress.total_samples, f"seed {SEED}, killed {killed}"
    return ended


def _check_bits(lab: Lab, calm: Job, stormy: Job, folder: Path, killed: list[str]) -> None:
    """All but buffers, which groups go on with as means."""
    expected, got = lab.weights(calm, folder), lab.weights(stormy, folder)
    for name, value in expected.items():
        if "running" not in name and "tracked" not in name:
            assert torch.equal(got[name], value), f"{name}, seed {SEED}, killed {killed}"
