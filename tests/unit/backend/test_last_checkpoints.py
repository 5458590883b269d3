"""The sentences about last checkpoints. That they are taken is tested on a real platform, in integration/local/test_platform.py."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from backend.scheduler.last_checkpoints import CheckpointRequest, describe_taken

NOW = datetime(2026, 3, 1, tzinfo=UTC)
REQUEST = CheckpointRequest(UUID(int=1), "circle", attempt=2, number=4)


@pytest.mark.parametrize(
    ("count", "sentence"),
    [(0, ""), (1, "Took a last checkpoint of 1 job."), (2, "Took a last checkpoint of 2 jobs.")],
)
def test_the_jobs_that_took_one_are_counted(count: int, sentence: str) -> None:
    assert describe_taken(count) == sentence


def test_a_job_that_took_none_is_named_with_what_follows() -> None:
    assert REQUEST.describe_miss(10.0, NOW) == "circle took no checkpoint within 10 s; it begins again from the start."
    kept = CheckpointRequest(UUID(int=1), "circle", attempt=2, number=4, kept=3, kept_at=NOW - timedelta(seconds=12.2))
    expected = "circle took no checkpoint within 10 s; it resumes from checkpoint 3, 12 s earlier."
    assert kept.describe_miss(10.0, NOW) == expected
