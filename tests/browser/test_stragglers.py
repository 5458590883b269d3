"""A slow worker on the page: who it is, why, what it costs, and what would help."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from gradstream.client import Client
from gradstream.spec import JobSpec
from tests.browser.support import OpenPage, check_looks
from tests.platforms import USERLAND


@pytest.mark.more
def test_a_slow_worker_is_named_with_its_cost_and_a_remedy(open_page: OpenPage, client: Client, tmp_path: Path) -> None:
    fields = {
        "name": "straggling",
        "workload": {"entrypoint": "steady:Steady", "args": {"straggler": str(tmp_path / "slow"), "lag": 0.6, "pause": 0.1}},
        "strategy": {"name": "async", "lr": 0.01},
        "batch_size": 8,
        "roles": {"worker": {"count": 3, "device": "cpu"}, "server": {"count": 1}},
        "stop": {"epochs": 200},
    }
    job = client.submit(JobSpec.model_validate(fields), code=USERLAND)
    page = open_page(f"/jobs/{job.id}", width=390, scheme="dark")
    panel = page.get_by_role("region", name="Stragglers")
    expect(panel).to_contain_text(
        re.compile(r"worker-\d is \d(\.\d)? times slower than the other workers, from its start"), timeout=90_000
    )
    expect(panel.get_by_role("list", name="Slow workers")).to_contain_text("Computing takes")
    expect(panel).to_contain_text("So far it has cost nothing, as the others still train.")
    remedies = panel.get_by_role("list", name="Changes that would help").get_by_role("listitem")
    expect(remedies.filter(has_text="data.deal: demand")).to_contain_text(re.compile(r"Predicted: about .* in all instead of "))
    expect(remedies.filter(has_text=re.compile(r"gradstream stop JOB --process worker-\d"))).to_contain_text("is left out")
    check_looks(page, "stragglers")
    alert = page.get_by_role("alert").filter(has_text="times slower")
    expect(alert).to_contain_text("on the Workers tab")
    client.stop(job.id)
    expect(alert).to_contain_text(re.compile(r"worker-\d was .* In the next run, run it on a faster machine"))
    expect(alert).not_to_contain_text("Workers tab")
    expect(panel).to_contain_text("The cost of a whole training is not predicted: the job ended before all was trained.")
