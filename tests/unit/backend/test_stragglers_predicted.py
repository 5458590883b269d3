"""Predicted durations against the simulator, which runs the real strategies, gates and dealer."""

from __future__ import annotations

from typing import Any

import pytest

from backend.stragglers.diagnosis import diagnose
from backend.stragglers.replay import Training, own_paces
from gradstream import sim
from gradstream.gate import Gate
from gradstream.sim.toys import Toy
from gradstream.sim.toys import job as toy_job
from tests.unit.backend.recorded_pushes import Recording, job, steady

STEPS, WORKERS = 100, 8
ASYNC, SYNC = {"name": "async", "lr": 0.001}, {"name": "sync", "lr": 0.001}


def simulated(
    strategy: dict[str, Any], gate: Any, deal: str = "shares", speeds: str = "straggler:7", workers: int = WORKERS
) -> float:
    spec = toy_job(strategy, workers=workers, steps=STEPS, gate=gate, data={"deal": deal})
    return float(sim.run(spec, Toy, costs=sim.Costs(speeds=speeds)).time)


def recording(slow: float = 7.0) -> Recording:
    own = {rank: {"compute": slow if rank == WORKERS - 1 else 1.0} for rank in range(WORKERS)}
    return Recording({rank: steady(lambda _, parts=parts: parts, STEPS, until=90.0) for rank, parts in own.items()}, 90.0, {})  # type: ignore[misc]


def predicted(gate: Any, deal: Any) -> float:
    measured = recording().measured(job(WORKERS))
    training = Training(Gate.model_validate(gate), deal, dict.fromkeys(range(WORKERS), STEPS))
    return training.seconds(own_paces(measured.workers, held=False)) or 0.0


@pytest.mark.parametrize(
    ("strategy", "gate", "deal"),
    [
        (ASYNC, "asp", "shares"),
        (ASYNC, "asp", "demand"),
        (ASYNC, {"ssp": 3}, "shares"),
        (ASYNC, {"ssp": 3}, "demand"),
        (SYNC, "bsp", "shares"),
    ],
)
def test_each_closed_form_is_what_the_simulator_measures(strategy: dict[str, Any], gate: Any, deal: str) -> None:
    """Dealing on demand ends with one mini-batch of the slowest at most."""
    measured = simulated(strategy, gate, deal)
    assert predicted(gate, deal) == pytest.approx(measured, rel=0.01, abs=7.0 if deal == "demand" else 0.0)


def test_leaving_a_straggler_out_under_shares_and_bsp() -> None:
    """The others train their shares as if it had never been there; the simulator has one worker less."""
    measured = recording().measured(job(WORKERS), shares=dict.fromkeys(range(WORKERS), STEPS), left=610.0)
    stop = next(remedy for remedy in diagnose(measured).remedies if remedy.setting is None)
    assert stop.seconds == pytest.approx(simulated(ASYNC, "asp", speeds="constant", workers=WORKERS - 1), rel=0.01)


def test_a_quorum_alone_does_not_end_a_job_earlier() -> None:
    """So it is not proposed: the straggler still trains its share, alone at the end."""
    assert simulated(SYNC, {"mode": "bsp", "quorum": WORKERS - 1}) == simulated(SYNC, "bsp") == 7 * STEPS
