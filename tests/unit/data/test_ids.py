"""Columns of ids in Parquet files: every value of 64 bits, lists of any length, strings by their hash, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from gradstream import data
from gradstream import nn as gnn
from gradstream.data.ragged import Ragged, examples_of, joined_batches
from gradstream.errors import InvalidWorkload
from gradstream.input.data import Batches
from gradstream.model import parts
from gradstream.spec import JobSpec

TAGS: list[list[int]] = [[3, 2**53 + 1], [], [-1], [7, 7, 7], [], [5]]
IDS = [0, 2**24 + 1, 2**53 + 1, -(2**63), 2**63 - 1, 9]


def table(path: Path, group: int = 100, **columns: Any) -> Path:
    given = {"user": IDS, "tags": TAGS, "price": np.arange(6.0), "click": [0, 1, 0, 1, 1, 0]}
    pq.write_table(pa.table(given | columns), path, row_group_size=group)
    return path


def lists(ragged: Ragged) -> list[list[int]]:
    return [ragged.examples(number).tolist() for number in range(len(ragged.offsets))]


def test_a_batch_has_each_column_of_ids_under_its_name(tmp_path: Path) -> None:
    source = data.parquet(table(tmp_path / "t.parquet"), ["price"], "click", ids=["user", "tags"])
    assert len(source) == 6
    batch = source[[4, 2, 3]]
    assert list(batch) == ["features", "click", "user", "tags"]
    assert batch["user"].dtype == torch.int64
    assert batch["user"].tolist() == [2**63 - 1, 2**53 + 1, -(2**63)]
    assert lists(batch["tags"]) == [[], [-1], [7, 7, 7]]
    assert batch["tags"].offsets.tolist() == [0, 0, 1]
    assert torch.equal(batch["features"], torch.tensor([[4.0], [2], [3]]))
    assert batch["click"].tolist() == [1, 0, 1]
    assert lists(source[torch.tensor([], dtype=torch.int64)]["tags"]) == []
    alone = source[3]
    assert alone["user"] == -(2**63)
    assert alone["tags"].tolist() == [7, 7, 7]


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint16(), pa.int32(), pa.uint32(), pa.int64()])
def test_whole_numbers_of_any_width(tmp_path: Path, kind: Any) -> None:
    path = table(tmp_path / "t.parquet", user=pa.array([1, 2, 3, 4, 5, 127], kind))
    assert data.parquet(path, ids=["user"])[:]["user"].tolist() == [1, 2, 3, 4, 5, 127]


def test_unsigned_numbers_keep_their_bits(tmp_path: Path) -> None:
    path = table(tmp_path / "t.parquet", user=pa.array([2**64 - 1, 2**63, 1, 2, 3, 4], pa.uint64()))
    assert data.parquet(path, ids=["user"])[:]["user"].tolist() == [-1, -(2**63), 1, 2, 3, 4]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())])
def test_strings_have_the_ids_that_hashed_gives(tmp_path: Path, kind: Any) -> None:
    cities = ["Aachen", "Bern", "Aachen", "", "Łódź", "Bern"]
    tags = pa.array([["a", "b"], [], ["b"], ["a"], [], []], pa.list_(kind))
    path = table(tmp_path / "t.parquet", city=pa.array(cities).cast(kind), words=tags)
    batch = data.parquet(path, ids=["city", "words"])[:]
    assert torch.equal(batch["city"], gnn.hashed(cities, "city"))
    assert torch.equal(batch["words"].ids, gnn.hashed(["a", "b", "b", "a"], "words"))


@pytest.mark.parametrize("kind", [pa.list_(pa.int64()), pa.large_list(pa.int64()), pa.list_(pa.int64(), 2)])
def test_lists_of_any_arrow_kind_across_pieces_and_files(tmp_path: Path, kind: Any) -> None:
    pairs = [[1, 2], [3, 4], [5, 6], [7, 8], [9, 10], [11, 12]]
    for name in ("a", "b"):
        table(tmp_path / f"{name}.parquet", group=4, pair=pa.array(pairs, kind))
    assert lists(data.parquet(tmp_path, ids=["pair"])[:]["pair"]) == pairs * 2


@pytest.mark.parametrize("start", [0, 1, 3, 4, 11])
def test_a_stream_begins_anywhere(tmp_path: Path, start: int) -> None:
    for name in ("a", "b"):
        table(tmp_path / f"{name}.parquet", group=4)
    stream: Any = data.parquet_stream(tmp_path, label="click", ids=["user", "tags"])
    whole = joined_batches(list(stream.pieces(start)))
    assert lists(whole["tags"]) == (TAGS * 2)[start:]
    assert whole["user"].tolist() == (IDS * 2)[start:]
    assert [example["tags"].tolist() for example in stream] == TAGS * 2


@pytest.mark.parametrize("streams", [False, True])
def test_workers_of_a_job_get_every_example_once(tmp_path: Path, streams: bool) -> None:
    path = table(tmp_path / "t.parquet", group=1, tags=[[i] * i for i in range(6)], user=list(range(6)))
    open_table = data.parquet_stream if streams else data.parquet
    dataset = open_table(path, label="click", ids=["user", "tags"])
    spec = JobSpec.model_validate(
        {
            "name": "t",
            "workload": {"entrypoint": "a:B"},
            "strategy": {"name": "sync"},
            "roles": {"worker": {"count": 2}},
            "batch_size": 2,
            "stop": {"epochs": 1},
        }
    )
    found = []
    for rank in range(2):
        batches = Batches(dataset, spec, rank)
        for position in range(batches.total):
            batch, examples = batches.fetch(position)
            assert examples == len(batch["user"]) == len(batch["tags"].offsets)
            assert lists(batch["tags"]) == [[user] * user for user in batch["user"].tolist()]
            found += batch["user"].tolist()
    assert sorted(found) == list(range(6))


def test_a_mini_batch_is_computed_in_parts(tmp_path: Path) -> None:
    batch = data.parquet(table(tmp_path / "t.parquet"), label="click", ids=["user", "tags"])[:]
    shares = parts.of(batch, 6, 2)
    assert [lists(share.batch["tags"]) for share in shares] == [TAGS[:2], TAGS[2:4], TAGS[4:]]


def test_steps_of_slices() -> None:
    ragged = Ragged(torch.tensor([3, 2**53 + 1, -1, 7, 7, 7, 5]), torch.tensor([0, 2, 2, 3, 6, 6]))
    assert lists(ragged) == TAGS
    for chosen in (slice(1, None, 2), slice(0, 0), slice(None)):
        assert lists(examples_of(ragged, chosen)) == TAGS[chosen]


def test_what_is_wrong_is_said_with_file_and_column(tmp_path: Path) -> None:
    path = table(
        tmp_path / "t.parquet",
        half=[0.5, 1, 2, 3, 4, 5],
        yes=[True] * 6,
        gaps=[1, None, 3, 4, None, 6],
        holes=[[1], None, [2], [], [], []],
        deep=[[1, None], [], [], [], [], []],
        floats=[[0.5], [], [], [], [], []],
        nested=[[[1]], [], [], [], [], []],
        features=[1] * 6,
    )
    for more, said in (
        ({"ids": ["usr"]}, "has no column 'usr'; did you mean 'user'?"),
        ({"ids": ["half"]}, "'half' of ids holds double. Floats do not hold all ids"),
        ({"ids": ["yes"]}, "'yes' of ids holds bool; write it as int64"),
        ({"ids": ["floats"]}, "'floats' of ids holds double"),
        ({"ids": ["nested"]}, "'nested' of ids holds list"),
        ({"ids": ["gaps"]}, "2 values of 'gaps' are missing (or more); write an id that stands for none"),
        ({"ids": ["holes"]}, "1 values of 'holes' are missing"),
        ({"ids": ["deep"]}, "1 values in lists of 'deep' are missing"),
        ({"ids": "user"}, "columns of ids as a list, ids=['user']"),
        ({"ids": ["user", "user"]}, "two entries of one name among user, user"),
        ({"ids": ["click"], "label": "click"}, "two entries of one name among click, click"),
        ({"ids": ["features"], "features": ["price"]}, "two entries of one name among features, features"),
        ({}, "names of the feature columns as a list"),
    ):
        for open_table in (data.parquet, data.parquet_stream):
            with pytest.raises(InvalidWorkload) as caught:
                list(open_table(path, **more))  # type: ignore[arg-type]
            assert str(path) in str(caught.value)
            assert said in str(caught.value)
    table(tmp_path / "u.parquet", user=[[1]] * 6)
    with pytest.raises(InvalidWorkload, match="'user' holds lists here or elsewhere, not both"):
        data.parquet(tmp_path, ids=["user"])
