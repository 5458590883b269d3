"""Exports of a job on the platform: a reader follows them while servers die, and never sees half of one."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
import torch

from gradstream.api.jobs import Job
from gradstream.serving import Tables
from tests.faults.test_tables import downloaded, submit
from tests.platforms import Lab, slow_until
from tests.support import TIMEOUT, eventually

EXPORTED: dict[str, Any] = {
    "stop": {"epochs": 20},
    "export": {"every": "1s"},
    "tables": {"deep": {"keep": {"unseen": 1}, "shrink": "0.5 epochs"}, "wide": {"rule": {"name": "ftrl", "l1": 1.0}}},
}


class Reader:
    """Keeps a folder in step, and reads it. An export that is not whole raises here."""

    def __init__(self, lab: Lab, job: Job, folder: Path) -> None:
        self.lab, self.job, self.folder = lab, job, folder
        self.tables: Tables | None = None
        self.seen: dict[int, tuple[int, int | None]] = {}
        """Attempt and predecessor of each export that was read."""

    def follow(self) -> None:
        if not any(each.state == "committed" for each in self.lab.client.exports(self.job)):
            return
        self.lab.client.download_exports(self.job, into=self.folder)
        self.tables = self.tables or Tables(self.folder)
        self.tables.follow()
        manifest = self.tables.current.manifest
        self.seen[manifest.number] = manifest.attempt, manifest.after

    def follow_until(self, attempt: int, count: int) -> None:
        def has_seen() -> bool:
            self.follow()
            return sum(of == attempt for of, _ in self.seen.values()) >= count

        try:
            eventually(has_seen, f"{count} exports of attempt {attempt}", TIMEOUT)
        except AssertionError as error:
            story = [str(each.as_dict()) for each in self.lab.client.exports(self.job)] + [str(self.seen)]
            raise AssertionError("\n".join([str(error), self.lab.messages(self.job), *story])) from error


@pytest.mark.more
def test_a_reader_follows_while_a_server_dies(lab: Lab, tmp_path: Path) -> None:
    go = tmp_path / "go"
    job = submit(lab, "exported", slow_until(go, 0.2), **EXPORTED)
    reader = Reader(lab, job, tmp_path / "followed")
    reader.follow_until(attempt=1, count=3)
    lab.client.export(job, wait=False)
    lab.kill("server-1")
    reader.follow_until(attempt=2, count=2)
    go.touch()
    job = lab.ended(job)
    assert (job.status, job.attempt) == ("succeeded", 2), lab.messages(job)
    reader.follow()
    assert_last_is_the_model(lab, job, reader, tmp_path)
    bases = {attempt: after for _, (attempt, after) in sorted(reader.seen.items(), reverse=True)}
    assert set(bases) == {1, 2}
    deltas = [number for number, (_, after) in reader.seen.items() if after is not None]
    assert deltas
    states = {each.state for each in lab.client.exports(job)}
    assert states <= {"committed", "abandoned"}
    assert not list((tmp_path / "followed").glob("*.part"))


def assert_last_is_the_model(lab: Lab, job: Job, reader: Reader, folder: Path) -> None:
    assert reader.tables is not None
    files, current = downloaded(lab, job, folder), reader.tables.current
    for name, values in files["model.safetensors"].items():
        assert torch.equal(current.state_dict()[name], values), name
    for table in ("deep", "wide"):
        rows = {k: files[f"tables-{k}.safetensors"] for k in range(2)}
        keys = torch.cat([rows[k][f"{table}/keys"] for k in range(2)])
        assert torch.equal(keys.sort().values, current.keys(table))
        assert torch.equal(current.look_up(table, keys), torch.cat([rows[k][f"{table}/values"] for k in range(2)]))


@pytest.mark.more
def test_an_export_is_asked_for_and_awaited(lab: Lab, tmp_path: Path) -> None:
    go = tmp_path / "go"
    job = submit(lab, "asked", slow_until(go))
    lab.trains(job)
    first = lab.client.export(job)
    second = lab.client.export(job)
    third = lab.client.export(job, base=True)
    assert [each.after for each in (first, second, third)] == [None, first.number, None]
    assert [each.base for each in (first, second, third)] == [True, False, True]
    began = time.monotonic()
    lab.client.stop(job)
    assert lab.ended(job).status == "cancelled"
    assert time.monotonic() - began < TIMEOUT
    assert len(lab.client.exports(job)) == 3, "without `export` in the job file there is none at the end"
