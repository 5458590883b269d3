"""Update samples of a whole job: each push is measured once, with the staleness that the servers reported for it."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from safetensors.torch import load_file

from gradstream.api.model.updates import UpdateHistograms
from tests.jobs.test_by_hand import gradstream
from tests.platforms import Lab


def total(found: UpdateHistograms) -> int:
    return sum(group.count for group in found.groups)


@pytest.mark.more
def test_samples_of_two_workers_have_the_staleness_of_the_ledger_and_are_served(lab: Lab, tmp_path: Path) -> None:
    job = lab.submit("sampled", strategy={"name": "async", "lr": 0.01}, stop={"epochs": 2}, update_histograms={"every": 1})
    job = lab.ended(job)
    assert job.status == "succeeded", job.message
    stored = list(lab.client.update_samples(job.id))
    for rank in range(2):
        of_ledger = Counter(int(point.value) for point in lab.points(job, "train/staleness") if point.rank == rank)
        mine = [one.sample for one in stored if one.rank == rank]
        of_samples = Counter(one.staleness for one in mine)
        assert of_samples <= of_ledger
        assert (of_ledger - of_samples).total() <= 1, "a worker leaves without the response to its last push"
        assert [one.step for one in mine] == list(range(1, len(mine) + 1)), "one for each push"
    for one in stored:
        assert one.sample.pushes_gradient
        for layer in one.sample.update:
            assert sum(layer.counts) + layer.zeros + layer.not_finite == layer.elements

    found = lab.client.update_histograms(job.id)
    assert (found.every, found.ranks, found.count, found.used, found.lost, found.full) == (
        1,
        [0, 1],
        len(stored),
        len(stored),
        0,
        False,
    )
    elements = sum(layer.elements for layer in found.layers)
    for group in found.groups:
        members = [one for one in stored if group.low <= one.sample.staleness <= group.high]
        assert (group.count, group.elements) == (len(members), len(members) * elements)
        assert sum(group.counts) + group.zeros + group.not_finite == group.elements
    assert total(found) == len(stored)

    layer = found.layers[0]
    of_one = lab.client.update_histograms(job.id, layer.name, what="gradient", ranks=[1], by="samples")
    assert total(of_one) == len([one for one in stored if one.rank == 1])
    assert all(group.elements == group.count * layer.elements for group in of_one.groups)

    table = gradstream(lab, "updates", "sampled", "--layer", layer.name)
    assert f"update of {layer.name}; {len(stored)} of {len(stored)} samples" in " ".join(table.split())
    saved = tmp_path / "samples.jsonl"
    gradstream(lab, "updates", "sampled", "--into", str(saved))
    assert [json.loads(line)["seq"] for line in saved.read_text().splitlines()] == [one.seq for one in stored]


@pytest.mark.more
def test_the_parameters_of_a_job_are_those_of_its_model(lab: Lab, tmp_path: Path) -> None:
    job = lab.ended(lab.submit("parameters", strategy={"name": "sync", "lr": 0.01}, stop={"epochs": 2}))
    assert job.status == "succeeded", job.message
    found = lab.client.parameters(job.id)
    table = found.table
    assert found.attempt == 1
    assert table is not None
    assert [(one.name, one.shape, one.count, one.dtype, one.device, one.requires_grad) for one in table.parameters] == [
        ("weight", (1, 8), 8, "float32", "cpu", True),
        ("bias", (1,), 1, "float32", "cpu", True),
    ]
    assert (table.total, table.trained, table.left_out) == (9, 9, 0)
    assert table.step > 0, "from the end of the training, not from its beginning"
    assert 0 < table.base < job.progress.version, "before the last round"
    shown = gradstream(lab, "show", "parameters", "--parameters")
    assert f"9 elements, 9 of them trained. Norms: worker 0 of attempt 1 after {table.step} mini-batches" in " ".join(shown.split())
    model = load_file(lab.client.download(job.id, "model.safetensors", into=tmp_path))
    for one in table.parameters:
        assert one.norm == pytest.approx(float(model[one.name].norm()), abs=0.05), "near the final model"
