"""Run jobs on a platform and compare what REST says of them with what their exported points say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx

from tests.headlines.recompute import differences
from tests.platforms import Lab


def run(lab: Lab, kind: dict[str, Any], folder: Path) -> list[str]:
    """Train one job, and return what is not true of its headline numbers."""
    args = {key: str(folder / kind["name"]) if value == "{folder}" else value for key, value in kind.get("args", {}).items()}
    job = lab.ended(lab.submit(**{**kind, "args": args}))
    wanted = "failed" if "failed" in kind["name"] else "succeeded"
    found = [] if job.status == wanted else [f"it is {job.status}: {job.message}"]
    with api(lab) as rest:
        shown, overview = (rest.get(f"/jobs/{job.id}{path}").raise_for_status().json() for path in ("", "/overview"))
        query = {"name": "train/staleness"}
        distribution = rest.get(f"/jobs/{job.id}/distribution", params=query).raise_for_status().json()
        text = rest.get(f"/jobs/{job.id}/metrics/export", params={"format": "csv"}).raise_for_status().text
    return found + differences(shown, overview, distribution, text)


def api(lab: Lab) -> httpx.Client:
    folder = lab.platform.folder
    known = json.loads(folder.client_file.read_text())
    return httpx.Client(base_url=f"{known['url']}/api/v1", headers={"Authorization": f"Bearer {known['token']}"}, timeout=60)
