"""Whole jobs on a real platform, as its three kinds of user see them."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from tests.platforms import USERLAND, Lab
from tests.support import eventually

STRATEGIES: list[dict[str, Any]] = [
    {"strategy": {"name": "sync", "lr": 0.05}},
    {"strategy": {"name": "async", "lr": 0.02}},
    {"strategy": {"name": "async", "lr": 0.02}, "gate": {"ssp": 1}},
    {"strategy": {"name": "downpour", "lr": 0.02, "n_push": 2, "n_fetch": 3}, "optimizer": {"name": "adagrad", "lr": 0.1}},
    {"strategy": {"name": "adag", "lr": 0.05, "window": 3}, "gate": "bsp"},
]


@pytest.mark.few(2)
@pytest.mark.parametrize("fields", STRATEGIES, ids=lambda f: f"{f['strategy']['name']}-{f.get('gate', 'own')}")
def test_every_strategy_trains_and_its_ledger_closes(fields: dict[str, Any], lab: Lab) -> None:
    job = lab.ended(lab.submit("trains", stop={"epochs": 6}, **fields))
    assert (job.status, job.attempt, job.message is not None) == ("succeeded", 1, True)
    assert job.progress.samples == job.progress.total_samples == 6 * 256
    ledger = lab.ledger(job)
    for rank in (0, 1):
        assert ledger["pushed", rank] == ledger["applied", rank] + ledger["deferred", rank] + ledger["dropped", rank] > 0
    staleness = [point.value for point in lab.points(job, "train/staleness")]
    assert len(staleness) == ledger["pushed", 0] + ledger["pushed", 1]
    if job.gate.startswith("bsp"):
        assert set(staleness) == {0}


def test_one_synchronous_worker_is_plain_pytorch(lab: Lab, tmp_path: Path) -> None:
    """The platform's model against a loop that shares no code with it."""
    job = lab.submit(
        "serial",
        strategy={"name": "sync", "lr": 0.05},
        optimizer={"name": "sgd", "momentum": 0.9},
        stop={"epochs": 3},
        roles={"worker": {"count": 1, "device": "cpu"}, "server": {"count": 2}},
    )
    trained = lab.weights(lab.ended(job), tmp_path)
    torch.manual_seed(1)
    model = nn.Linear(8, 1)
    x = torch.randn(256, 8, generator=torch.Generator().manual_seed(3))
    y = x.sum(1, keepdim=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for epoch in range(3):
        for chosen in torch.randperm(256, generator=torch.Generator().manual_seed(1_000_003 + epoch)).split(32):
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x[chosen]), y[chosen]).backward()
            optimizer.step()
    assert all(torch.equal(trained[name], value) for name, value in model.state_dict().items())


@pytest.mark.more
def test_a_job_that_is_too_large_waits_with_its_reason_and_runs_when_slots_are_free(lab: Lab) -> None:
    first = lab.submit("takes-all", args={"pause": 0.02}, stop={"epochs": 5000}, roles={"worker": {"count": 4, "device": "cpu"}})
    lab.trains(first, 1)
    second = lab.submit("waits")
    waiting = eventually(lambda: j if (j := lab.client.job(second.id)).reason == "no_capacity" else None, "the reason why it waits")
    assert (waiting.status, waiting.position) == ("queued", 1)
    assert "slot" in (waiting.message or "")
    lab.client.stop(first.id)
    assert lab.ended(second).status == "succeeded"


def test_a_job_that_no_node_could_ever_run_says_so(lab: Lab) -> None:
    job = lab.submit("too-large", roles={"worker": {"count": 50, "device": "cpu"}})
    waiting = eventually(lambda: j if "50" in ((j := lab.client.job(job.id)).message or "") else None, "its message")
    assert waiting.status == "queued"
    assert lab.ended(lab.client.stop(job.id)).status == "cancelled"


def test_a_stop_keeps_the_model_so_far(lab: Lab, tmp_path: Path) -> None:
    job = lab.submit("stopped", args={"pause": 0.02}, stop={"epochs": 5000})
    lab.trains(job, 300)
    lab.client.stop(job.id)
    job = lab.ended(job)
    assert (job.status, job.attempt) == ("cancelled", 1)
    assert set(lab.weights(job, tmp_path)) == {"weight", "bias"}


def test_a_timeout_ends_the_job(lab: Lab) -> None:
    job = lab.ended(lab.submit("slow", args={"pause": 0.05}, stop={"epochs": 5000}, timeout=2))
    assert job.status == "timed_out"


def test_a_target_ends_the_job_successfully(lab: Lab) -> None:
    job = lab.ended(
        lab.submit(
            "target",
            args={"pause": 0.01},
            stop={"epochs": 5000, "target": {"metric": "eval/loss", "at_most": 0.05}},
            evaluate={"every": 0.2},
        )
    )
    assert job.status == "succeeded"
    assert "target" in (job.message or "")
    assert (job.progress.eval["loss"] or 1) <= 0.05, "the model that comes out is the one that reached it"
    assert job.progress.samples < job.progress.total_samples


def test_what_a_job_leaves_behind(lab: Lab, tmp_path: Path) -> None:
    import pyarrow.parquet as parquet

    job = lab.ended(lab.submit("artifacts"))
    names = {artifact.name for artifact in lab.client.artifacts(job.id)}
    assert {"model.safetensors", "job.yaml", "metrics.parquet"} <= names
    table = parquet.read_table(lab.client.download(job.id, "metrics.parquet", into=tmp_path))
    losses = [row for row in table.to_pylist() if row["name"] == "train/loss"]
    assert len(losses) == 4 * 8, "every point of every worker"
    lab.client.delete(job.id)
    assert str(job.id) not in [str(j.id) for j in lab.client.jobs().items]


def test_user_code_may_be_one_file(lab: Lab) -> None:
    assert lab.ended(lab.submit("one-file", code=USERLAND / "steady.py")).status == "succeeded"
