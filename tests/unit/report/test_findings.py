"""A verdict is what the numbers say: with other numbers it is the other one."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.report import document
from benchmarks.report.experiments import EXPERIMENTS, rates, scaling, staleness, straggler, strategies
from benchmarks.report.experiments.base import FULL, QUICK, Finding, Scale
from benchmarks.report.lab import Lab, Run
from gradstream.strategies import STRATEGIES
from tests.unit.report.conftest import Invent

SCALE = Scale(rates=(0.1, 0.2))


def result(accuracy: float, **more: Any) -> dict[str, Any]:
    return {
        "diverged": False,
        "accuracy": accuracy,
        "held_out": accuracy,
        "curve": [[5500, 10.0, accuracy]],
        "time": 100.0,
        "bytes": 10**9,
        "staleness": 0.0,
        "dropped": 0,
        "trained": {"0": 1},
        **more,
    }


def as_in_the_papers(run: Run) -> dict[str, Any]:
    strategy, n = run.settings["job"]["strategy"], run.settings["workers"]
    window = strategy.get("n_push", strategy.get("window", 1))
    collapsed = strategy["name"] == "downpour" and (n >= 16 or window >= 8)
    lost = {"easgd": 0.004, "dynsgd": 0.001}.get(strategy["name"], 0.0)
    return result(0.1 if collapsed else 0.97 - lost * n - (0.05 if window >= 16 else 0.0))


def verdicts(findings: list[Finding]) -> dict[str, bool]:
    return {finding.claim.split(" ")[0] + str(k): finding.repeats for k, finding in enumerate(findings)}


def test_growth_repeats_with_the_papers_numbers_and_does_not_when_nothing_depends_on_n(invented: Invent, tmp_path: Path) -> None:
    invented(rates.EXPERIMENT, SCALE, lambda run: result(0.9))
    lab = invented(scaling.EXPERIMENT, SCALE, as_in_the_papers)
    said = verdicts(scaling.findings(SCALE, lab))
    assert [claim for claim, repeats in said.items() if not repeats] == [], said

    flat = Lab(tmp_path / "flat")
    for experiment in (rates.EXPERIMENT, scaling.EXPERIMENT):
        for run in experiment.runs(SCALE, flat):
            flat.keep(experiment.name, run, result(0.95), 1.0)
    assert verdicts(scaling.findings(SCALE, flat)) == {
        "DOWNPOUR0": False,
        "ADAG1": True,
        "ADAG2": True,
        "AEASGD3": False,
        "DynSGD4": True,
        "DOWNPOUR5": False,
        "ADAG's6": False,
        "ADAG's7": False,
    }


def test_the_rate_with_the_best_held_out_accuracy_is_taken(invented: Invent) -> None:
    lab = invented(rates.EXPERIMENT, SCALE, lambda run: result(0.9 if run.settings["job"]["strategy"]["lr"] < 0.15 else 0.95))
    assert rates.best(SCALE, lab, "async") == 0.2
    assert rates.best(SCALE, lab, "eamsgd") == 0.01, "its grid is a tenth"


def test_every_strategy_of_the_union_is_in_the_report(invented: Invent) -> None:
    lab = invented(rates.EXPERIMENT, SCALE, lambda run: result(0.9))
    tried = {run.settings["job"]["strategy"]["name"] for run in strategies.runs(SCALE, lab)}
    drawn = {name for names in strategies.families().values() for name in names} | {"single"}
    assert tried == drawn == set(STRATEGIES)


def slow(times: dict[str, float]) -> Callable[[Run], dict[str, Any]]:
    def found(run: Run) -> dict[str, Any]:
        gate = run.settings["job"]["gate"]
        name = {"bsp": "BSP", "asp": "ASP"}.get(str(gate)) or ("backup" if "quorum" in gate else "SSP(3)")
        return result(0.95, time=100 * (times[name] if run.settings["speeds"] != "constant" else 1.0))

    return found


@pytest.mark.parametrize(("ssp", "repeats"), [(1.5, True), (4.9, False)])
def test_ssp_repeats_only_if_it_is_faster_than_bsp(invented: Invent, ssp: float, repeats: bool) -> None:
    invented(rates.EXPERIMENT, SCALE, lambda run: result(0.9))
    lab = invented(straggler.EXPERIMENT, SCALE, slow({"BSP": 5.0, "SSP(3)": ssp, "backup": 1.0, "ASP": 1.11}))
    [finding] = [finding for finding in straggler.findings(SCALE, lab) if finding.claim.startswith("SSP(3)")]
    assert finding.repeats is repeats
    assert finding.why


def test_the_document_has_figures_commands_verdicts_and_reasons(invented: Invent, tmp_path: Path) -> None:
    def stale(run: Run) -> dict[str, Any]:
        n = run.settings["workers"]
        off = 1.0 if run.settings["speeds"] == "constant" else 0.0
        return {"histogram": [[n - 1, 100]], "mean": n - 1 + off, "largest": n - 1}

    lab = invented(staleness.EXPERIMENT, FULL, stale)
    missing = document.build(EXPERIMENTS, FULL, lab, tmp_path)
    text = (tmp_path / "README.md").read_text()
    assert missing == [experiment.name for experiment in EXPERIMENTS if experiment.name != "staleness"]
    assert "Findings: 0 of 2 repeat" in text
    assert "python -m benchmarks.report --mnist PATH --only staleness" in text
    assert "Not computed yet: `python -m benchmarks.report --mnist PATH --only rates`" in text
    for figure in re.findall(r"!\[.*\]\((.*)\)", text):
        assert (tmp_path / figure).read_bytes().startswith(b"\x89PNG")
    assert str(tmp_path) not in text


def test_quick_runs_are_never_taken_for_those_of_the_report() -> None:
    empty = Lab(Path("nowhere"))
    for experiment in (rates.EXPERIMENT, staleness.EXPERIMENT):
        assert not {*experiment.runs(QUICK, empty)} & {*experiment.runs(FULL, empty)}
