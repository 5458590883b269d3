"""The events of a job that has run for long: thousands of cuts, and between them what matters."""

from __future__ import annotations

from uuid import UUID

import httpx

from backend.jobs import feed
from backend.jobs import service as jobs
from backend.platform import Platform

CUTS = 3000


def test_events_are_asked_for_by_kind_and_in_pages(api: httpx.Client, platform: Platform, job_id: UUID) -> None:
    with platform.database.transaction() as session:
        job = jobs.lock(session, job_id)
        for cut in range(1, CUTS + 1):
            data = {"attempt": 1, "cut": cut, "version": cut, "samples": 10 * cut}
            feed.record(session, job, "cut", f"Cut {cut} of attempt 1 is committed.", actor="server-0", data=data)
            if cut == CUTS // 2:
                feed.record(session, job, "warning", "something else", actor="controller")
    asked = f"/jobs/{job_id}/events"
    whole = api.get(asked).json()["items"]
    assert len(whole) == CUTS + 2
    others = api.get(asked, params={"kind": ["warning", "status"]}).json()["items"]
    assert [event["kind"] for event in others] == ["status", "warning"]
    found, pages = [], 0
    while page := api.get(asked, params={"limit": 1000, "after": found[-1]["seq"] if found else 0}).json()["items"]:
        found, pages = [*found, *page], pages + 1
    assert (found, pages) == (whole, 4)
    [first] = api.get(asked, params={"kind": "cut", "limit": 1}).json()["items"]
    assert first["data"]["cut"] == 1
    assert api.get(asked, params={"limit": 0}).status_code == 422
