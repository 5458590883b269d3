"""The shortest job file says what kind each part is, and has no empty part."""

from __future__ import annotations

from typing import Any

import pytest

from backend.overview.shortest import shortest
from gradstream.spec import JobSpec


@pytest.mark.parametrize(
    ("gate", "short"),
    [
        ("asp", {"mode": "asp"}),
        ({"ssp": 5}, {"mode": "ssp", "bound": 5}),
        ({"mode": "bsp", "quorum": 1}, {"mode": "bsp", "quorum": 1}),
    ],
)
def test_a_gate_has_its_mode_and_a_target_its_metric(gate: Any, short: dict[str, Any]) -> None:
    job = {
        "name": "j",
        "workload": {"entrypoint": "a:B"},
        "strategy": {"name": "adag"},
        "gate": gate,
        "stop": {"epochs": 1, "target": {"metric": "eval/accuracy", "at_least": 0.9}},
    }
    found = shortest(JobSpec.model_validate(job))
    assert found == {**job, "gate": short}
    assert JobSpec.model_validate(found) == JobSpec.model_validate(job)
