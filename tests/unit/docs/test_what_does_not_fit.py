"""Each pattern of the guide trains: with two workers in the simulator, and in plain PyTorch."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from gradstream import local_run, sim
from gradstream.sim.workload import Workloads
from gradstream.spec import JobSpec

GUIDE = Path("docs/guides/what-does-not-fit.md")
MODULE = "patterns_of_the_guide"
BLOCKS = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
NAMES = re.findall(r"^class (\w+)\((?:Plain|Workload)\)", "\n".join(BLOCKS), re.MULTILINE)
RATES = {"Gan": 0.05, "Bandit": 0.5}
METRICS = {"Gan": ("gap", 2.0), "Contrast": ("loss", 2.0)}
"""What must fall below what; else the accuracy must rise above 0.8."""


@pytest.fixture(autouse=True)
def patterns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / f"{MODULE}.py").write_text("\n\n".join(BLOCKS))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, MODULE, raising=False)
    torch.set_num_threads(1)  # the models are small, and other tests have the other cores


def job(name: str, workers: int) -> JobSpec:
    return JobSpec.model_validate(
        {
            "name": name.lower(),
            "workload": {"entrypoint": f"{MODULE}:{name}"},
            "batch_size": 25,
            "stop": {"epochs": 15},
            "strategy": {"name": "sync", "lr": RATES.get(name, 0.5)},
            "roles": {"worker": {"count": workers}},
            "evaluate": {"every": 1000},
        }
    )


def assert_learned(name: str, scores: dict[str, Any]) -> None:
    if name in METRICS:
        metric, below = METRICS[name]
        assert scores[metric] < below
    else:
        assert scores["accuracy"] > 0.8


def test_the_table_leads_to_patterns_that_are_there() -> None:
    text = GUIDE.read_text()
    headings = {re.sub(r"[^\w -]", "", line[3:].lower()).replace(" ", "-") for line in text.splitlines() if line.startswith("## ")}
    links = set(re.findall(r"\(#([\w-]+)\)", text))
    assert links
    assert links <= headings
    assert len(NAMES) == 9


@pytest.mark.few(3)
@pytest.mark.parametrize("name", NAMES)
def test_a_pattern_trains_with_two_workers(name: str, tmp_path: Path) -> None:
    spec = job(name, 2)
    workloads = Workloads(spec, tmp_path)
    scores: list[dict[str, float]] = []
    sim.run(spec, workloads, watch=lambda view: scores.append(workloads.evaluate(view)), watch_every=7_500)
    assert_learned(name, scores[-1])


@pytest.mark.few(4)
@pytest.mark.parametrize("name", NAMES)
def test_a_pattern_trains_in_plain_pytorch(name: str, tmp_path: Path) -> None:
    assert_learned(name, list(local_run.train(job(name, 1), tmp_path))[-1].evaluation)
