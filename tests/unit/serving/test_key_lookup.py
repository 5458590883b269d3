"""One key in stored exports and checkpoints, as the control plane finds it, against tables that are read whole."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradstream.center.tables.hashing import shards_of
from gradstream.center.tables.hosted import HostedTables
from gradstream.center.tables.storage.contents import read_contents
from gradstream.errors import Invalid
from gradstream.nn import hashed
from gradstream.process.lookup import stored_tensors
from gradstream.process.lookup.in_checkpoint import KeyInCheckpoint, find_in_checkpoint
from gradstream.process.lookup.in_export import ExportSearch
from gradstream.process.lookup.keys import hashed_key, parse_key, shard_of
from gradstream.process.lookup.stored_tensors import Damaged, FileCheck, SearchedFile
from gradstream.process.saving.content import sha256_of
from gradstream.process.saving.exports import ExportManifest, downloaded_export
from gradstream.process.saving.part_list import ListedFile
from gradstream.serving import Tables
from gradstream.serving.folder import read_manifest
from gradstream.shard_server.saving.row_files import RowChain, RowFiles
from tests.unit.serving.servers import Servers

KEPT: dict[str, Any] = {"keep": {"decay": 0.9, "score": 0.15, "unseen": 3}, "admit": {"count": 2}}


def search(servers: Servers, numbers: list[int] | None = None) -> ExportSearch:
    kept = numbers or list(range(1, servers.number + 1))

    def find_file(manifest: ExportManifest, name: str) -> SearchedFile:
        [file] = [file for file in manifest.files if file.name == name]
        return SearchedFile(downloaded_export(servers.folder, manifest.number) / name, file.size, file.sha256)

    return ExportSearch({number: read_manifest(servers.folder, number) for number in kept}, find_file, FileCheck())


def known(servers: Servers) -> set[int]:
    """Keys of rows and candidates."""
    contents = [read_contents(tables.tables["t"]) for tables in servers.tables]
    return {int(key) for each in contents for key in (*each.keys, *each.waiting)}


def test_keys_hash_as_at_workers_and_servers() -> None:
    keys = np.array([0, 1, 2, 7, 42, -1, 2**63 - 1, -(2**63)])
    for shards in (1, 3, 7, 1024):
        assert [shard_of(int(key), shards) for key in keys] == shards_of(keys, shards).tolist()
    for text in ("", "red", "größe", "a\0b"):
        assert hashed_key(text, "tags") == int(hashed([text], "tags")[0])


@pytest.mark.parametrize("text", ["", "red", "1.0", "1e3", str(2**63), "9" * 30, "٣"])
def test_a_key_is_a_whole_number_of_64_bits(text: str) -> None:
    assert [parse_key(number) for number in ("-9223372036854775808", " 42 ")] == [-(2**63), 42]
    with pytest.raises(Invalid, match=r"is not a key\. A key is a whole number of 64 bits"):
        parse_key(text)


@pytest.mark.few(1)
@pytest.mark.parametrize("shards", [1, 3])
def test_each_key_has_the_row_of_the_newest_export_or_the_reason_why_not(
    shards: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_tensors, "PIECE", 64)
    servers, draw = Servers(tmp_path, KEPT, shards), np.random.default_rng(shards)
    alive, ever, removed = set[int](), dict[int, int](), set[int]()
    for number in range(1, 9):
        for _ in range(3):
            servers.push(np.unique(draw.integers(-40, 40, 30)), draw)
            before = known(servers)
            servers.shrink()
            removed |= before - known(servers)
        servers.export(base=number in (1, 5))
        now = set(Tables(tmp_path).current.keys("t").tolist())
        ever |= dict.fromkeys(alive - now, number)  # the export in which each key was gone last
        alive = now
        found = {key: search(servers).find("t", key) for key in range(-45, 45)}
        assert {key for key, one in found.items() if one.state == "row"} == alive
        values = servers.look_up(np.array(sorted(alive)))
        assert all(np.array_equal(found[key].values, row) for key, row in zip(sorted(alive), values, strict=True))
        gone = {key for key, one in found.items() if one.state == "evicted"}
        assert ever.keys() - alive <= gone <= removed - alive, "others have never had a row in an export"
        after_base = {key for key in ever.keys() - alive if number < 5 or ever[key] > 5}
        assert all(found[key].number >= ever[key] for key in after_base)
        assert {key for key in gone if found[key].earlier} == {key for key in gone if number >= 5 and (found[key].number or 0) < 5}
    assert len(ever) > 10


def test_a_row_tells_the_export_in_which_it_changed_last(tmp_path: Path) -> None:
    servers = Servers(tmp_path, {})
    servers.push([1, 2])
    servers.export()
    servers.push([2])
    servers.export()
    found = search(servers)
    assert (found.find("t", 1).number, found.find("t", 2).number, found.find("t", 3).state) == (1, 2, "absent")


def test_a_damaged_file_is_named_with_its_export(tmp_path: Path) -> None:
    servers = Servers(tmp_path, {})
    servers.push([1, 2])
    servers.export()
    file = downloaded_export(tmp_path, 1) / "shard-0.rows-0.safetensors"
    whole = file.read_bytes()
    found = search(servers)
    assert found.find("t", 1).state == "row"
    for content, what in (
        (whole[:-1], "bytes and not"),
        (whole[:-1] + bytes([whole[-1] ^ 1]), "does not have its checksum"),
    ):
        file.write_bytes(content)
        with pytest.raises(
            Damaged, match=f"Export 1 is damaged .*shard-0.rows-0.safetensors .*{what}.*gradstream export JOB --base"
        ):
            found.find("t", 1)
    file.unlink()
    with pytest.raises(Damaged, match="cannot be read"):
        found.find("t", 1)
    file.write_bytes(whole)
    assert found.find("t", 1).state == "row"


class Checkpoints:
    """Checkpoints of one server, all of which are committed."""

    def __init__(self, folder: Path, tables: HostedTables) -> None:
        self.folder, self.tables, self.files = folder, tables, RowFiles(1)
        self.copies: list[list[SearchedFile]] = []

    def make(self) -> None:
        number, stored, files = len(self.copies) + 1, list[ListedFile](), list[SearchedFile]()
        copy, rests_on = self.files.begin(number, self.tables, stored)
        copy.complete()
        for name, content in copy.files():
            path = self.folder / f"{number}.{name}"
            path.write_bytes(b"".join(content.chunks()))
            stored.append(ListedFile(name=path.name, size=content.nbytes, sha256=sha256_of(content)))
            files.append(SearchedFile(path, content.nbytes, stored[-1].sha256))
        self.files.note_commit(number, self.tables)
        self.copies = [*(self.copies if rests_on else []), files]

    def find(self, key: int) -> KeyInCheckpoint:
        return replace(find_in_checkpoint(self.copies, "t", key, FileCheck()), spec=None)


def test_a_checkpoint_tells_of_candidates_and_scores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RowChain, "is_long", False)
    servers = Servers(tmp_path, {"keep": {"decay": 0.5, "score": 0.01, "unseen": 3}, "admit": {"count": 2}})
    made = Checkpoints(tmp_path, servers.tables[0])
    servers.push([1, 2])
    servers.push([1], clicks=1.0)
    made.make()
    assert made.find(1) == KeyInCheckpoint("row", 0, None, 0, 2.0, 1.0, pytest.approx(1.1))
    assert made.find(2) == KeyInCheckpoint("candidate", None, 1, 0, 1.0, 0.0, pytest.approx(0.1))
    assert made.find(3) == KeyInCheckpoint("absent")
    servers.shrink()
    servers.push([1, 3])
    servers.push([3])
    made.make()
    servers.shrink()
    made.make()
    assert len(made.copies) == 3
    assert made.find(1) == KeyInCheckpoint("row", 1, None, 1, 1.0, 0.25, pytest.approx(0.325))
    assert made.find(2) == KeyInCheckpoint("candidate", None, 1, 2, 0.25, 0.0, pytest.approx(0.025)), "decayed by two shrinks"
    servers.shrink()
    servers.shrink()
    made.make()
    assert made.find(2) == KeyInCheckpoint("evicted")
    made.copies[0][0].path.write_bytes(b"short")
    with pytest.raises(Damaged, match="has 5 bytes"):
        made.find(7)
