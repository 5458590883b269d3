"""What the tests of the page share: where things lie, and jobs for it to show."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import yaml
from playwright.sync_api import Page

from gradstream.client import Client, Job
from gradstream.spec import JobSpec

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
WORKLOAD = HERE / "workload"
SCREENSHOTS = os.environ.get("GRADSTREAM_SCREENSHOTS")
"""A folder to keep a picture of every page looked at in; for people, no test reads them."""

OpenPage = Callable[..., Page]
"""The fixture `open_page`."""


def slow_spec(*, name: str = "slow-line", steps: int = 300, **args: float) -> JobSpec:
    given = yaml.safe_load((WORKLOAD / "job.yaml").read_text())
    given["workload"]["args"].update(args)
    return JobSpec.model_validate({**given, "name": name, "stop": {"steps": steps}})


def submit_slow(client: Client, *, name: str = "slow-line", steps: int = 300, **args: float) -> Job:
    return client.submit(slow_spec(name=name, steps=steps, **args), code=WORKLOAD)
