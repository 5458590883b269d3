from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from backend.platform import PlatformDep
from backend.storage import collecting, service
from gradstream.api.platform import Collection, PlatformStorage

router = APIRouter(prefix="/storage", tags=["storage"])

ANSWER_WITHIN = 10.0
"""Seconds that one request collects."""

DryRun = Annotated[bool, Query(description="Remove nothing; list what a collection would remove")]


@router.get("", operation_id="getStorage")
def storage(platform: PlatformDep) -> PlatformStorage:
    """How much the platform keeps of each kind, which jobs have most of it, and what is free on the disk."""
    return service.show(platform)


@router.post("/collect", operation_id="collectStorage")
def collect(platform: PlatformDep, dry_run: DryRun = False) -> Collection:
    """Remove unused data: bundles that no job names and that were not used for a week, or that take too much; uploads that were
    never completed, files of deleted jobs, stray files. The controller does so every hour. It ends after 10 s, and says whether
    that was all."""
    return collecting.collect(platform, dry_run=dry_run, within=ANSWER_WITHIN)
