"""A job in float16 that resumes from a checkpoint goes on with its loss scales, and has the bits of the undisturbed job."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from gradstream import metrics
from gradstream.api.jobs import Job
from gradstream.model.computing.precision import FIRST_SCALE
from tests.platforms import Lab, slow_until
from tests.support import eventually

EPOCHS = 12
"""Each of two workers has four mini-batches in one."""
SYNC = {"strategy": {"name": "sync", "lr": 1e-4}, "optimizer": {"name": "sgd", "momentum": 0.9}}
ADAG = {"strategy": {"name": "adag", "lr": 1e-4, "window": 2}, "gate": "bsp", "optimizer": {"name": "adam"}}


def submit(lab: Lab, name: str, servers: int, args: dict[str, Any], fields: dict[str, Any]) -> Job:
    return lab.submit(
        name,
        workload={"entrypoint": "steep:Steep", "args": args},
        precision="fp16",
        roles={"worker": {"count": 2, "device": "cpu"}, "server": {"count": servers}},
        checkpoint={"every": "2 epochs"},
        stop={"epochs": EPOCHS},
        **fields,
    )


def scales(lab: Lab, job: Job) -> dict[tuple[str, int, int], float]:
    """The loss scale and the overflows of each worker at its mini-batches. The last word counts: an attempt repeats some."""
    names = (metrics.LOSS_SCALE.name, metrics.OVERFLOWS.name)
    return {(point.name, point.rank, point.step): point.value for point in lab.points(job, *names)}


@pytest.mark.more
@pytest.mark.parametrize(("servers", "fields"), [(2, SYNC), (0, SYNC), (2, ADAG)], ids=["sync", "no servers", "adag"])
def test_a_resumed_job_in_float16_has_the_bits_of_the_undisturbed_one(
    servers: int, fields: dict[str, Any], lab: Lab, tmp_path: Path
) -> None:
    """The first scale overflows with this loss, so a worker that resumed with it would drop mini-batches once more."""
    calm = lab.ended(submit(lab, "calm", servers, {}, fields))
    assert calm.status == "succeeded", calm.message
    go = tmp_path / "go"
    job = submit(lab, "disturbed", servers, slow_until(go, 0.5), fields)
    eventually(lambda: "checkpoint 1 " in lab.messages(job) or None, "the first checkpoint")
    lab.trains(job, 640)
    lab.kill("worker-1")
    eventually(lambda: lab.client.job(job.id).attempt == 2 or None, "another attempt")
    go.touch()
    job = lab.ended(job)
    assert (job.status, job.attempt) == ("succeeded", 2)
    undisturbed = scales(lab, calm)
    assert scales(lab, job) == undisturbed
    last = max(step for _, _, step in undisturbed)
    for rank in (0, 1):
        overflows = undisturbed[metrics.OVERFLOWS.name, rank, last]
        assert 2 <= overflows == torch.tensor(FIRST_SCALE / undisturbed[metrics.LOSS_SCALE.name, rank, last]).log2()
    one, other = lab.weights(calm, tmp_path), lab.weights(job, tmp_path)
    assert all(torch.equal(other[name], value) for name, value in one.items())
