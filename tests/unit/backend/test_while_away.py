"""A job goes on, or pauses, while one of its processes is away."""

from __future__ import annotations

import pytest

from backend.jobs.lifecycle import while_away
from gradstream.process.order import Role
from gradstream.sim.toys import job


@pytest.mark.parametrize(
    ("role", "workers", "expected"),
    [
        ("worker", 2, "the others continue"),
        ("worker", 1, "training pauses until then"),
        ("peers", 1, "training pauses until then"),
        ("evaluator", 1, "the others continue"),
    ],
)
def test_only_a_job_with_more_workers_goes_on_without_one(role: Role, workers: int, expected: str) -> None:
    assert while_away(role, job({"name": "async"}, workers=workers)) == expected
