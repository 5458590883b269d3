"""Values that a workload logs, on the tab of metrics and in Compare."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from gradstream.client import Client, Job
from gradstream.spec import JobSpec
from tests.browser.support import OpenPage, check_looks, every_look

USERLAND = Path(__file__).parents[1] / "userland"


@pytest.fixture(scope="module")
def job(client: Client) -> Job:
    given = {
        "name": "logs",
        "workload": {"entrypoint": "logs_values:Logs"},
        "strategy": {"name": "sync", "lr": 0.01},
        "roles": {"worker": {"count": 3, "device": "cpu"}, "server": {"count": 1}},
        "batch_size": 8,
        "stop": {"epochs": 40},
    }
    started = client.submit(JobSpec.model_validate(given), code=USERLAND)
    ended = client.wait(started.id, timeout=240)
    assert ended.status == "succeeded", ended.message
    return ended


@pytest.mark.few(1)
@every_look
def test_logged_values_have_a_group_of_charts_below_those_of_training(width: int, scheme: str, look_at: OpenPage, job: Job) -> None:
    page = look_at(f"/jobs/{job.id}/metrics?q=user", width=width, scheme=scheme)
    group = page.get_by_role("region", name="Logged values")
    expect(group.get_by_role("img", name="eval/hooks/loss: evaluator, ")).to_be_visible()
    group.get_by_text("examples", exact=True).first.scroll_into_view_if_needed()
    expect(group.get_by_role("img", name=re.compile("^examples: mean of 3 workers, "))).to_be_visible()
    check_looks(page, f"logged-values-{width}-{scheme}", full_page=False)


@pytest.mark.more
def test_a_logged_value_is_compared_as_any_metric(open_page: OpenPage, job: Job) -> None:
    page = open_page(f"/compare?jobs={job.id}&metric=user/loss")
    expect(page.get_by_role("img", name=re.compile(f"^loss: {job.name}, "))).to_be_visible()
