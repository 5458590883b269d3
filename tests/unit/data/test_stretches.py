"""Passes over a folder that grows: by examples and by event time. No mini-batch spans two, and all workers see the same ones."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gradstream import data
from gradstream.data import followed
from gradstream.errors import InvalidWorkload
from gradstream.input.data import Batches
from gradstream.input.followed.folder import Followed
from gradstream.input.followed.stretches import Passes, Stretch
from gradstream.spec.input import Data
from tests.followed import spec
from tests.unit.data.test_followed import mark, put, users

FILES = [26, 1, 0, 40, 7]


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(followed, "_EVERY", 0.0)


def feed(folder: Path, length: int | str, rank: int = 0, workers: int = 1, **more: Any) -> Followed:
    found = Batches(data.parquet_folder(folder, ids=["user"], **more), spec(workers, data={"length": length}), rank).followed
    assert found
    return found


def put_times(folder: Path, name: str, first: int, times: pa.Array) -> None:
    file = folder / f"{name}.parquet"
    pq.write_table(pa.table({"user": np.arange(first, first + len(times)), "at": times}), file, row_group_size=3)
    mark(file, 10_000 - int(name))


def by_pass(of: Followed) -> dict[int, list[int]]:
    found = defaultdict[int, list[int]](list)
    for position, batch in enumerate(users(of)):
        found[of.pass_of(position)] += batch
    return found


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("length", [5, 13, 26, 100])
def test_passes_of_so_many_examples(tmp_path: Path, workers: int, length: int) -> None:
    for name, rows in enumerate(FILES):
        put(tmp_path, str(name), sum(FILES[:name]), rows)
    ranks = [feed(tmp_path, length, rank, workers) for rank in range(workers)]
    found = [by_pass(one) for one in ranks]
    for number in range(-(-sum(FILES) // length)):
        mine = sorted(user for passes in found for user in passes[number])
        assert mine == list(range(number * length, min((number + 1) * length, sum(FILES))))
    for one in ranks:
        batches = users(one)
        for position in reversed(range(len(batches))):
            assert one.take(position)[0]["user"].tolist() == batches[position], "wherever a worker resumes"
            over = one.passes_until(position)
            assert over == one.pass_of(position) or (over == one.pass_of(position) + 1 and position + 1 in starts_of_passes(one))


def starts_of_passes(one: Followed) -> set[int]:
    """Positions behind the last mini-batch of a pass, which is whole."""
    numbers = [one.pass_of(position) for position in range(len(users(one)))]
    return {position for position in range(1, len(numbers)) if numbers[position] != numbers[position - 1]} | {len(numbers)}


def test_what_is_over_does_not_depend_on_files_that_have_come_meanwhile(tmp_path: Path) -> None:
    put(tmp_path, "1", 0, 6)
    early = feed(tmp_path, 8)
    assert early.has(1)
    first = [early.passes_until(position) for position in range(2)]
    put(tmp_path, "2", 6, 6)
    late = feed(tmp_path, 8)
    assert late.has(3)
    assert [late.passes_until(position) for position in range(4)] == [*first, 1, 1] == [0, 0, 1, 1]
    assert [late.pass_of(position) for position in range(4)] == [0, 0, 0, 1]


@pytest.mark.parametrize("unit", ["s", "us", None])
def test_passes_by_event_time(tmp_path: Path, unit: str | None) -> None:
    seconds = [[1000, 1001, 1059, 1061, 1058, 1125], [1130, 1400, 1130]]
    for name, times in enumerate(seconds):
        column = pa.array(times, pa.float64()) if unit is None else pa.array(times, pa.timestamp("s")).cast(pa.timestamp(unit))
        put_times(tmp_path, str(name), 6 * name, column)
    one = feed(tmp_path, "1m", time="at")
    # minutes 16, 16, 17, 17 with one that goes back in it, 18 also across the files, 23 with one that goes back
    assert by_pass(one) == {0: [0, 1], 1: [2, 3, 4], 2: [5, 6], 3: [7, 8]}
    assert [one.passes_until(position) for position in range(5)] == [1, 2, 2, 3, 3], "what begins with the next file, it says"


def test_a_file_without_rows_changes_nothing() -> None:
    passes = Passes(Data(length="10s"))
    assert passes.divide(0, 0, np.empty(0)) == []
    assert passes.divide(1, 2, np.array([5.0, 6.0])) == [Stretch(1, 0, 2, 0, ends_pass=False)]
    assert passes.divide(2, 1, np.array([9.0])) == [Stretch(2, 0, 1, 0, ends_pass=False)]


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    with pytest.raises(InvalidWorkload, match=r"data.length: 5m is a time, and .* has no column of times; name it"):
        feed(tmp_path, "5m")
    put_times(tmp_path, "1", 0, pa.array([1.0, float("nan")]))
    with pytest.raises(InvalidWorkload, match="a time in 'at' is not finite"):
        feed(tmp_path, "5m", time="at").has(0)
    with pytest.raises(InvalidWorkload, match="has no column 'when'"):
        feed(tmp_path, "5m", time="when").has(0)
    stream = data.parquet_stream(tmp_path / "1.parquet", ids=["user"])
    with pytest.raises(InvalidWorkload, match="only passes over a folder that grows go by time"):
        Batches(stream, spec(data={"length": "5m"}), 0)
    one_pass = {"export": {"every": "1 passes"}}
    assert Batches(stream, spec(**one_pass), 0).followed is None, "an epoch is a pass"
