"""The tab of a job that learns in passes."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from gradstream.client import Client, Job
from gradstream.metrics import Point
from gradstream.spec import JobSpec
from tests.browser.support import OpenPage, check_looks, every_look

USERLAND = Path(__file__).parents[1] / "userland"
PASSES = 8


@pytest.fixture(scope="module")
def job(client: Client) -> Job:
    """A job that has learned in passes, which are its epochs, with an export at their ends."""
    given = {
        "name": "online",
        "workload": {"entrypoint": "planted_clicks:Clicks", "args": {"observes": True, "examples": 500}},
        "strategy": {"name": "sync", "lr": 0.1},
        "roles": {"worker": {"count": 2, "device": "cpu"}},
        "batch_size": 50,
        "export": {"every": "1 passes"},
        "stop": {"epochs": PASSES},
    }
    job = client.submit(JobSpec.model_validate(given), code=USERLAND)
    ended = client.wait(job.id, timeout=240)
    assert ended.status == "succeeded"
    return ended


@pytest.mark.more
@every_look
def test_each_closed_pass_has_its_figures_and_its_exports(
    width: int, scheme: str, look_at: OpenPage, client: Client, job: Job
) -> None:
    page = look_at(f"/jobs/{job.id}/online", width=width, scheme=scheme)
    expect(page.get_by_role("tab", name="Online")).to_have_attribute("aria-selected", "true")
    rows = page.get_by_role("region", name="Closed passes").get_by_role("row")
    expect(rows).to_have_count(1 + PASSES)
    points = [Point(*row) for batch in client.metrics(job.id, names=["pass/log_loss"]) for row in batch.points]
    assert [point.step for point in points] == list(range(PASSES))
    for place, point in enumerate(reversed(points)):
        expect(rows.nth(1 + place).get_by_role("cell").first).to_have_text(str(point.step))
        expect(rows.nth(1 + place).get_by_role("cell").nth(2)).to_have_text(f"{point.value:.4f}")
    exports = [each for each in client.exports(job) if each.state == "committed"]
    assert exports
    for each in exports:
        assert each.passes
        expect(rows.nth(1 + PASSES - each.passes)).to_contain_text(f"{each.number}, {'a base' if each.base else 'a delta'}")
    for title in ("Pass: AUC", "Pass: calibration"):
        expect(page.get_by_role("heading", name=title, exact=True)).to_be_visible()
    check_looks(page, f"online-{width}-{scheme}")
