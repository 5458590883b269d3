"""Jobs with embedding tables on the platform: what they leave, and that a death costs no bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from gradstream import metrics
from gradstream import nn as gnn
from gradstream.api.jobs import Job
from gradstream.metrics import Point
from tests.platforms import Lab, slow_until
from tests.support import eventually
from tests.userland.planted_clicks import Clicks

FIELDS: dict[str, Any] = {
    "workload": {"entrypoint": "planted_clicks:Clicks"},
    "strategy": {"name": "sync", "lr": 0.05},
    "batch_size": 32,
    "checkpoint": {"every": 0.5},
    "evaluate": {"every": "2 epochs"},
    "tables": {"default": {"rule": {"name": "adam", "lr": 0.01}, "admit": {"count": 2}}},
    "stop": {"epochs": 8},
}


def submit(lab: Lab, name: str, args: dict[str, Any] | None = None, **fields: Any) -> Job:
    return lab.submit(name, **(FIELDS | {"workload": {"entrypoint": "planted_clicks:Clicks", "args": args or {}}} | fields))


def downloaded(lab: Lab, job: Job, folder: Path) -> dict[str, dict[str, torch.Tensor]]:
    """The files of weights that the job left, by name."""
    target = folder / str(job.id)
    target.mkdir(exist_ok=True)
    names = [artifact.name for artifact in lab.client.artifacts(job.id) if artifact.name.endswith(".safetensors")]
    return {name: load_file(lab.client.download(job.id, name, into=target)) for name in names}


def trained(lab: Lab, job: Job, folder: Path) -> dict[tuple[str, int], torch.Tensor]:
    """The rows that the job left, by table and key."""
    found: dict[tuple[str, int], torch.Tensor] = {}
    for file in downloaded(lab, job, folder).values():
        for name in ("deep", "wide"):
            if f"{name}/keys" in file:
                rows = zip(file[f"{name}/keys"].tolist(), file[f"{name}/values"], strict=True)
                found |= {(name, key): values for key, values in rows}
    return found


def last_of_shards(lab: Lab, job: Job, name: str) -> list[float]:
    """The last value that each of the two shards has reported."""
    batches = [(batch.source, batch.points) for batch in lab.client.metrics(job.id, names=[name])]
    found = {source: Point(*points[-1]).value for source, points in batches if points}
    return [value for _, value in sorted(found.items())]


def score(files: Path) -> float:
    """The loss on the evaluation split, of the model in these files, in a script without a platform."""
    workload = Clicks()
    model = workload.model()
    model.load_state_dict(load_file(files / "model.safetensors"))
    gnn.load_tables(model, files.glob("tables-*.safetensors"))
    with torch.no_grad():
        return float(workload.loss(model, workload.dataset("eval").tensors))  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def calm(lab: Lab) -> Job:
    """A job that nothing disturbs."""
    return lab.ended(submit(lab, "calm", {"observes": True}))


@pytest.mark.more
def test_a_script_reads_the_rows_that_a_job_has_trained(lab: Lab, calm: Job, tmp_path: Path) -> None:
    assert calm.status == "succeeded", lab.messages(calm)
    files = downloaded(lab, calm, tmp_path)
    assert sorted(files) == ["model.safetensors", "tables-0.safetensors", "tables-1.safetensors"]
    rows = [files[f"tables-{k}.safetensors"]["deep/keys"] for k in range(2)]
    assert all(len(keys) > 50 for keys in rows)
    assert not set(rows[0].tolist()) & set(rows[1].tolist())
    account = {name: sum(last_of_shards(lab, calm, f"table/{name}")) for name in ("applied", "counted", "missed", "dropped")}
    assert account["applied"] > account["counted"] > 0 == account["missed"] == account["dropped"]
    tables = [files[f"tables-{k}.safetensors"] for k in range(2)]
    assert {point.value for point in lab.points(calm, "table/staleness", "table/staleness_highest")} == {0}, "under bsp"
    assert last_of_shards(lab, calm, "table/made") == last_of_shards(lab, calm, "table/rows")
    assert last_of_shards(lab, calm, "rows/deep") == [len(keys) for keys in rows]
    assert last_of_shards(lab, calm, "table/rows") == [len(one["deep/keys"]) + len(one["wide/keys"]) for one in tables]
    evaluated = [point.value for point in lab.points(calm, "eval/loss")]
    assert score(tmp_path / str(calm.id)) == pytest.approx(evaluated[-1], rel=1e-4)
    assert evaluated[-1] < 0.67 < evaluated[0], "it has learned"
    assert [point.value for point in lab.points(calm, "eval/log_loss")] == pytest.approx(evaluated, rel=1e-4)
    assert lab.points(calm, "eval/auc")[-1].value > 0.6
    assert lab.points(calm, "train/auc")[-1].value > 0.6


@pytest.mark.more
def test_a_job_of_other_servers_starts_with_the_rows_of_one_that_has_ended(lab: Lab, calm: Job, tmp_path: Path) -> None:
    """Its steps are too small to change a float."""
    tables = {"default": {"rule": {"name": "sgd", "lr": 1e-30}, "admit": {"count": 2}}}
    roles = {"worker": {"count": 2, "device": "cpu"}, "server": {"count": 3}}
    source = {"job": str(calm.id), "checkpoint": "last"}
    job = submit(lab, "later", {"examples": 200}, tables=tables, roles=roles, start_from=source, stop={"epochs": 1})
    job = lab.ended(job)
    assert job.status == "succeeded", lab.messages(job)
    expected, got = trained(lab, calm, tmp_path), trained(lab, job, tmp_path)
    assert len(expected) > 100
    for key, values in expected.items():
        assert torch.equal(got[key], values), key


@pytest.mark.more
@pytest.mark.parametrize(
    ("victim", "more"),
    [("worker-1", {}), pytest.param("server-1", {}, marks=pytest.mark.long), ("server-1", {"memory": {"rows": 50}})],
    ids=["worker", "server", "server with rows on disk"],
)
def test_under_bsp_rows_are_those_of_the_undisturbed_run_bit_for_bit(
    victim: str, more: dict[str, Any], lab: Lab, calm: Job, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    tables = {"default": FIELDS["tables"]["default"] | more}
    job = submit(lab, "disturbed", slow_until(go) | {"observes": True}, tables=tables)
    eventually(lambda: "checkpoint 1 " in lab.messages(job) or None, "the first checkpoint")
    lab.kill(victim)
    go.touch()
    job = lab.ended(job)
    assert (job.status, job.attempt) == ("succeeded", 2), lab.messages(job)
    expected, got = downloaded(lab, calm, tmp_path), downloaded(lab, job, tmp_path)
    for name, tensors in expected.items():
        for key, values in tensors.items():
            assert torch.equal(got[name][key], values), f"{name}: {key}"
    if more:
        assert min(last_of_shards(lab, job, "table/cold")) > 20
        assert last_of_shards(lab, job, "table/beyond") == [0, 0]
    for figure in metrics.OBSERVED.values():
        last = [lab.points(each, figure.name)[-1] for each in (calm, job)]
        assert last[0].value == last[1].value, f"{figure.name}: each example counts once"
