"""The events of a job that has run for long: thousands of checkpoints, and between them what matters."""

from __future__ import annotations

from uuid import UUID

import httpx

from backend.jobs import feed
from backend.jobs import service as jobs
from backend.platform import Platform
from gradstream.events import EventKind

CHECKPOINTS = 3000


def test_events_are_asked_for_by_kind_and_in_pages(api: httpx.Client, platform: Platform, job_id: UUID) -> None:
    with platform.database.transaction() as session:
        job = jobs.lock(session, job_id)
        for checkpoint in range(1, CHECKPOINTS + 1):
            data = {"attempt": 1, "checkpoint": checkpoint, "version": checkpoint, "samples": 10 * checkpoint}
            feed.record(
                session,
                job,
                EventKind.CHECKPOINT,
                f"Checkpoint {checkpoint} of attempt 1 is committed.",
                actor="server-0",
                data=data,
            )
            if checkpoint == CHECKPOINTS // 2:
                feed.record(session, job, EventKind.WARNING, "something else", actor="controller")
    asked = f"/jobs/{job_id}/events"
    whole = api.get(asked).json()["items"]
    assert len(whole) == CHECKPOINTS + 2
    others = api.get(asked, params={"kind": ["warning", "status"]}).json()["items"]
    assert [event["kind"] for event in others] == ["status", "warning"]
    found, pages = [], 0
    while page := api.get(asked, params={"limit": 1000, "after": found[-1]["seq"] if found else 0}).json()["items"]:
        found, pages = [*found, *page], pages + 1
    assert (found, pages) == (whole, 4)
    [first] = api.get(asked, params={"kind": "checkpoint", "limit": 1}).json()["items"]
    assert first["data"]["checkpoint"] == 1
    for refused in ({"limit": 0}, {"kind": "nonsense"}):
        assert api.get(asked, params=refused).status_code == 422
