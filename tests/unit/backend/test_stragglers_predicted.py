"""Predicted durations against the simulator, which runs the real strategies, gates and dealer."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from backend.stragglers.diagnosis import Measured, diagnose
from backend.stragglers.replay import Training, own_paces
from gradstream import sim
from gradstream.api.stragglers import StragglerRemedy, Stragglers
from gradstream.gate import Gate
from gradstream.sim.times.speeds import Speeds
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


class Planted(Speeds):
    """The time of each mini-batch by its worker and number."""

    def __init__(self, factor: Callable[[int, int], float]) -> None:
        self._factor, self._made = factor, Counter[int]()

    def factor(self, rank: int, workers: int, own: random.Random) -> float:
        self._made[rank] += 1
        return self._factor(rank, self._made[rank] - 1)


def in_turns(at: float) -> int | None:
    """The worker that is slow at this time: two of eight, for 35 s each."""
    return 7 if at < 35 else 6 if at < 70 else None


def in_rounds(rank: int, at: float) -> dict[str, float]:
    slow = in_turns(at - 0.45)
    if slow is None:
        return {"compute": 1.0}
    return {"compute": 7.0} if slow == rank else {"compute": 1.0, "wait": 6.0}


def recorded_in_turns() -> Measured:
    """All wait for the slow one in each round under bsp: ten rounds of 7 s, then 90 of 1 s."""
    pushes = {rank: steady(lambda at, rank=rank: in_rounds(rank, at), 100, until=110.0) for rank in range(WORKERS)}  # type: ignore[misc]
    spec = job(WORKERS, strategy={"name": "sync", "lr": 0.1})
    return Recording(pushes, 110.0, {}).measured(spec, shares=dict.fromkeys(range(WORKERS), STEPS), left=50.0)


def simulated_in_turns(gate: Any, sixth: int) -> float:
    """`sixth`: the mini-batch that worker 6 is at when its slow time begins."""
    slow = {7: range(5), 6: range(sixth, sixth + 5)}
    speeds = Planted(lambda rank, number: 7.0 if number in slow.get(rank, ()) else 1.0)
    return float(sim.run(toy_job(SYNC, workers=WORKERS, steps=STEPS, gate=gate), Toy, costs=sim.Costs(speeds=speeds)).time)


def test_a_quorum_helps_where_workers_are_slow_in_turns() -> None:
    """Each of them then makes up for its slow time while the others do not wait. How long a first push took is not recorded."""
    found = diagnose(recorded_in_turns())
    assert found.seconds == simulated_in_turns("bsp", 5) == 160
    backup = next(remedy for remedy in found.remedies if remedy.setting == "gate: {mode: bsp, quorum: 7}")
    assert backup.seconds == pytest.approx(simulated_in_turns({"mode": "bsp", "quorum": 7}, 35), rel=0.05)
    assert backup.message.startswith("A round ends with the first 7 of 8 pushes, and the servers drop later ones.")


@pytest.mark.few(3)
@pytest.mark.parametrize("quorum", [8, 7, 6, 5])
@pytest.mark.parametrize("share", [100, 130])
def test_a_simulated_round_ends_with_its_quorum(quorum: int, share: int) -> None:
    """Workers of eight speeds. The slower ones train the rest of their shares when the others have ended."""
    costs = [1, 1.1, 1.2, 1.3, 1.4, 1.5, 3, 7]
    pushes = {rank: steady(lambda _, cost=cost: {"compute": cost}, 30) for rank, cost in enumerate(costs)}  # type: ignore[misc]
    paces = own_paces(Recording(pushes, 210.5, {}).measured(job(WORKERS)).workers, held=True)
    gate = {"mode": "bsp", "quorum": quorum} if quorum < WORKERS else "bsp"
    speeds = Planted(lambda rank, number: costs[rank])
    long = dict.fromkeys(range(WORKERS), STEPS) | {2: share}
    problems = {rank: toy_job(SYNC, workers=WORKERS, steps=steps, gate=gate) for rank, steps in long.items()}
    measured = sim.run(problems[0], lambda _, rank: Toy(problems[rank], rank), costs=sim.Costs(speeds=speeds)).time
    assert Training(Gate.model_validate(gate), "shares", long).seconds(paces) == pytest.approx(measured, rel=0.01)


BEGIN, END = 70.0, 280.0
"""Virtual times between which examples are counted: thirty mini-batches of a slow worker."""


def simulated_rate(strategy: dict[str, Any], gate: Any, workers: int = WORKERS) -> float:
    """Examples per hour that count, of a job without an end of which the last two workers are seven times slower."""
    spec = toy_job(strategy, workers=workers, gate=gate)

    def seen(until: float) -> int:
        slow = Planted(lambda rank, number: 7.0 if rank >= WORKERS - 2 else 1.0)
        return sim.run(spec, Toy, until=until, costs=sim.Costs(speeds=slow)).samples

    return (seen(END) - seen(BEGIN)) * 3600 / (END - BEGIN)


def endless(gate: Any, own: dict[str, float], others: dict[str, float], examples: float, **more: Any) -> Stragglers:
    """The recording of such a job. `examples`: per second, as measured."""
    pushes = {rank: steady(lambda _, rank=rank: own if rank >= WORKERS - 2 else others, 100, until=98.5) for rank in range(WORKERS)}  # type: ignore[misc]
    spec = job(WORKERS, strategy=SYNC if gate == "bsp" or "bsp" in str(gate) else ASYNC, gate=gate, stop={"never": True})
    return diagnose(Recording(pushes, 98.5, {}).measured(spec, examples=examples, **more))


def by_setting(found: Stragglers) -> dict[str | None, StragglerRemedy]:
    return {remedy.setting: remedy for remedy in found.remedies}


def test_a_job_without_an_end_is_predicted_in_examples_an_hour() -> None:
    rounds = simulated_rate(SYNC, "bsp")
    found = endless("bsp", {"compute": 7.0}, {"compute": 1.0, "wait": 6.0}, 8 * 32 / 7)
    assert (found.seconds, found.lost_at_end, found.ideal) == (None, None, None)
    assert found.examples_per_hour == pytest.approx(rounds, rel=0.01)
    assert found.even_per_hour == pytest.approx(7 * rounds, rel=0.01)
    assert found.cost == (
        "The job trains about 130,000 examples an hour; with workers equally fast it would train about 920,000. "
        "So far that has cost about 84 s of training."
    )
    remedies = by_setting(found)
    backups, asp, stop = remedies["gate: {mode: bsp, quorum: 6}"], remedies["strategy.name: async, gate: asp"], remedies[None]
    assert backups.examples_per_hour == pytest.approx(simulated_rate(SYNC, {"mode": "bsp", "quorum": 6}), rel=0.01)
    assert asp.examples_per_hour == pytest.approx(simulated_rate(ASYNC, "asp"), rel=0.01)
    assert stop.examples_per_hour == pytest.approx(simulated_rate(SYNC, "bsp", workers=6), rel=0.01)
    assert backups.gain == "Predicted: about 690,000 examples an hour instead of 130,000."
    assert stop.message == "Stop worker-6 and worker-7 on the Workers tab. Their parts of all data to come are left out."
    assert all(remedy.seconds is None for remedy in found.remedies)


def test_a_quorum_without_an_end_costs_little_if_its_workers_are_fast() -> None:
    gate = {"mode": "bsp", "quorum": 6}
    found = endless(gate, {"compute": 7.0}, {"compute": 1.0}, simulated_rate(SYNC, gate) / 3600)
    assert (found.examples_per_hour, found.even_per_hour) == (pytest.approx(690_000, rel=0.01), pytest.approx(690_000, rel=0.01))
    assert found.cost == "It costs the job little now: less than 2 % of its 690,000 examples an hour."
    asp = by_setting(found)
    assert list(asp) == [], "two slow workers would add a twentieth"


def test_ssp_without_an_end_goes_at_the_pace_of_the_slowest() -> None:
    found = endless({"ssp": 3}, {"compute": 7.0}, {"compute": 1.0, "wait": 6.0}, simulated_rate(ASYNC, {"ssp": 3}) / 3600)
    assert found.examples_per_hour == pytest.approx(simulated_rate(ASYNC, {"ssp": 3}), rel=0.01)
    assert by_setting(found)["gate: asp"].examples_per_hour == pytest.approx(simulated_rate(ASYNC, "asp"), rel=0.01)


def test_a_job_that_waits_for_its_data_is_not_predicted() -> None:
    """Its workers could train three times as much as comes."""
    stream = endless("bsp", {"compute": 7.0}, {"compute": 1.0, "wait": 6.0}, 8 * 32 / 7 / 3, follows=True)
    assert (stream.examples_per_hour, stream.remedies) == (None, [])
    why = "the workers also wait for examples that have not come yet, so faster ones might train no more."
    assert (stream.cost or "").endswith(f"The cost now is not predicted: {why}")
    behind = endless("bsp", {"compute": 7.0}, {"compute": 1.0, "wait": 6.0}, 8 * 32 / 7, follows=True)
    assert all((remedy.gain or "").endswith(", if so many arrive.") for remedy in behind.remedies)
