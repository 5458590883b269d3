"""Samples of updates on their way into the store: each is stored or counted as lost."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import pytest

from gradstream.process.store import Store
from gradstream.updates.posted import UpdatesOutcome, write_samples
from gradstream.updates.sample import UpdateSample
from worker_node.senders.updates import UpdatesSender

SAMPLE = UpdateSample(
    step=1,
    push=1,
    base=0,
    version=1,
    samples=16,
    staleness=0,
    outcome="applied",
    time=0,
    gradient=None,
    pushes_gradient=True,
    update=(),
)


class Folder:
    """As `FolderStore` keeps samples, up to a limit."""

    def __init__(self, folder: Path, most: int = 100) -> None:
        self.folder, self.most, self.stored = folder, most, 0

    def put_updates(self, samples: Sequence[UpdateSample]) -> UpdatesOutcome:
        kept = samples[: self.most - self.stored]
        write_samples(self.folder, 0, kept)
        self.stored += len(kept)
        return UpdatesOutcome(dropped=len(samples) - len(kept), why="the job has as many as it may")


def send(folder: Folder, count: int, sender: UpdatesSender | None = None) -> UpdatesSender:
    sender = sender or UpdatesSender(cast(Store, folder))
    for _ in range(count):
        sender.add(SAMPLE)
    sender.close()
    return sender


def test_all_that_wait_at_the_end_are_stored(tmp_path: Path) -> None:
    assert send(Folder(tmp_path), 45).lost == 0
    assert len((tmp_path / "updates/worker-0.jsonl").read_text().splitlines()) == 45


def test_a_store_that_fails_unexpectedly_loses_none_uncounted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "updates").write_text("a file where the folder should be")
    assert send(Folder(tmp_path), 45).lost == 45
    assert "update samples are not stored" in caplog.text


def test_a_full_job_is_the_only_reason_that_the_log_gives(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    sender = send(Folder(tmp_path, most=10), 15)
    assert sender.lost == 5
    sender.add(SAMPLE)
    assert sender.lost == 6
    assert [record.getMessage() for record in caplog.records] == [
        "update samples are dropped: the job has as many as it may. Training goes on"
    ]
