"""The examples of other libraries' models as jobs: a worker imports the library in its sandbox, and the evaluator ends the job. The
second one computes in bfloat16 and recomputes its blocks."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from gradstream import jobfile
from tests.platforms import Lab
from tests.support import TIMEOUT

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.more
@pytest.mark.parametrize(
    ("name", "layer", "overrides"),
    [
        ("lightning_digits", "net.0.weight", []),
        ("transformers_sort", "lm_head.weight", ["precision=bf16", "recompute=blocks"]),
    ],
)
def test_a_model_of_another_library_is_trained_to_its_target(
    name: str, layer: str, overrides: list[str], lab: Lab, tmp_path: Path
) -> None:
    spec = jobfile.load(EXAMPLES / name / "job.yaml", ["stop.target.at_least=0.9", *overrides])
    job = lab.ended(lab.client.submit(spec, code=EXAMPLES / name), timeout=4 * TIMEOUT)
    assert job.status == "succeeded", lab.messages(job)
    assert lab.points(job, "eval/accuracy")[-1].value >= 0.9
    assert lab.weights(job, tmp_path)[layer].dtype is torch.float32


@pytest.mark.more
def test_a_job_file_that_steps_in_another_way_than_its_module_ends_at_the_start(lab: Lab) -> None:
    spec = jobfile.load(EXAMPLES / "lightning_digits" / "job.yaml", ["optimizer.lr=0.5", "retries=0"])
    job = lab.ended(lab.client.submit(spec, code=EXAMPLES / "lightning_digits"), timeout=4 * TIMEOUT)
    assert job.status == "failed"
    assert "lr=0.002, and the job file 0.5: write `optimizer: {name: adam, lr: 0.002}` in the job file" in (job.message or "")
