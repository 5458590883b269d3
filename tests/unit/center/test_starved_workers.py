"""A worker whose pushes are always dropped is found, once; one that is only unlucky is not."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator

import pytest

from gradstream import sim
from gradstream.center.ledger import STARVED_ROUNDS, Decision, PushOutcome, StarvedWorker, starved_workers
from gradstream.cli.main import app
from gradstream.gate import Gate
from gradstream.sim.toys import Toy, job


def told(outcomes: Iterable[tuple[int, PushOutcome]]) -> Iterator[Decision]:
    for seq, (rank, outcome) in enumerate(outcomes):
        yield Decision(rank, 0, seq, outcome, 0, 1, 1, 0.0)


def rounds(count: int, dropped: Iterable[int] = (), workers: int = 3) -> list[tuple[int, PushOutcome]]:
    late = set(dropped)
    return [(rank, "dropped" if rank in late else "applied") for _ in range(count) for rank in range(workers)]


def test_who_is_always_dropped_is_found_once() -> None:
    assert starved_workers(told(rounds(200, dropped=[1])), 3) == [StarvedWorker(1, STARVED_ROUNDS * 3 // 2 + 1)]


def test_a_slow_worker_is_found_by_what_the_others_had_meanwhile() -> None:
    once: list[tuple[int, PushOutcome]] = [*rounds(15, workers=2), (2, "dropped")]
    assert starved_workers(told(once * 2), 3) == []
    assert starved_workers(told(once * 3), 3) == [StarvedWorker(2, 3)]


def test_one_push_that_counts_now_and_then_is_enough() -> None:
    for _ in range(3):
        assert starved_workers(told([*rounds(15, dropped=[2]), *rounds(1)] * 20), 3) == []


def test_who_stops_contributing_later_is_found_too() -> None:
    assert [found.rank for found in starved_workers(told([*rounds(100), *rounds(100, dropped=[0])]), 3)] == [0]


def test_who_comes_late_is_judged_from_then_on() -> None:
    joined = [*rounds(1000, workers=2), (2, "dropped"), (2, "dropped"), (2, "dropped"), (2, "applied")]
    assert starved_workers(told(joined), 3) == []  # type: ignore[arg-type]


def test_when_nobody_counts_nobody_is_blamed() -> None:
    assert starved_workers(told(rounds(1000, dropped=range(3))), 3) == []


def test_chance_alone_raises_no_alarm() -> None:
    """The first tenth of 100 workers in a random order counts, for 5,000 rounds."""
    draw = random.Random(1)

    def outcomes() -> Iterator[tuple[int, PushOutcome]]:
        for _ in range(5000):
            for place, rank in enumerate(draw.sample(range(100), 100)):
                yield rank, "applied" if place < 10 else "dropped"

    assert starved_workers(told(outcomes()), 100) == []


@pytest.mark.parametrize("gate", [{"mode": "bsp", "quorum": 3}, {"mode": "asp", "max_staleness": 6}], ids=["quorum", "staleness"])
def test_a_straggler_is_found_behind_either_gate(gate: dict[str, object]) -> None:
    strategy = "sync" if gate["mode"] == "bsp" else "async"
    spec = job({"name": strategy, "lr": 0.001}, workers=4, gate=gate)
    for speed, expected in ((1.0, []), (0.05, [3])):
        run = sim.run(spec, Toy, events=400, schedule="random", speeds=[1, 1, 1, speed])
        assert [found.rank for found in starved_workers(run.decisions, 4)] == expected


def test_the_simulator_tells_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    """Of equal workers in turn, the last one is always beyond the quorum."""
    command = ["sim", "--strategy", "sync", "--gate", "{mode: bsp, quorum: 3}", "--workers", "4", "--events", "120"]
    with pytest.raises(SystemExit):
        app([*command, "--json"])
    [alert] = json.loads(capsys.readouterr().out)["alerts"]
    assert "Worker 3 does not contribute" in alert
    with pytest.raises(SystemExit):
        app(command)
    assert alert in capsys.readouterr().out


def test_the_sentence_says_who_why_and_what_to_do() -> None:
    words = StarvedWorker(2, 17).sentence(Gate(mode="bsp", quorum=3))
    assert "Worker 2" in words
    assert "17 pushes" in words
    assert "raise gate.quorum" in words
    assert "raise gate.max_staleness" in StarvedWorker(2, 17).sentence(Gate(max_staleness=4))
    assert "not finite" in StarvedWorker(2, 17).sentence(Gate())
