"""Known answers: 40 events of Hermans' toy, round-robin, from (3, 4) with a rate of 0.01 in float64.

They were computed once by ten lines of numpy that share nothing with this code.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch

from gradstream import sim
from gradstream.sim.toys import Toy, job
from gradstream.strategies import STRATEGIES

GOLDEN = [
    ("async", {}, None, 1, 40, (1.223385561279, 2.777685157328)),
    ("async", {}, None, 4, 40, (1.211972234475, 2.788713212442)),
    ("downpour", {"n_push": 5, "n_fetch": 5}, None, 1, 40, (1.008793973303, 2.991206026697)),
    ("downpour", {"n_push": 5, "n_fetch": 5}, None, 4, 40, (3.634220258242, 5.633170008768)),
    ("adag", {"window": 5}, None, 1, 40, (1.237005466501, 2.776814893697)),
    ("adag", {"window": 5}, None, 4, 40, (1.219513530089, 2.780645292109)),
    ("async", {}, {"max_staleness": 2}, 1, 40, (1.223385561279, 2.777685157328)),
    ("async", {}, {"max_staleness": 2}, 4, 20, (1.338842033963, 2.676602895603)),
    ("sync", {}, None, 1, 40, (1.223385561279, 2.777685157328)),
    ("sync", {}, None, 4, 10, (1.614708450448, 2.797635643560)),
]


def run(name: str, settings: dict[str, Any], gate: dict[str, Any] | None, workers: int, shards: int) -> sim.Result:
    spec = job({"name": name, "lr": 0.01, **settings}, workers=workers, shards=shards, gate=gate)
    return sim.run(spec, Toy, events=40)


@pytest.mark.parametrize(("name", "settings", "gate", "workers", "version", "center"), GOLDEN)
def test_known_answers(
    name: str, settings: dict[str, Any], gate: dict[str, Any] | None, workers: int, version: int, center: tuple[float, float]
) -> None:
    one, two = (run(name, settings, gate, workers, shards) for shards in (1, 2))
    assert one.center.tolist() == pytest.approx(center, abs=1e-9, rel=0)
    assert (one.version, one.events) == (version, 40)
    assert torch.equal(one.center, two.center)
    assert one.decisions == two.decisions


def test_every_strategy_has_a_known_answer() -> None:
    assert {name for name, *_ in GOLDEN} == set(STRATEGIES)
