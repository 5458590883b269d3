"""Jobs for tests to submit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx

from gradstream import bundle


def spec(**changes: Any) -> dict[str, Any]:
    """A small job: two workers, one server."""
    small = {
        "name": "small",
        "workload": {"entrypoint": "work:Work"},
        "strategy": {"name": "adag", "window": 2},
        "stop": {"steps": 10},
        "roles": {"server": {"count": 1}, "worker": {"count": 2, "device": "cpu"}},
    }
    return {**small, **changes}


def workers(count: int, device: str = "cpu") -> dict[str, Any]:
    return {"server": {"count": 1}, "worker": {"count": count, "device": device}}


WORK = """from gradstream import Workload

class Work(Workload):
    hidden: int = 8
    def model(self): ...
    def dataset(self, split): ...
    def loss(self, model, batch): ...
"""


def upload(api: httpx.Client, folder: Path) -> str:
    """A bundle with the workload `work:Work`; its hash."""
    code = folder / "code"
    code.mkdir(exist_ok=True)
    (code / "work.py").write_text(WORK)
    answer = api.post("/bundles", content=bundle.pack(code).data, headers={"Content-Type": "application/gzip"})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["hash"])


def submit(api: httpx.Client, folder: Path, **changes: Any) -> dict[str, Any]:
    answer = api.post("/jobs", json={"spec": spec(**changes), "bundle": upload(api, folder)})
    assert answer.status_code == 201, answer.text
    job: dict[str, Any] = answer.json()
    return job
