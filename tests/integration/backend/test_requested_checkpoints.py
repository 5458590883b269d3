"""Requests of checkpoints while one is being stored."""

from __future__ import annotations

import time
from threading import Event, Thread
from typing import Any
from uuid import UUID

from backend.jobs import repository as job_rows
from backend.platform import Platform
from backend.progress.checkpoint_watch import CheckpointWatch
from backend.progress.state import Folded
from backend.scheduler.last_checkpoints import ExitReport, take_last_checkpoints
from gradstream.center.entries import Checkpoint, Committed, Entry
from gradstream.process.order import plane_id
from gradstream.wire.redis import keys
from gradstream.wire.transport.messages import FIELD, Header
from tests.integration.backend.running import Running
from tests.support import eventually


def log(running: Running, platform: Platform) -> list[Entry]:
    found: Any = platform.plane.xrange(keys.log(plane_id(UUID(running.id), 1)))
    headers = [Header.unpack(fields[FIELD]) for _, fields in found]
    return [header.entry for header in headers if header and isinstance(header.entry, Checkpoint | Committed)]


def test_a_last_checkpoint_is_requested_once_the_one_under_way_is_committed(running: Running, platform: Platform) -> None:
    """Processes that still stored their parts left out the last one, so the job lost what it had trained since."""
    with platform.database.transaction() as session:
        attempt = job_rows.attempt(session, UUID(running.id), 1)
        assert attempt is not None
        attempt.checkpoint_requested = 1
    assert_last_follows_first(running, platform)


def test_a_last_checkpoint_follows_one_by_samples_for_which_others_are_skipped(running: Running, platform: Platform) -> None:
    """The shards have made it already, so a request of its number would change nothing, and its commit would count as the last."""
    with platform.database.transaction() as session:
        job = job_rows.get(session, UUID(running.id))
        assert job is not None
        stored = CheckpointWatch(awaited=1, since=time.time())
        job.progress = Folded(attempt=1, checkpoints=stored).model_dump(mode="json")
    assert_last_follows_first(running, platform)


def assert_last_follows_first(running: Running, platform: Platform) -> None:
    """End the platform while checkpoint 1 is being stored."""

    def requested() -> int:
        with platform.database.transaction() as session:
            attempt = job_rows.attempt(session, UUID(running.id), 1)
            assert attempt is not None
            return attempt.checkpoint_requested

    reports = list[ExitReport]()
    ending = Thread(target=lambda: reports.append(take_last_checkpoints(platform, 20.0, Event())), daemon=True)
    ending.start()
    eventually(lambda: requested() == 2, "the number of the last one")
    running.agent.commit_checkpoint(1)
    eventually(lambda: Checkpoint(2) in log(running, platform), "the request")
    running.agent.commit_checkpoint(2)
    ending.join(20)
    assert [job.outcome for job in reports[0].jobs or ()] == ["taken"]
    assert log(running, platform)[:2] == [Committed(1), Checkpoint(2)]
