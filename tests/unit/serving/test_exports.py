"""Exports: base + deltas - tombstones are what a lookup in training reads, at every place of the log."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from gradstream.center.tables.storage import copying
from gradstream.errors import Invalid, InvalidWorkload
from gradstream.nn import Embedding
from gradstream.process.saving.exports import ExportPart
from gradstream.serving import Tables
from gradstream.shard_server.saving import export_rows, row_copy
from gradstream.shard_server.saving.row_files import RowFiles
from tests.unit.serving.servers import Servers

CLICKED: dict[str, Any] = {"rule": {"name": "sgd", "lr": 1.0}, "init": {"uniform": 0.0}, "keep": {"score": 0.5}}
SPECS: dict[str, dict[str, Any]] = {
    "plain": {"rule": {"name": "adam"}},
    "kept": {"keep": {"decay": 0.9, "score": 0.15, "unseen": 3}, "admit": {"count": 2}},
    "unseen": {"keep": {"unseen": 2}, "admit": {"count": 2}},
    "gone soon": {"keep": {"unseen": 1}},
    "most": {"most": 1024},
    "ftrl": {"rule": {"name": "ftrl", "l1": 1.0}, "keep": {"unseen": 2}},
}


def keys_in(folder: Path, parts: list[ExportPart], kind: str) -> list[int]:
    names = [file.name for part in parts for file in part.files if f".{kind}" in file.name]
    return sorted(int(key) for name in names for key in load_file(folder / name)["t/keys"])


def contents(servers: Servers, *, commit: bool = True, base: bool = False) -> tuple[list[int], list[int]]:
    """Keys of the rows and of the tombstones of an export."""
    parts = servers.export(base=base, commit=commit)
    folder = servers.folder / (f"export-{servers.number}" if commit else f"failed-{servers.place}")
    rows, gone = keys_in(folder, parts, "rows"), keys_in(folder, parts, "gone")
    assert (len(rows), len(gone)) == (sum(part.rows for part in parts), sum(part.gone for part in parts))
    return rows, gone


def evict(servers: Servers, key: int) -> None:
    """A shrink evicts the rows without a click, of which this must be the only one."""
    servers.push([key], clicks=-8.0)
    servers.shrink()


@pytest.mark.parametrize("shards", [1, 2, 3])
def test_golden_history_of_the_design(shards: int, tmp_path: Path) -> None:
    servers = Servers(tmp_path, CLICKED, shards)
    servers.push([1, 2, 3], clicks=1.0)
    assert contents(servers, base=True) == ([1, 2, 3], [])
    servers.push([2, 4], clicks=1.0)
    evict(servers, 3)
    assert contents(servers) == ([2, 4], [3])
    tables = Tables(tmp_path)
    servers.push([1], clicks=1.0)
    evict(servers, 4)
    assert contents(servers, commit=False) == ([1], [4])
    servers.push([4, 5], clicks=1.0)
    evict(servers, 5)
    assert contents(servers) == ([1, 4], [5])
    assert tables.follow()
    assert tables.current.keys("t").tolist() == [1, 2, 4]


class Law:
    """A history of pushes, shrinks, checkpoints, and exports of which a third fail."""

    def __init__(self, spec: str, shards: int, folder: Path) -> None:
        self.draw, self.every = np.random.default_rng(shards), np.arange(-20, 1500)
        self.servers = Servers(folder, SPECS[spec], shards)
        self.checkpoints = [RowFiles(1) for _ in range(shards)]
        self.readers: list[Tables] = []
        """One that follows each export, and one that skips some."""

    def go_on(self) -> None:
        self.servers.push(np.unique(self.draw.zipf(1.3, 60) % 1500), self.draw, clicks=0.125)
        if self.draw.random() < 0.08:
            self.servers.shrink()

    def checkpoint(self, number: int) -> None:
        for files, tables in zip(self.checkpoints, self.servers.tables, strict=True):
            copy, _ = files.begin(number, tables, [])
            if self.draw.random() < 0.5:
                copy.complete()

    def export(self) -> None:
        servers, draw = self.servers, self.draw
        servers.theta += 1
        expected, theta = servers.look_up(self.every), servers.theta.clone()
        export = servers.begin(base=draw.random() < 0.15)
        for _ in export.pieces():
            if draw.random() < 0.5:
                self.go_on()
        is_committed = not self.readers or draw.random() < 0.7
        export.store(commit=is_committed)
        if is_committed:
            self.check(expected, theta)

    def check(self, expected: np.ndarray[Any, Any], theta: torch.Tensor) -> None:
        folder = self.servers.folder
        self.readers = self.readers or [Tables(folder), Tables(folder)]
        self.readers[0].follow()
        if self.draw.random() < 0.4:
            self.readers[1].follow()
        reading = [reader for reader in self.readers if reader.current.number == self.servers.number]
        assert reading
        for reader in [*reading, Tables(folder)]:
            assert reader.look_up("t", torch.from_numpy(self.every)).numpy().tobytes() == expected.tobytes()
            assert torch.equal(reader.state_dict()["w"], theta.view(2, 3))


@pytest.mark.few(3)
@pytest.mark.parametrize("few_keys", [0, 10_000], ids=["keys forgotten", "keys remembered"])
@pytest.mark.parametrize("shards", [1, 2, 3])
@pytest.mark.parametrize("spec", SPECS)
def test_each_export_reads_as_training_does(
    spec: str, shards: int, few_keys: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pushes and shrinks come between the pieces, and checkpoints with their own marks between exports."""
    monkeypatch.setattr(copying, "PIECE", 40)
    monkeypatch.setattr(row_copy, "FILE_BYTES", 2000)
    monkeypatch.setattr(export_rows, "FEW_KEYS", few_keys)
    law = Law(spec, shards, tmp_path)
    for number in range(1, 11):
        for _ in range(6):
            law.go_on()
        if law.draw.random() < 0.5:
            law.checkpoint(number)
        law.export()
    assert law.servers.number > 3
    assert law.servers.tables[0].tables["t"].evicted > 0 or spec == "plain"


def test_a_row_of_zeros_is_a_row_and_no_tombstone(tmp_path: Path) -> None:
    servers = Servers(tmp_path, {"rule": {"name": "sgd", "lr": 1.0}, "init": {"uniform": 0.5}})
    first = servers.look_up(np.array([7]))
    servers.push([7])
    table = servers.tables[0].tables["t"]
    table.arrays.rows.values[: table.alive, :2] = 0
    servers.export()
    tables = Tables(tmp_path)
    assert tables.look_up("t", torch.tensor([7])).tolist() == [[0, 0]]
    assert tables.look_up("t", torch.tensor([8])).abs().sum() > 0
    assert first.any()


def test_rows_in_float16_saturate(tmp_path: Path) -> None:
    servers = Servers(tmp_path, {"rule": {"name": "sgd", "lr": 1.0}, "init": {"uniform": 0.0}}, dtype="float16")
    servers.push([1, 2])
    table = servers.tables[0].tables["t"]
    table.arrays.rows.values[: table.alive, :2] = [[1 / 3, 1e9], [-1e9, 2]]
    servers.export()
    found = Tables(tmp_path)
    assert found.look_up("t", torch.tensor([[1], [2]])).tolist() == [[[np.float16(1 / 3), 65504]], [[-65504, 2]]]


def three_exports(folder: Path) -> Servers:
    servers = Servers(folder, {"keep": {"unseen": 1}}, 2)
    for number in range(3):
        servers.push(list(range(10 * number, 10 * number + 20)))
        servers.shrink()
        servers.export()
    return servers


@pytest.mark.parametrize("file", ["shard-0.rows-0.safetensors", "shard-1.gone.safetensors", "shard-1.dense.safetensors"])
@pytest.mark.parametrize("damage", ["missing", "half", "changed"])
def test_a_damaged_delta_is_refused_and_the_reader_stays(file: str, damage: str, tmp_path: Path) -> None:
    three_exports(tmp_path)
    shutil.move(tmp_path / "export-3", tmp_path / "later")
    tables = Tables(tmp_path)
    before, state = tables.look_up("t", torch.arange(50)), tables.state_dict()["w"].clone()
    shutil.move(tmp_path / "later", tmp_path / "export-3")
    target = tmp_path / "export-3" / file
    data = target.read_bytes()
    if damage == "missing":
        target.unlink()
    else:
        target.write_bytes(data[: len(data) // 2] if damage == "half" else data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(Invalid, match=f"{file}.*(missing|half written|damaged).*--follow FOLDER"):
        tables.follow()
    assert tables.current.number == 2
    assert torch.equal(tables.look_up("t", torch.arange(50)), before)
    assert torch.equal(tables.state_dict()["w"], state)
    target.write_bytes(data)
    assert tables.follow()
    assert not torch.equal(tables.look_up("t", torch.arange(50)), before)


def test_a_delta_without_its_base_is_refused(tmp_path: Path) -> None:
    three_exports(tmp_path)
    shutil.rmtree(tmp_path / "export-1")
    with pytest.raises(Invalid, match=r"export-2 is a delta.*export-1, is missing; .*--into"):
        Tables(tmp_path)


@pytest.mark.parametrize("text", ["", "{}", '{"number": 3'])
def test_a_damaged_manifest_is_refused(text: str, tmp_path: Path) -> None:
    three_exports(tmp_path)
    (tmp_path / "export-3" / "manifest.json").write_text(text)
    with pytest.raises(Invalid, match=r"export-3/manifest.json is missing or damaged"):
        Tables(tmp_path)


def test_a_folder_without_exports_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="has no export yet"):
        Tables(tmp_path)
    with pytest.raises(Invalid, match="cannot be read as a folder of exports"):
        Tables(tmp_path / "nothing")


def test_an_export_stays_as_it_is_while_newer_ones_come(tmp_path: Path) -> None:
    servers = Servers(tmp_path, {})
    servers.push([1, 2, 3])
    servers.export()
    tables = Tables(tmp_path)
    old, rows = tables.current, tables.look_up("t", torch.arange(5))
    servers.push([1, 2])
    servers.export()
    assert tables.follow()
    assert not tables.follow()
    shutil.rmtree(tmp_path / "export-1")
    assert torch.equal(old.look_up("t", torch.arange(5)), rows)
    assert not torch.equal(tables.look_up("t", torch.arange(5)), rows)


def test_a_model_reads_one_export(tmp_path: Path) -> None:
    class Model(torch.nn.Module):
        def __init__(self, width: int = 2) -> None:
            super().__init__()
            self.rows = Embedding("t", width)
            self.w = torch.nn.Parameter(torch.zeros(2, 3))
            self.register_buffer("fixed", torch.zeros(1))

        def forward(self, ids: torch.Tensor) -> torch.Tensor:
            return self.rows(ids) @ self.w + self.fixed

    servers = Servers(tmp_path, {})
    servers.push([1, 2, 3])
    servers.export()
    tables, model = Tables(tmp_path), Model()
    tables.current.load_into(model)
    ids = torch.tensor([3, 1, 1, 9])
    with torch.no_grad():
        assert torch.equal(model(ids), tables.look_up("t", ids) @ torch.arange(6.0).view(2, 3) + 1)
    with pytest.raises(InvalidWorkload, match="width 3, and the export has 't' of width 2"):
        tables.current.load_into(Model(3))
    with pytest.raises(Invalid, match="no table 'u'; it has t"):
        tables.look_up("u", ids)
    with pytest.raises(InvalidWorkload, match="ids must be int64"):
        tables.look_up("t", torch.tensor([0.5]))
