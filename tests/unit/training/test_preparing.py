"""While a worker waits for the center, its next mini-batch is fetched."""

from __future__ import annotations

from typing import Any

import pytest

from gradstream import sim
from gradstream.sim.toys import Toy
from gradstream.spec import JobSpec

STEPS = 6


@pytest.mark.parametrize(
    ("strategy", "begins"),
    [({"name": "async"}, [1, 2, 3, 4, 5]), ({"name": "sync"}, [1, 2, 3, 4, 5]), ({"name": "adag", "window": 3}, [3])],
    ids=["async", "sync", "adag"],
)
def test_each_round_finds_its_first_mini_batch_prepared(strategy: dict[str, Any], begins: list[int]) -> None:
    prepared: dict[int, list[int]] = {0: [], 1: []}

    class Preparing(Toy):
        def __init__(self, spec: JobSpec, rank: int) -> None:
            super().__init__(spec, rank)
            self.rank = rank

        def prepare(self, position: int) -> None:
            prepared[self.rank].append(position)

    spec = JobSpec.model_validate(
        {
            "name": "p",
            "workload": {"entrypoint": "a:B"},
            "strategy": strategy | {"lr": 0.01},
            "stop": {"steps": STEPS},
            "roles": {"worker": {"count": 2}},
        }
    )
    sim.run(spec, Preparing)
    assert [sorted(set(positions)) for positions in prepared.values()] == [begins, begins]
