"""Panels that are opened while Postgres does not answer, and afterwards."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from gradstream.client import Client
from gradstream.local.platform import LocalPlatform
from tests.browser.support import OpenPage, submit_slow
from tests.platforms import Lab

TIMEOUT_MS = 120_000
SAID = re.compile("No answer for 10 s|waits for the database|cannot be reached")

pytestmark = pytest.mark.timeout(600)


@pytest.mark.more
def test_panels_without_the_database_say_so_and_come_back(open_page: OpenPage, client: Client, platform: LocalPlatform) -> None:
    """Without a click, the importance of settings, the code and the files of a job are there once the database answers."""
    lab = Lab(platform, client)
    jobs = [submit_slow(client, name=f"no-database-{number}", steps=20, pause=0.01) for number in range(2)]
    for job in jobs:
        client.wait(job.id, timeout=TIMEOUT_MS / 1000)
    first = open_page("/settings", watched=False, timeout_ms=TIMEOUT_MS)
    expect(first.get_by_role("heading").first).to_be_visible(timeout=TIMEOUT_MS)
    compare = f"/compare?jobs={jobs[0].id},{jobs[1].id}&panels=importance"
    paths = {compare: "Importance of settings", f"/jobs/{jobs[0].id}/code": "slow.py", f"/jobs/{jobs[0].id}/files": "Checkpoints"}
    with lab.frozen(lab.program("postgres"), 0):
        pages = {path: open_page(path, watched=False, beside=first, timeout_ms=TIMEOUT_MS) for path in paths}
        for path, page in pages.items():
            expect(page.get_by_text(SAID).first, path).to_be_visible(timeout=TIMEOUT_MS)
    for path, page in pages.items():
        _expect_whole(page, paths[path])


def _expect_whole(page: Page, text: str) -> None:
    expect(page.get_by_text(text).first).to_be_visible(timeout=TIMEOUT_MS)
    expect(page.get_by_text(SAID)).to_have_count(0, timeout=TIMEOUT_MS)
    expect(page.get_by_label("Loading")).to_have_count(0, timeout=TIMEOUT_MS)
