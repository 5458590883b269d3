"""Programs die, each at a moment drawn by chance, while a job learns from a folder that grows and is exported: each example
counts once, the model is that of the undisturbed run, and a reader of the exports sees whole ones only."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path
from typing import Any

import pytest
import torch

from gradstream.serving import Tables
from tests.jobs.test_followed_folder import ROWS, committed, put, submit, tensors
from tests.jobs.test_followed_folder import folder as folder
from tests.platforms import Lab
from tests.support import TIMEOUT, eventually

PROGRAMS = {
    "agent": ("worker_agent",),
    "api": ("backend", "api"),
    "controller": ("backend", "controller"),
    "live": ("valkey-server", "redis-live"),
    "plane": ("valkey-server", "redis-plane"),
}
VICTIMS = ["worker-0", "server-1", *PROGRAMS]
SEED = int(os.environ.get("GRADSTREAM_CHAOS_SEED", "7"))


def kill(lab: Lab, victim: str) -> None:
    if victim not in PROGRAMS:
        return lab.kill(victim)
    program = lab.program(*PROGRAMS[victim])
    program.kill()
    eventually(lambda: lab.program(*PROGRAMS[victim]) != program, f"another {victim}")


@pytest.mark.more
@pytest.mark.timeout(600)
@pytest.mark.parametrize("deaths", [3, pytest.param(len(VICTIMS), marks=pytest.mark.long)])
def test_programs_die_while_a_job_learns_from_a_folder(deaths: int, lab: Lab, folder: Path) -> None:
    chance = random.Random(SEED)
    victims = chance.sample(VICTIMS, deaths)
    fields: dict[str, Any] = {
        "tables": {"default": {"keep": {"score": 2.0}, "shrink": "1 passes"}},
        "export": {"every": "1 passes"},
        "stop": {"steps": 10 * len(victims)},
        "retries": 100,
    }
    job = submit(lab, "stormy", folder, **fields)
    followed, reader = folder / "followed", None
    for number, victim in enumerate(victims, start=1):
        put(folder, number)
        time.sleep(chance.uniform(0, 1.5))  # the moment of a death is what varies here
        kill(lab, victim)
        lab.trains(job, number * ROWS, timeout=3 * TIMEOUT)  # all programs of a machine may have to start anew
        if committed(lab, job):
            lab.client.download_exports(job, into=followed)
            reader = reader or Tables(followed)
            reader.follow()
    job = lab.ended(job)
    story = f"seed {SEED}, killed {victims}: {lab.messages(job)}"
    assert (job.status, job.progress.samples) == ("succeeded", len(victims) * ROWS), story
    exports = {each.passes: each.samples for each in committed(lab, job)}
    assert exports == {number: number * ROWS for number in exports}, story
    assert reader is not None
    assert max(exports) == len(victims), story
    calm = lab.ended(submit(lab, "undisturbed", folder, **fields))
    undisturbed, found = ({(point.step, point.value) for point in lab.points(each, "pass/auc")} for each in (calm, job))
    assert found == undisturbed, f"a pass that ends again after a resume has the same figure, {story}"
    expected, got = tensors(lab, calm, folder / "calm"), tensors(lab, job, folder / "got")
    assert set(expected) == set(got)
    for name, of_file in expected.items():
        for key, values in of_file.items():
            assert torch.equal(got[name][key], values), f"{name}: {key}, {story}"
    lab.client.download_exports(job, into=followed)
    reader.follow()
    for name, weights in got["model.safetensors"].items():
        assert torch.equal(reader.current.state_dict()[name], weights), f"{name}, {story}"
