"""A folder that grows: which files are complete, in which order, and the mini-batches of each worker."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gradstream import data
from gradstream.data import followed
from gradstream.errors import InvalidWorkload
from gradstream.input.data import Batches
from gradstream.input.followed.folder import Followed
from tests.followed import spec


def put(folder: Path, name: str, first: int, rows: int, made: float | None = None) -> None:
    """Write a file and its marker, `made` seconds before now (default: long ago, in the order of the numbers)."""
    file = folder / f"{name}.parquet"
    pq.write_table(pa.table({"user": np.arange(first, first + rows)}), file, row_group_size=7)
    mark(file, made if made is not None else 10_000 - int(name))


def mark(file: Path, before: float) -> None:
    marker = file.with_name(f"{file.name}.done")
    marker.touch()
    at = time.time() - before
    os.utime(marker, (at, at))


def opened(folder: Path) -> followed.FollowedFolder:
    return data.parquet_folder(folder, ids=["user"])


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(followed, "_EVERY", 0.0)


def feed(folder: Path, rank: int = 0, workers: int = 1, batch: int = 4) -> Followed:
    found = Batches(opened(folder), spec(workers, batch), rank).followed
    assert found
    return found


def users(of: Followed, first: int = 0) -> list[list[int]]:
    """The mini-batches that are there, from this position on."""
    found = []
    while of.has(first):
        batch, examples = of.take(first)
        assert examples == len(batch["user"])
        found.append(batch["user"].tolist())
        first += 1
    return found


def test_no_mini_batch_spans_two_files_and_files_come_as_they_are_complete(tmp_path: Path) -> None:
    one = feed(tmp_path)
    assert not one.has(0)
    put(tmp_path, "1", 0, 10)
    assert users(one) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    pq.write_table(pa.table({"user": [99]}), tmp_path / "2.parquet")
    assert not one.has(3), "it has no marker yet"
    put(tmp_path, "2", 10, 5)
    assert users(one, 3) == [[10, 11, 12, 13], [14]]
    assert one.behind(0) == 15
    assert [one.behind(position) for position in (1, 2, 3, 4, 5)] == [11, 7, 5, 1, 0]


def file_of(user: int) -> int:
    return (user >= 26) + (user >= 27)


@pytest.mark.parametrize("workers", [1, 2, 3, 5])
def test_workers_share_each_file_and_every_example_is_trained_once(tmp_path: Path, workers: int) -> None:
    put(tmp_path, "1", 0, 26)
    put(tmp_path, "2", 26, 1)  # not for every worker
    put(tmp_path, "3", 27, 0)
    put(tmp_path, "4", 27, 40)
    ranks = [feed(tmp_path, rank, workers) for rank in range(workers)]
    found = [users(one) for one in ranks]
    assert sorted(user for batches in found for batch in batches for user in batch) == list(range(67))
    assert all(len(batch) <= 4 for batches in found for batch in batches)
    assert all(file_of(batch[0]) == file_of(batch[-1]) for batches in found for batch in batches)
    for one, batches in zip(ranks, found, strict=True):
        assert one.behind(0) == sum(map(len, batches))
        for position in reversed(range(len(batches))):
            assert one.take(position)[0]["user"].tolist() == batches[position], "wherever a worker resumes"


def test_a_late_file_is_refused_by_all_whenever_they_look(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    put(tmp_path, "1", 0, 4)
    put(tmp_path, "3", 8, 4)
    early = feed(tmp_path)
    assert users(early) == [[0, 1, 2, 3], [8, 9, 10, 11]]
    put(tmp_path, "2", 4, 4, made=5000)
    put(tmp_path, "4", 12, 4, made=4000)
    for one in (early, feed(tmp_path)):
        assert users(one) == [[0, 1, 2, 3], [8, 9, 10, 11], [12, 13, 14, 15]]
        assert one.late == ["2.parquet"]
    assert f"{tmp_path}/2.parquet came late and is not read" in caplog.text


def test_a_young_marker_is_looked_at_twice(tmp_path: Path) -> None:
    """Another one that was made just before it may not be seen yet."""
    one = feed(tmp_path)
    put(tmp_path, "2", 4, 4, made=0)
    assert not one.has(0)
    put(tmp_path, "1", 0, 4, made=0.5)
    assert not one.has(0), "the first file has been seen once"
    assert users(one) == [[0, 1, 2, 3], [4, 5, 6, 7]]


def test_a_file_that_was_read_stays(tmp_path: Path) -> None:
    put(tmp_path, "1", 0, 4)
    put(tmp_path, "2", 4, 4)
    one = feed(tmp_path)
    assert one.has(1)
    mark(tmp_path / "1.parquet", 0)
    with pytest.raises(InvalidWorkload, match=r"1.parquet was read, and now it is gone or its marker is newer"):
        one.has(2)


@pytest.mark.parametrize(
    ("rows", "now"), [(5, "group of rows number 0 had 7 rows, and now it has 5"), (8, "number 1 had 3 .* has 1")]
)
def test_a_file_that_was_written_anew_is_refused(rows: int, now: str, tmp_path: Path) -> None:
    """Its stretches are those of the file that was there before, and so are the positions of all workers."""
    put(tmp_path, "1", 0, 10)
    of = feed(tmp_path)
    assert of.has(2)
    put(tmp_path, "1", 0, rows)
    with pytest.raises(InvalidWorkload, match=f"1.parquet was written anew while it was read: .*{now}"):
        users(of)


def test_elsewhere_it_is_a_stream_of_what_is_there(tmp_path: Path) -> None:
    put(tmp_path, "1", 0, 10)
    put(tmp_path, "2", 10, 5)
    assert [int(example["user"]) for example in opened(tmp_path)] == list(range(15))


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    with pytest.raises(InvalidWorkload, match=r"there is no folder .*; it must be there.* An isolated job has a /tmp of its own"):
        opened(tmp_path / "none")
    with pytest.raises(InvalidWorkload, match="has no mini-batch number 0 for worker 0 yet, and only a job waits for it"):
        feed(tmp_path).take(0)
    with pytest.raises(InvalidWorkload, match=r"remove data.prefetch and data.processes"):
        Batches(opened(tmp_path), spec(data={"prefetch": 2}), 0)
    with pytest.raises(InvalidWorkload, match=r"stop.epochs counts passes over data whose length is not known"):
        Batches(opened(tmp_path), spec(stop={"epochs": 1}), 0)
    pq.write_table(pa.table({"usr": [1]}), tmp_path / "1.parquet")
    mark(tmp_path / "1.parquet", 100)
    with pytest.raises(InvalidWorkload, match="has no column 'user'; did you mean 'usr'"):
        feed(tmp_path).has(0)
