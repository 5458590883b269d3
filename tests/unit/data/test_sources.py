"""Data sets from files: the right batches, no copies of the files, and errors that name file and remedy."""

from __future__ import annotations

import gzip
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from torch.utils.data import DataLoader

from gradstream import data
from gradstream.data.idxfiles import read
from gradstream.data.parquetfiles import _PIECE
from gradstream.errors import InvalidWorkload

RNG = np.random.default_rng(4)
CODES = {"u1": 8, "i1": 9, "i2": 11, "i4": 12, "f4": 13, "f8": 14}


def write_idx(path: Path, values: np.ndarray) -> Path:
    kind = values.dtype.str[1:]
    header = bytes([0, 0, CODES[kind], values.ndim]) + b"".join(n.to_bytes(4, "big") for n in values.shape)
    path.write_bytes(header + values.astype(f">{kind}").tobytes())
    return path


def numbers(kind: str, *shape: int) -> np.ndarray:
    return (RNG.random(shape) * 100).astype(kind)


def maps(array: Any) -> bool:
    """It is a view of a file."""
    while array is not None and not isinstance(array, np.memmap):
        array = getattr(array, "base", None)
    return array is not None


class TestIdx:
    @pytest.mark.parametrize("kind", CODES)
    def test_every_type_comes_as_it_is_in_the_byte_order_of_this_machine(self, tmp_path: Path, kind: str) -> None:
        images = numbers(kind, 12, 3, 2)
        source = data.idx(write_idx(tmp_path / "x", images))
        batch = source[[11, 0, 5]]
        assert batch.dtype == torch.from_numpy(images).dtype
        assert torch.equal(batch, torch.from_numpy(images[[11, 0, 5]]))

    def test_labels_become_int64_and_an_example_is_a_row(self, tmp_path: Path) -> None:
        images, labels = numbers("u1", 12, 4), numbers("u1", 12)
        source = data.idx(write_idx(tmp_path / "x", images), write_idx(tmp_path / "y", labels))
        x, y = source[-1]
        assert (x.shape, x.dtype, y.shape, y.dtype) == ((4,), torch.uint8, (), torch.int64)
        assert int(y) == labels[-1]
        with pytest.raises(IndexError):
            source[12]
        with pytest.raises(IndexError):
            source[[0, 12]]

    def test_a_plain_file_is_mapped_and_a_zipped_one_gives_the_same(self, tmp_path: Path) -> None:
        path = write_idx(tmp_path / "x", numbers("i2", 7, 3))
        zipped = tmp_path / "x.gz"
        zipped.write_bytes(gzip.compress(path.read_bytes()))
        assert maps(read(path))
        assert not maps(read(zipped))
        assert np.array_equal(read(path), read(zipped))

    def test_a_file_of_no_examples_has_length_0(self, tmp_path: Path) -> None:
        assert len(data.idx(write_idx(tmp_path / "x", numbers("u1", 0, 3)))) == 0

    @pytest.mark.parametrize(
        ("content", "said"),
        [
            (b"", "is not an IDX file: it begins with nothing"),
            (b"PK\x03\x04 and more", "is not an IDX file: it begins with 50 4b 03 04"),
            (b"\0\0\x08\x01\0\0\0\x05abcd", "has 12 bytes, but its header promises 13; copy it again"),
            (b"\0\0\x08\x01\0\0\0\x05abcdef", "has 14 bytes"),
            (gzip.compress(b"\0\0\x08\x01\0\0\0\x05abcde")[:-9], "cannot be decompressed"),
        ],
        ids=["nothing", "zip", "short", "long", "cut"],
    )
    def test_what_is_no_whole_file_is_refused(self, tmp_path: Path, content: bytes, said: str) -> None:
        path = tmp_path / "images"
        path.write_bytes(content)
        with pytest.raises(InvalidWorkload, match=said) as caught:
            data.idx(path)
        assert str(path) in str(caught.value)

    def test_files_that_are_not_there_or_do_not_fit(self, tmp_path: Path) -> None:
        with pytest.raises(InvalidWorkload, match=r"there is no file .*nowhere; it must be readable under this path on every node"):
            data.idx(tmp_path / "nowhere")
        (tmp_path / "zipped.gz").touch()
        with pytest.raises(InvalidWorkload, match=r"there is .*zipped.gz: name that"):
            data.idx(tmp_path / "zipped")
        with pytest.raises(InvalidWorkload, match="is a folder"):
            data.idx(tmp_path)
        x, y = write_idx(tmp_path / "x", numbers("u1", 5, 2)), write_idx(tmp_path / "y", numbers("u1", 4))
        with pytest.raises(InvalidWorkload, match=r"same number of examples; the shapes are .*x: \(5, 2\), .*y: \(4,\)"):
            data.idx(x, y)


class TestNumpy:
    @pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
    def test_npz_gives_its_arrays_by_name(self, tmp_path: Path, save: Callable[..., None]) -> None:
        x, y, across = numbers("f4", 9, 2), numbers("i8", 9), np.asfortranarray(numbers("f8", 9, 3))
        save(tmp_path / "d.npz", x=x, y=y, across=across)
        a, b, c = data.npz(tmp_path / "d.npz", ["across", "y", "x"])[[8, 2]]
        for found, expected in ((a, across), (b, y), (c, x)):
            assert torch.equal(found, torch.from_numpy(expected[[8, 2]]))
        assert isinstance(data.npz(tmp_path / "d.npz", "x")[:3], torch.Tensor)
        source: Any = data.npz(tmp_path / "d.npz", ["x"])
        assert maps(source._columns[0]) == (save is np.savez)

    def test_a_batch_copies_no_more_than_the_batch(self, tmp_path: Path) -> None:
        """Though arrays in an .npz are seldom aligned, and IDX files are big-endian."""
        x = numbers("f8", 40_000, 10)
        np.savez(tmp_path / "d.npz", first=numbers("u1", 3), x=x)
        np.savez(tmp_path / "e.npz", second=numbers("u1", 1), x=x)
        for source in (
            data.npz(tmp_path / "d.npz", "x"),
            data.npz(tmp_path / "e.npz", "x"),
            data.idx(write_idx(tmp_path / "x", x)),
            data.arrays(np.asfortranarray(x)),
        ):
            tracemalloc.start()
            batch = source[[5, 39_999]]
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            assert torch.equal(batch, torch.from_numpy(x[[5, 39_999]]))
            assert peak < x.nbytes / 20

    def test_npy_is_mapped(self, tmp_path: Path) -> None:
        x = numbers("f4", 6, 2)
        np.save(tmp_path / "x.npy", x)
        source: Any = data.npy(tmp_path / "x.npy")
        assert maps(source._columns[0])
        assert torch.equal(source[1:3], torch.from_numpy(x[1:3]))

    def test_what_is_wrong_is_said_with_the_file(self, tmp_path: Path) -> None:
        wrong = {"words": np.array(["a", "b", "c"]), "one": np.array(1.0), "any": np.array([{}, 1, 2])}
        np.savez(tmp_path / "d.npz", x=numbers("f4", 3), **wrong)
        with pytest.raises(InvalidWorkload, match=r"d.npz has no array 'y'; it has x, words, one, any"):
            data.npz(tmp_path / "d.npz", ["x", "y"])
        with pytest.raises(InvalidWorkload, match="are not numbers"):
            data.npz(tmp_path / "d.npz", ["words"])
        with pytest.raises(InvalidWorkload, match="same number of examples"):
            data.npz(tmp_path / "d.npz", ["x", "one"])
        with pytest.raises(InvalidWorkload, match=r"'any' cannot be read: .*numpy.savez"):
            data.npz(tmp_path / "d.npz", ["any"])
        (tmp_path / "no.npz").write_bytes(b"text")
        with pytest.raises(InvalidWorkload, match=r"is not an .npz file"):
            data.npz(tmp_path / "no.npz", "x")
        with pytest.raises(InvalidWorkload, match=r"no.npz cannot be mapped"):
            data.npy(tmp_path / "no.npz")


def table(path: Path, rows: int = 10, group: int = 4, **columns: Any) -> Path:
    made = {"a": np.arange(rows, dtype=np.float64), "b": np.arange(rows) * 2, "y": np.arange(rows) % 3, **columns}
    pq.write_table(pa.table(made), path, row_group_size=group)
    return path


class TestParquet:
    def test_columns_side_by_side_and_a_label(self, tmp_path: Path) -> None:
        lists = [[float(i), float(-i)] for i in range(10)]
        x, y = data.parquet(table(tmp_path / "t.parquet", pair=lists), ["b", "pair", "a"], "y")[[9, 4]]
        assert torch.equal(x, torch.tensor([[18.0, 9, -9, 9], [8, 4, -4, 4]]))
        assert torch.equal(y, torch.tensor([0, 1]))
        assert data.parquet(tmp_path / "t.parquet", ["a"])[:].shape == (10, 1)

    def test_a_folder_is_read_in_the_order_of_its_names(self, tmp_path: Path) -> None:
        for name, first in (("2", 100.0), ("1", 0.0)):
            table(tmp_path / f"{name}.parquet", rows=3, a=np.arange(3) + first)
        assert data.parquet(tmp_path, ["a"])[:].squeeze(1).tolist() == [0, 1, 2, 100, 101, 102]

    @pytest.mark.parametrize("start", [0, 3, 4, 9, _PIECE - 1, _PIECE, _PIECE + 7])
    def test_a_stream_begins_anywhere(self, tmp_path: Path, start: int) -> None:
        rows, group = (20, 4) if start < 20 else (_PIECE + 20, _PIECE + 12)
        stream: Any = data.parquet_stream(table(tmp_path / "t.parquet", rows, group), ["a", "b"], "y")
        assert len(stream) == rows
        pieces = list(stream.pieces(start))
        whole = data.parquet(tmp_path / "t.parquet", ["a", "b"], "y")
        assert torch.equal(torch.cat([x for x, _ in pieces]), whole[start:][0])
        assert torch.equal(torch.cat([y for _, y in pieces]), whole[start:][1])

    def test_shards_of_a_stream_are_groups_of_rows(self, tmp_path: Path) -> None:
        stream: Any = data.parquet_stream(table(tmp_path / "t.parquet", rows=10, group=4), ["a"])
        shards = [[int(x) for x in stream.shard(rank, 2)] for rank in range(2)]
        assert shards == [[0, 1, 2, 3, 8, 9], [4, 5, 6, 7]]
        assert [len(stream.shard(rank, 2)) for rank in range(2)] == [6, 4]
        with pytest.raises(InvalidWorkload, match="has 3 groups of rows for 4 workers; write it with smaller ones"):
            stream.shard(3, 4)

    def test_what_is_wrong_is_said_with_file_and_column(self, tmp_path: Path) -> None:
        path = table(
            tmp_path / "t.parquet",
            rows=3,
            words=["x", "y", "z"],
            gaps=[1, None, 3],
            ragged=[[1.0], [1.0, 2.0], [3.0]],
            holes=[[1.0], None, [2.0]],
        )
        for columns, said in (
            (["aa"], "has no column 'aa'; did you mean 'a'?"),
            (["income"], "it has a, b, y"),
            (["words"], "'words' holds string"),
            (["gaps"], "1 values of 'gaps' are missing"),
            (["ragged"], "the lists of 'ragged' have 1 to 2 values"),
            (["holes"], "1 values of 'holes' are missing"),
            ("a", "as a list"),
        ):
            with pytest.raises(InvalidWorkload) as caught:
                data.parquet(path, columns)
            assert str(path) in str(caught.value)
            assert said in str(caught.value)
        (tmp_path / "no.parquet").write_bytes(b"text")
        with pytest.raises(InvalidWorkload, match="is not a complete Parquet file"):
            data.parquet(tmp_path / "no.parquet", ["a"])
        (tmp_path / "empty").mkdir()
        with pytest.raises(InvalidWorkload, match=r"has no \*.parquet in it"):
            data.parquet(tmp_path / "empty", ["a"])

    @pytest.mark.more
    def test_without_pyarrow_the_error_says_what_to_install(self, tmp_path: Path) -> None:
        path = table(tmp_path / "t.parquet")
        code = (
            "import sys; sys.modules['pyarrow'] = None\n"
            "from gradstream import data\n"
            f"try: data.parquet({str(path)!r}, ['a'])\n"
            "except Exception as error: print(type(error).__name__, error)"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
        assert done.stdout.startswith("InvalidWorkload")
        assert "pip install 'gradstream[parquet]'" in done.stdout


class TestChanges:
    def test_scaled_rows_and_nests(self) -> None:
        x, y = torch.arange(6, dtype=torch.uint8).view(6, 1), torch.arange(6)
        source = data.arrays(x, y).map(data.scaled(0.5)).rows(slice(2, None))
        assert len(source) == 4
        first, second = source[[0, 3]]
        assert torch.equal(first, torch.tensor([[1.0], [2.5]]))
        assert torch.equal(second, torch.tensor([2, 5]))
        assert torch.equal(data.scaled(2.0)({"x": torch.tensor([1]), "y": 3})["x"], torch.tensor([2.0]))
        assert torch.equal(source.rows([-1])[0][0], torch.tensor([2.5]))

    def test_what_is_drawn_depends_on_the_generator_alone(self) -> None:
        source = data.arrays(torch.zeros(8)).augment(lambda x, generator: x + torch.rand(len(x), generator=generator))
        chosen = torch.arange(3)
        draw = [source.batch(chosen, torch.Generator().manual_seed(seed)) for seed in (1, 1, 2)]
        assert torch.equal(draw[0], draw[1])
        assert not torch.equal(draw[0], draw[2])
        assert not torch.equal(source[[0, 1]], source[[0, 1]]), "alone in plain torch, it draws from torch's generator"

    def test_plain_torch_takes_a_source_as_any_other_data_set(self) -> None:
        loader = DataLoader(data.arrays(torch.arange(5.0), torch.arange(5)), 2)
        assert [y.tolist() for _, y in loader] == [[0, 1], [2, 3], [4]]


def test_importing_gradstream_imports_no_torch() -> None:
    code = "import sys, gradstream; assert 'torch' not in sys.modules and 'numpy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
