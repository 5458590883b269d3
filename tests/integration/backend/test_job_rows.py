"""What lists and their stream carry: rows, not whole jobs."""

from __future__ import annotations

from pathlib import Path

import httpx

from backend.platform import Platform
from benchmarks import rows
from gradstream.api.jobs import JobSummary
from gradstream.api.progress import Headway
from tests.integration.backend.jobs import submit

WANTED = 900
"""Bytes of a row, before it is compressed."""


def test_a_row_says_of_its_job_what_the_job_says(api: httpx.Client, platform: Platform, tmp_path: Path) -> None:
    submit(api, tmp_path)
    with platform.database.transaction() as session:
        rows.insert_jobs(session, 8)
    for row in api.get("/jobs").json()["items"]:
        job = api.get(f"/jobs/{row['id']}").json()
        curve, whole = row["progress"].pop("loss_curve"), job["progress"].pop("loss_curve")
        assert row.pop("progress") == {name: job["progress"][name] for name in Headway.model_fields if name != "loss_curve"}
        assert row == {name: job[name] for name in JobSummary.model_fields if name != "progress"}
        assert len(curve) == len(whole)
        height = max(whole, default=0) - min(whole, default=0)
        assert all(abs(one - other) <= 0.005 * height for one, other in zip(curve, whole, strict=True))


def test_a_row_is_small_and_has_no_job_file(api: httpx.Client, platform: Platform) -> None:
    with platform.database.transaction() as session:
        rows.insert_jobs(session, 100)
    answer = api.get("/jobs", params={"limit": 100})
    assert len(answer.json()["items"]) == 100
    assert "spec" not in answer.json()["items"][0]
    assert len(answer.content) < 100 * WANTED
