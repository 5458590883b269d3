"""An export whose part a server cannot store: it says so, and the next one has what changed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.numpy import load_file

from gradstream.center.parameters.center import Center
from gradstream.center.tables.hosted import HostedTables
from gradstream.center.tables.payload import RowGradients, RowKeys
from gradstream.process.order import StoreAccess
from gradstream.process.saving.checkpoint_names import shard_part
from gradstream.process.saving.exports import PART
from gradstream.shard_server.saving.export_files import ExportFiles
from gradstream.sim.toys import job
from tests.orders import make_order
from tests.support import eventually


class Exports:
    """Those of one server, into a folder."""

    def __init__(self, folder: Path) -> None:
        self.spec = job({"name": "sync"}, tables={"user": {"keep": {"unseen": 1}}})
        self.tables = HostedTables(self.spec, {"user": 1}, 0)
        self.center = Center(self.spec, torch.zeros(3), None, one_pass=True, run_length=(0, 0), tables=self.tables)
        self.failed: list[tuple[int, int]] = []
        """Place, and failures in a row."""
        order = make_order("server", spec=self.spec, store=StoreAccess(url=folder.as_uri()))
        self.files, self.folder = ExportFiles(order, lambda *told: self.failed.append(told)), folder / "1" / "exports"

    def push(self, *keys: int) -> None:
        found = self.tables.look_up({"user": RowKeys(np.array(keys))})["user"]
        ones = np.ones(len(keys), np.int64)
        self.tables.push([({"user": RowGradients(found.keys, found.loans, found.values, ones, ones.astype(np.float32))}, 1.0)], 1.0)

    def make(self, place: int) -> None:
        self.files.begin(place, self.center, 0, base=False)
        self.files.pending.complete()

    def part(self, place: int) -> dict[str, Any]:
        file = self.folder / str(place) / f"{shard_part(0)}{PART}"
        eventually(file.exists, "the part")
        return dict(json.loads(file.read_text()))

    def rows(self, place: int) -> list[int]:
        self.part(place)
        [file] = self.folder.glob(f"{place}/*rows-0.safetensors")
        return sorted(load_file(file)["user/keys"].tolist())


def test_a_server_tells_of_an_export_that_it_cannot_store_and_the_next_has_its_changes(tmp_path: Path, caplog: Any) -> None:
    exports = Exports(tmp_path)
    exports.push(1, 2, 3)
    exports.make(1)
    assert exports.rows(1) == [1, 2, 3]
    exports.files.note_commit(1, exports.tables)
    for place, key in ((2, 2), (3, 7)):
        (exports.folder / str(place)).write_text("a file in place of the folder")
        exports.push(key)
        exports.make(place)
    eventually(lambda: exports.failed == [(2, 1), (3, 2)], "the failures")
    exports.push(3)
    exports.make(4)
    assert exports.part(4)["after"] == 1
    assert exports.rows(4) == [2, 3, 7]
    eventually(lambda: exports.failed == [(2, 1), (3, 2), (4, 0)], "the end of the failures")
    assert "part of export 2 is not stored (tables: user)" in caplog.text
