"""The examples run, and learn, in one plain process."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from gradstream import bundle, jobfile, local_run
from gradstream import nn as gnn
from gradstream.local_run import LocalProgress
from gradstream.process.exits import UserError

EXAMPLES = Path(__file__).parents[3] / "examples"
REAL_ADULT = os.environ.get("GRADSTREAM_TEST_ADULT")
REAL_MNIST = os.environ.get("GRADSTREAM_TEST_MNIST")


def train(name: str, *overrides: str) -> LocalProgress:
    spec = jobfile.load(EXAMPLES / name / "job.yaml", overrides)
    return list(local_run.train(spec, EXAMPLES / name))[-1]


@pytest.mark.parametrize("name", sorted(path.parent.name for path in EXAMPLES.glob("*/job.yaml")))
def test_every_example_has_a_valid_job_file_with_its_code_beside_it(name: str) -> None:
    spec = jobfile.load(EXAMPLES / name / "job.yaml")
    packed = bundle.pack(EXAMPLES / name)
    assert packed.holds(spec.workload.entrypoint)
    assert len(packed.data) < 10_000
    assert (EXAMPLES / name / "README.md").read_text().startswith("# ")


def load_module(example: str, name: str) -> Any:
    loader = spec_from_file_location(name, EXAMPLES / example / f"{name}.py")
    assert loader
    assert loader.loader
    module = module_from_spec(loader)
    loader.loader.exec_module(module)
    return module


def test_clicks_are_learned_by_a_script() -> None:
    losses = load_module("clicks", "clicks").train(30_000)
    assert np.mean(losses[-50:]) < np.mean(losses[:20]) - 0.1


def test_clicks_are_learned_by_a_job() -> None:
    last = train("clicks", "stop.epochs=1")
    assert last.evaluation["auc"] > 0.9
    assert last.evaluation["loss"] < 0.4


def write_census(path: Path, people: int) -> None:
    """A file in the format of adult.data, in which age and schooling decide what somebody earns."""
    draw = np.random.default_rng(1)
    age, schooling, hours = draw.integers(17, 80, people), draw.integers(1, 17, people), draw.integers(10, 70, people)
    earns = (schooling - 10) / 3 + (age > 30) * 2 - 1 + draw.logistic(size=people) * 0.5 > 0
    with path.open("w") as file:
        for a, s, h, e in zip(age, schooling, hours, earns, strict=True):
            columns = (
                a,
                "Private",
                100 * a,
                f"school-{s}",
                s,
                "Never-married",
                "Sales",
                "Husband",
                "White",
                "Male",
                0,
                0,
                h,
                "Cuba",
            )
            file.write(", ".join(map(str, columns)) + f", {'>50K' if e else '<=50K'}\n")
        file.write("\n")


def test_wide_and_deep_learns_a_census(tmp_path: Path) -> None:
    write_census(tmp_path / "adult.data", 4000)
    last = train("adult", f"workload.args.path={tmp_path / 'adult.data'}")
    assert last.evaluation["auc"] > 0.93
    assert last.evaluation["calibration"] == pytest.approx(1, abs=0.15)


@pytest.mark.skipif(not REAL_ADULT, reason="GRADSTREAM_TEST_ADULT names no adult.data")
def test_the_real_census_has_167_keys_and_the_auc_of_logistic_regression() -> None:
    """Tested, then trained on, in the order of the file: the AUC of an independent learner is .9058."""
    adult = load_module("adult", "adult")
    ids, rich = adult.read(Path(str(REAL_ADULT)))
    assert len(ids.unique()) == 167
    model = adult.WideAndDeep(0)
    dense = torch.optim.Adagrad(model.parameters(), lr=0.1)
    rows = gnn.TableOptimizer(model, {"wide": {"rule": {"name": "ftrl", "alpha": 0.1, "l2": 1}, "gradient": "sum"}})
    logits = []
    for chosen, labels in zip(ids.split(32), rich.split(32), strict=True):
        logits.append(model(chosen))
        dense.zero_grad()
        torch.nn.functional.binary_cross_entropy_with_logits(logits[-1], labels).backward()
        dense.step()
        rows.step()
    assert auc(torch.cat(logits).detach().numpy(), rich.numpy()) == pytest.approx(0.9058, abs=0.003)


@pytest.mark.more
def test_deepfm_learns_a_planted_log() -> None:
    last = train("deepfm", "workload.args.examples=60_000")
    assert 0.74 < last.evaluation["auc"] < 0.85
    assert last.evaluation["log_loss"] < 0.47
    assert last.evaluation["calibration"] == pytest.approx(1, abs=0.1)


def test_deepfm_learns_from_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(EXAMPLES / "deepfm")
    load_module("deepfm", "fill").fill(tmp_path, examples=5000, every=0, files=4)
    stream = jobfile.load(EXAMPLES / "deepfm" / "online.yaml", [f"workload.args.folder={tmp_path}", "stop={steps: 79}"])
    last = list(local_run.train(stream, EXAMPLES / "deepfm"))[-1]
    assert last.samples == 20_000
    assert last.observed["auc"] > 0.65
    assert last.evaluation["auc"] > 0.7


def test_the_best_auc_of_a_planted_log_is_that_of_its_probabilities() -> None:
    """Against a count of pairs, and as the mean of the AUC over drawn clicks."""
    log = load_module("deepfm", "clicklog")
    ids, clicked = log.clicks(np.arange(5000))
    part, _ = log.clicks(np.arange(3000, 3010))
    assert (part == ids[3000:3010]).all(), "any worker makes any part"
    p = log.probabilities(ids)
    assert clicked.mean() == pytest.approx(p.mean(), abs=0.02)
    few = p[:50]
    pairs = [(a * (1 - b), a > b) for i, a in enumerate(few) for j, b in enumerate(few) if i != j]
    assert log.best_auc(few) == pytest.approx(sum(w for w, above in pairs if above) / sum(w for w, _ in pairs))
    assert auc(p, clicked) == pytest.approx(log.best_auc(p), abs=0.02)


def auc(scores: np.ndarray, clicked: np.ndarray) -> float:
    ranks = scores.argsort().argsort() + 1
    positives = clicked.sum()
    return float((ranks[clicked == 1].sum() - positives * (positives + 1) / 2) / (positives * (len(clicked) - positives)))


@pytest.mark.more
def test_digits_reach_97_percent() -> None:
    last = train("digits")
    assert last.finished
    assert last.evaluation["accuracy"] >= 0.97


def test_lightning_digits_reach_97_percent() -> None:
    last = train("lightning_digits")
    assert last.finished
    assert last.evaluation["accuracy"] >= 0.97


@pytest.mark.more
def test_a_transformer_learns_to_sort_digits() -> None:
    last = train("transformers_sort")
    assert last.finished
    assert last.evaluation["accuracy"] >= 0.95


def test_the_line_is_found() -> None:
    last = train("linear_regression")
    assert last.samples == last.total_samples == 20_000
    assert last.evaluation == {"loss": pytest.approx(0, abs=1e-6)}


@pytest.mark.more
def test_a_table_in_parquet_is_learned(tmp_path: Path) -> None:
    path = tmp_path / "tumours.parquet"
    subprocess.run([sys.executable, EXAMPLES / "table" / "table.py", path], check=True, timeout=60)
    assert train("table", f"workload.args.path={path}", "evaluate.every=1000").evaluation["accuracy"] >= 0.93


def write_idx(path: Path, values: np.ndarray, zipped: bool) -> None:
    header = bytes([0, 0, 8, values.ndim]) + b"".join(length.to_bytes(4, "big") for length in values.shape)
    data = header + values.astype(np.uint8).tobytes()
    path.with_name(path.name + ".gz" * zipped).write_bytes(gzip.compress(data) if zipped else data)


@pytest.fixture
def idx(tmp_path: Path) -> Path:
    """MNIST's four files with images whose brightness is their label."""
    for prefix, count in (("train", 640), ("t10k", 100)):
        labels = np.arange(count) % 10
        images: Sequence[int] | np.ndarray = np.broadcast_to((labels * 25)[:, None, None], (count, 28, 28))
        write_idx(tmp_path / f"{prefix}-images-idx3-ubyte", np.asarray(images), zipped=prefix == "train")
        write_idx(tmp_path / f"{prefix}-labels-idx1-ubyte", labels, zipped=prefix == "train")
    return tmp_path


@pytest.mark.parametrize("network", ["mlp", "cnn"])
def test_mnist_reads_idx_files_and_trains_both_networks(idx: Path, network: str) -> None:
    reports = train("mnist", f"workload.args={{path: {idx}, network: {network}}}", "stop={epochs: 2}", "batch_size=64")
    assert reports.samples == 1280
    assert set(reports.evaluation) == {"loss", "accuracy"}


def test_mnist_refuses_files_that_are_cut_short(idx: Path) -> None:
    path = idx / "t10k-labels-idx1-ubyte"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(UserError) as raised:
        train("mnist", f"workload.args.path={idx}")
    assert "not a whole IDX file" in str(raised.value.__cause__)


@pytest.mark.skipif(REAL_MNIST is None, reason="GRADSTREAM_TEST_MNIST names no folder with the real data set")
@pytest.mark.parametrize(("network", "accuracy"), [("mlp", 0.90), ("cnn", 0.95)])
def test_mnist_learns_the_real_data(network: str, accuracy: float) -> None:
    last = train("mnist", f"workload.args={{path: {REAL_MNIST}, network: {network}}}", "stop={epochs: 1}", "strategy.lr=0.1")
    assert last.evaluation["accuracy"] >= accuracy
