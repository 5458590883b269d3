"""Servers with tables that export into a folder, and commit as the control plane does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import torch

from gradstream.center.tables.hashing import shards_of
from gradstream.center.tables.hosted import HostedTables
from gradstream.center.tables.payload import RowGradients, RowKeys
from gradstream.process.saving.content import Content, sha256_of
from gradstream.process.saving.exports import (
    MANIFEST,
    PART,
    Exported,
    ExportedTable,
    ExportManifest,
    ExportPart,
    check_parts,
    downloaded_export,
    manifest_parts,
)
from gradstream.process.saving.part_list import ListedFile
from gradstream.process.saving.state_file import state_file
from gradstream.shard_server.saving.export_files import ExportPartFiles
from gradstream.shard_server.saving.export_rows import ExportMarks, ExportRowCopy
from gradstream.sim.toys import job
from gradstream.spec.tables import specs_of

WIDTH, SEED = 2, 1
TENSORS = {"placed": {"w": ("theta", 0, (2, 3), "torch.float32")}, "kept": {"fixed": torch.ones(1)}}


class Folder:
    """A store for the files of one export."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def put(self, name: str, content: Content, sha256: str | None = None) -> None:
        self.path.mkdir(parents=True, exist_ok=True)
        (self.path / Path(name).name).write_bytes(b"".join(content.chunks()))


class Servers:
    def __init__(self, folder: Path, rules: Mapping[str, Any], shards: int = 1, dtype: str = "float32") -> None:
        self.folder, self.dtype, self.shards = folder, dtype, shards
        self.spec = job(
            {"name": "sync"}, roles={"worker": {"count": 1}, "server": {"count": shards}}, tables={"t": rules}, seed=SEED
        )
        self.tables = [HostedTables(self.spec, {"t": WIDTH}, shard) for shard in range(shards)]
        self.marks = [ExportMarks() for _ in range(shards)]
        self.place = self.number = 0
        self.committed: dict[int, int] = {}
        """Numbers by place."""
        self.theta = torch.arange(6.0)

    def push(self, keys: Any, draw: np.random.Generator | None = None, clicks: float = 0.0) -> None:
        keys = np.array(keys)
        for shard, tables in enumerate(self.tables):
            mine = keys[shards_of(keys, self.shards) == shard]
            found = tables.look_up({"t": RowKeys(mine)})["t"]
            values = draw.normal(size=(len(mine), WIDTH)).astype(np.float32) if draw else np.ones((len(mine), WIDTH), np.float32)
            ones = np.ones(len(mine), np.int64)
            rows = RowGradients(found.keys, found.loans, values, ones, np.full(len(mine), clicks, np.float32))
            tables.push([({"t": rows}, 1.0)], 1.0)

    def shrink(self) -> None:
        for tables in self.tables:
            tables.tables["t"].shrink()

    def look_up(self, keys: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """As a worker reads them."""
        found = np.empty((len(keys), WIDTH), np.float32)
        for shard, tables in enumerate(self.tables):
            mine = shards_of(keys, self.shards) == shard
            found[mine] = tables.look_up({"t": RowKeys(keys[mine])})["t"].values
        return found

    def export(self, *, base: bool = False, commit: bool = True) -> list[ExportPart]:
        export = self.begin(base=base)
        for _ in export.pieces():
            pass
        return export.store(commit=commit)

    def begin(self, *, base: bool = False) -> BegunExport:
        self.place += 1
        begun = [
            marks.begin(self.place, tables, base=base, dtype=self.dtype)
            for marks, tables in zip(self.marks, self.tables, strict=True)
        ]
        return BegunExport(self, self.place, begun, self.theta.clone())


class BegunExport:
    def __init__(self, servers: Servers, place: int, begun: list[tuple[ExportRowCopy, int | None]], theta: torch.Tensor) -> None:
        self._servers, self._place, self._begun, self._theta = servers, place, begun, theta

    def pieces(self) -> Iterator[None]:
        """Copy, one piece after the other."""
        for copy, _ in self._begun:
            while not copy.is_complete:
                copy.copy_piece()
                yield

    def store(self, *, commit: bool) -> list[ExportPart]:
        """Store all files, and commit. Return what the parts say."""
        servers, of = self._servers, specs_of(self._servers.spec.tables, ["t"])["t"]
        number = servers.number + 1
        path = downloaded_export(servers.folder, number) if commit else servers.folder / f"failed-{self._place}"
        table = ExportedTable(width=WIDTH, reach=of.reach, admits=of.admit is not None)
        exported = Exported.model_validate(
            {
                "version": self._place,
                "samples": 0,
                "seed": SEED,
                "shards": servers.shards,
                "dtype": servers.dtype,
                "tables": {"t": table},
            }
        )
        slices = self._theta.tensor_split(servers.shards)
        stored: list[tuple[int, bool]] = []
        for shard, (copy, after) in enumerate(self._begun):
            dense = {"theta": slices[shard].clone(), "buffers": None}
            part = ExportPartFiles(self._place, shard, exported, after, dense, copy, lambda *end: stored.append(end))
            part.put_into(Folder(path))  # type: ignore[arg-type]
        assert stored == [(self._place, True)] * servers.shards
        parts = [ExportPart.model_validate_json((path / f"shard-{shard}{PART}").read_text()) for shard in range(servers.shards)]
        if commit:
            self._commit(path, number, parts)
        return parts

    def _commit(self, path: Path, number: int, parts: list[ExportPart]) -> None:
        servers, after = self._servers, check_parts(parts)
        publish(path, number, None if after is None else servers.committed[after], parts, TENSORS)
        servers.number, servers.committed[self._place] = number, number
        for marks, tables in zip(servers.marks, servers.tables, strict=True):
            marks.note_commit(self._place, tables)


def publish(path: Path, number: int, after: int | None, parts: list[ExportPart], described: dict[str, Any]) -> None:
    """Write the manifest of an export, whose files lie in the folder `path`. `described`: the places of the model's tensors."""
    tensors = state_file(described)
    Folder(path).put("tensors.safetensors", tensors)
    manifest = ExportManifest(
        job="job",
        number=number,
        after=after,
        attempt=1,
        made_at=datetime.now(UTC),
        exported=parts[0].exported,
        rows=sum(part.rows for part in parts),
        gone=sum(part.gone for part in parts),
        parts=manifest_parts(parts),
        tensors=ListedFile(name="tensors.safetensors", size=tensors.nbytes, sha256=sha256_of(tensors)),
    )
    (path / MANIFEST).write_text(manifest.model_dump_json())
