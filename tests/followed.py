"""A job that follows data, for tests of its feeds."""

from __future__ import annotations

from typing import Any

from gradstream.spec import JobSpec


def spec(workers: int = 1, batch: int = 4, **more: Any) -> JobSpec:
    return JobSpec.model_validate(
        {
            "name": "f",
            "workload": {"entrypoint": "a:B"},
            "strategy": {"name": "sync"},
            "roles": {"worker": {"count": workers}},
            "batch_size": batch,
            "stop": {"steps": 1000},
            **more,
        }
    )
