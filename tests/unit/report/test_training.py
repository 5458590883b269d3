"""A training run: its data, its budget, its accuracy; and what is said when the data is missing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks.report import mnist
from benchmarks.report.__main__ import main
from benchmarks.report.training import train

COSTS = {"speeds": "lognormal:0.3", "latency": 0.1, "apply": 0.01, "watch_every": 160}


def trained(images: str, **given: Any) -> dict[str, Any]:
    job = {"strategy": {"name": "async", "lr": 0.1}, "batch_size": 16}
    return train(data=images, **{"job": job, "workers": 2, "samples": 640, **COSTS, **given})


@pytest.mark.more
def test_it_learns_in_equal_shares_and_is_the_same_again(images: str) -> None:
    first = trained(images)
    assert first["samples"] == 640
    assert first["trained"] == {"0": 20, "1": 20}
    assert first["accuracy"] > 0.5
    assert [samples for samples, _, _ in first["curve"]] == [160, 320, 480, 640]
    assert trained(images) == first


def test_with_shared_data_the_fast_train_more_and_it_ends_at_the_same_samples(images: str) -> None:
    found = trained(images, shared=True, speeds="straggler:5")
    assert found["samples"] == 640
    assert found["trained"]["0"] > 4 * found["trained"]["1"]


def test_a_run_that_diverges_ends_and_says_so(images: str) -> None:
    found = trained(images, job={"strategy": {"name": "async", "lr": 1e6}, "batch_size": 16})
    assert found["diverged"]
    assert found["samples"] < 640
    assert found["accuracy"] < 0.3


def test_every_transfer_is_counted(images: str) -> None:
    size, found = 4 * 987_210, trained(images)
    assert found["bytes"] == size * (40 + 2 + 40), "40 pushes, each answered with the center, and 2 that begin"


@pytest.mark.parametrize("given", [[], ["--mnist", "nowhere"]])
def test_missing_data_is_answered_with_the_argument(
    given: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["--only", "rates", "--out", str(tmp_path), *given]) == 2
    said = capsys.readouterr().err
    assert "--mnist PATH" in said
    assert "make report MNIST=PATH" in said


def test_data_is_found_where_it_usually_is(images: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data/mnist").symlink_to(images)
    monkeypatch.chdir(tmp_path)
    assert mnist.find("") == "data/mnist"
    with pytest.raises(mnist.DataMissing, match="in 'elsewhere'"):
        mnist.find("elsewhere")


def test_half_a_file_is_refused(images: str, tmp_path: Path) -> None:
    whole = Path(images) / "t10k-labels-idx1-ubyte"
    half = tmp_path / whole.name
    half.write_bytes(whole.read_bytes()[:-1])
    with pytest.raises(mnist.DataMissing, match="not a whole IDX file"):
        mnist.read_idx(half)
