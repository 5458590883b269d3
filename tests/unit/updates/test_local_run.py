"""Update samples of `run --local`."""

from __future__ import annotations

from pathlib import Path

from gradstream.local_run import LocalMedia, train
from gradstream.spec import JobSpec
from gradstream.updates.sample import UpdateSample

USERLAND = Path(__file__).parents[2] / "userland"


def test_one_step_in_each_four_is_measured_and_lies_beside_the_media(tmp_path: Path) -> None:
    spec = JobSpec.model_validate(
        {
            "name": "local",
            "workload": {"entrypoint": "steady:Steady"},
            "strategy": {"name": "sync", "lr": 0.01},
            "batch_size": 16,
            "update_histograms": {"every": 4},
            "stop": {"epochs": 3},
        }
    )
    media = LocalMedia(lambda: tmp_path / "1" / "media")
    last = list(train(spec, USERLAND, media))[-1]
    lines = (tmp_path / "1/updates/worker-0.jsonl").read_text().splitlines()
    samples = [UpdateSample.model_validate_json(line) for line in lines]
    assert [(sample.step - 1) // 4 for sample in samples] == list(range(last.step // 4))
    assert {(sample.staleness, len(sample.update), sample.update[0].elements) for sample in samples} == {(0, 2, 8)}
    assert samples[0].update[0].norm > 0
    assert media.folder is None, "no media were logged"
