"""Thousands of short runs of a job in which everything goes wrong: see `crowd`."""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gradstream.center.entries import FINAL_CHECKPOINT
from gradstream.sim.toys import job
from gradstream.spec import JobSpec
from tests.unit.center.crowd import Crowd

RUNS = int(os.environ.get("GRADSTREAM_FUZZ_RUNS", "40"))
"""For each gate. A night's worth: 100,000."""

GATES: dict[str, tuple[str, Any]] = {
    "asp": ("async", "asp"),
    "asp, acknowledged": ("downpour", "asp"),
    "max_staleness": ("async", {"max_staleness": 3}),
    "ssp(0)": ("async", {"ssp": 0}),
    "ssp(2)": ("async", {"ssp": 2}),
    "ssp(1), acknowledged": ("downpour", {"ssp": 1}),
    "bsp": ("sync", "bsp"),
    "quorum 3": ("sync", {"mode": "bsp", "quorum": 3}),
    "quorum 2": ("sync", {"mode": "bsp", "quorum": 2}),
    "cohort": ("sync", {"mode": "bsp", "cohort": 0.5}),
    "cohort and quorum": ("adag", {"mode": "bsp", "cohort": 0.75, "quorum": 2}),
    "warm start": ("async", {"mode": "asp", "warm_start": 25}),
    "warm start, acknowledged": ("downpour", {"mode": "asp", "warm_start": 25}),
    "warm start, inside": ("easgd", {"mode": "asp", "warm_start": 25}),
    "asp, inside": ("easgd", "asp"),
    "asp, inside, for the center": ("geo", "asp"),
    "max_staleness, inside": ("easgd", {"max_staleness": 3}),
    "ssp(0), inside": ("easgd", {"ssp": 0}),
    "ssp(1), inside": ("eamsgd", {"ssp": 1}),
    "bsp, inside": ("easgd", "bsp"),
    "bsp, inside, for the center": ("geo", "bsp"),
    "quorum 2, inside": ("easgd", {"mode": "bsp", "quorum": 2}),
    "cohort, inside": ("geo", {"mode": "bsp", "cohort": 0.5}),
    "cohort and quorum, inside": ("eamsgd", {"mode": "bsp", "cohort": 0.75, "quorum": 2}),
    "gathered": ("delayed_diloco", {"ssp": 1}),
    "with bases": ("dc_asgd", {"max_staleness": 3}),
}


def spec(gate: str, workers: int = 4, **more: Any) -> JobSpec:
    strategy, given = GATES[gate]
    return job({"name": strategy, "lr": 0.01}, workers=workers, gate=given, on_worker_loss="continue", on_nan="drop", **more)


@pytest.mark.few(4)
@pytest.mark.parametrize("runs", [RUNS, pytest.param(10 * RUNS, marks=pytest.mark.long)])
@pytest.mark.parametrize("gate", GATES)
def test_everything_goes_wrong(gate: str, runs: int) -> None:
    checkpoints = fenced = ended = 0
    for seed in range(runs):
        crowd = Crowd(spec(gate), seed, pushes=30)
        crowd.play()
        checkpoints, fenced, ended = checkpoints + len(crowd.checkpoints) - 1, fenced + crowd.fenced, ended + crowd.waits_ended
        crowd.checkpoints.pop(FINAL_CHECKPOINT)
        if crowd.checkpoints and seed % 4 == 0:
            again = Crowd(spec(gate), seed, pushes=10, checkpoint=crowd.checkpoints[max(crowd.checkpoints)])
            again.play()
    assert checkpoints > runs / 10, "the fuzz must make checkpoints"
    assert fenced > runs / 10, "the fuzz must have zombies"
    assert bool(ended) == ("inside" in gate), "workers must wait inside of their rounds, and get what they wait for"


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(gate=st.sampled_from(sorted(GATES)), workers=st.integers(3, 7), seed=st.integers(0, 2**32), pushes=st.integers(1, 60))
def test_any_number_of_workers(gate: str, workers: int, seed: int, pushes: int) -> None:
    Crowd(spec(gate, workers), seed, pushes).play()
