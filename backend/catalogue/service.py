"""The catalogue that users select from: strategies, the job file's schema, examples."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from sqlalchemy.orm import Session

from backend.bundles import service as bundles
from backend.catalogue.schemas import Example, StrategyInfo
from backend.platform import Platform
from backend.users.service import Caller
from gradstream import bundle
from gradstream.spec import JobSpec
from gradstream.strategies import STRATEGIES

JOB_FILE = "job.yaml"


def strategies() -> list[StrategyInfo]:
    return [StrategyInfo.model_validate(strategy.about()) for strategy in STRATEGIES.values()]


@cache
def job_schema() -> dict[str, Any]:
    return JobSpec.model_json_schema()


def examples(session: Session, platform: Platform, caller: Caller) -> list[Example]:
    """The folders of the examples that have a job file."""
    folder = platform.settings.examples_dir
    found = sorted(folder.glob(f"*/{JOB_FILE}")) if folder else []
    return [_example(session, platform, caller, job_file) for job_file in found]


def _example(session: Session, platform: Platform, caller: Caller, job_file: Path) -> Example:
    stored = bundles.store_bytes(session, platform.files, caller, bundle.pack(job_file.parent))
    readme = job_file.with_name("README.md")
    title = readme.read_text().partition("\n")[0].lstrip("# ") if readme.is_file() else job_file.parent.name
    return Example(name=job_file.parent.name, title=title, yaml=job_file.read_text(), files=stored.files, bundle=stored.hash)
