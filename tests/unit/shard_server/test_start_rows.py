"""Tables that start with the rows of another job, of another number of servers."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from gradstream.center.tables.hashing import buckets_of
from gradstream.center.tables.hosted import HostedTables
from gradstream.center.tables.payload import RowGradients, RowKeys
from gradstream.center.tables.storage.contents import read_contents
from gradstream.center.tables.storage.copying import TableCopy, pieces
from gradstream.center.tables.storage.row_file import StoredRows
from gradstream.center.tables.storage.starting import put_start
from gradstream.center.tables.storage.trained import ENTRY, trained_part, trained_tensors
from gradstream.process.exits import UserError
from gradstream.process.saving.content import Content
from gradstream.process.saving.part_list import ListedFile, PartList
from gradstream.process.saving.tensor_file import TensorFile
from gradstream.shard_server.saving.row_files import RowChain, RowFiles
from gradstream.shard_server.saving.start_rows import put_rows
from gradstream.sim.toys import job
from gradstream.spec import JobSpec

WIDTHS = {"deep": 2, "wide": 1}
SPECS: dict[str, dict[str, Any]] = {
    "adam": {"rule": {"name": "adam"}, "admit": {"count": 2}, "keep": {"decay": 0.9, "score": 0.15, "unseen": 3}},
    "adagrad": {"rule": {"name": "adagrad"}},
    "rowwise": {"rule": {"name": "adagrad", "rowwise": True, "initial": 0.5}},
    "ftrl": {"rule": {"name": "ftrl", "l1": 0.01}},
}


def spec_of(settings: str, shards: int, bound: int | None = None) -> JobSpec:
    """`bound`: rows of each table in memory, of all shards."""
    tables = {"default": SPECS[settings] | ({"memory": {"rows": bound}} if bound else {})}
    return job({"name": "sync"}, tables=tables, roles={"server": {"count": shards}}, seed=shards)


def hosts(spec: JobSpec, widths: dict[str, int] = WIDTHS) -> list[HostedTables]:
    return [HostedTables(spec, widths, shard) for shard in range(spec.roles.server.shards)]


def push(hosted: Iterable[HostedTables], draw: np.random.Generator) -> None:
    for each in hosted:
        for name, table in each.tables.items():
            keys = np.unique(draw.zipf(1.3, 400) % 3000)
            mine = keys[np.isin(buckets_of(keys), table.buckets)]
            found = each.look_up({name: RowKeys(mine)})[name]
            gradients = draw.normal(size=found.values.shape).astype(np.float32)
            ones = np.ones(len(mine), np.int64)
            each.push([({name: RowGradients(mine, found.loans, gradients, ones, draw.random(len(mine), np.float32))}, 1.0)], 1.0)


def push_one(hosted: HostedTables, key: int, loans: NDArray[Any]) -> None:
    gradient, one, none = np.ones((1, 1), np.float32), np.ones(1, np.int64), np.zeros(1, np.float32)
    hosted.push([({"wide": RowGradients(np.array([key]), loans, gradient, one, none)}, 1.0)], 1.0)


def rows(hosted: Iterable[HostedTables], width: int | None = None) -> dict[tuple[str, int], bytes]:
    """By table and key: values (`width`: of each), updates and events."""
    found = {}
    for each in hosted:
        for name, table in each.tables.items():
            c = read_contents(table)
            for key, values, updates, events in zip(c.keys, c.values, c.updates, c.events, strict=True):
                rest = b"" if width else updates.tobytes() + events.tobytes()
                found[name, int(key)] = (values[: WIDTHS[name]] if width else values).tobytes() + rest
    return found


def candidates(hosted: Iterable[HostedTables]) -> dict[tuple[str, int], bytes]:
    found = {}
    for each in hosted:
        for name, table in each.tables.items():
            c = read_contents(table)
            for key, occurrences, events in zip(c.waiting, c.waiting_occurrences, c.waiting_events, strict=True):
                found[name, int(key)] = occurrences.tobytes() + events.tobytes()
    return found


def write(file: Path, content: Content) -> None:
    with file.open("wb") as out:
        for chunk in content.chunks():
            out.write(chunk)


def make_checkpoints(hosted: list[HostedTables], folder: Path, count: int, draw: np.random.Generator) -> None:
    """Train, and leave the files of the last checkpoint as a job that starts from it gets them."""
    chains = [RowFiles(1) for _ in hosted]
    for number in range(1, count + 1):
        for _ in range(3):
            push(hosted, draw)
        for shard, each in enumerate(hosted):
            for table in each.tables.values():
                table.shrink()
            stored: list[ListedFile] = []
            copy, rests_on = chains[shard].begin(number, each, stored)
            copy.complete()
            for name, content in copy.files():
                file = ListedFile(name=f"shard-{shard}.{name}", size=content.nbytes, sha256="0" * 64)
                stored.append(file)
                write(folder / file.name if number == count else folder / f"shard-{shard}.1-{number}-{name}", content)
            (folder / f"shard-{shard}.json").write_text(PartList(files=tuple(stored), rests_on=rests_on).model_dump_json())
            chains[shard].note_commit(number, each)


def store_trained_rows(hosted: list[HostedTables], spec: JobSpec, folder: Path) -> None:
    for shard, each in enumerate(hosted):
        part = trained_part(spec, 7, shard, each.tables)
        write(folder / f"tables-{shard}.safetensors", TensorFile(trained_tensors(each.tables), {ENTRY: part.model_dump_json()}))


def start(folder: Path, spec: JobSpec, widths: dict[str, int] = WIDTHS, *, checkpoint: Any = "last") -> list[HostedTables]:
    def fetch(name: str) -> Path | None:
        if not (folder / name).exists():
            return None
        copy = folder / f"copy-{name}"
        copy.write_bytes((folder / name).read_bytes())
        return copy

    made = hosts(spec, widths)
    for shard, tables in enumerate(made):
        put_rows(fetch, checkpoint, shard, len(made), tables)
    assert not list(folder.glob("copy-*")), "readers remove their copies"
    return made


@pytest.mark.few(1)
@pytest.mark.parametrize("shards", [1, 2, 3])
@pytest.mark.parametrize("settings", ["adam", "ftrl"])
def test_rows_with_their_state_come_from_a_base_and_increments(
    settings: str, shards: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Shows in the base decay by the passes that have ended since."""
    monkeypatch.setattr(RowChain, "is_long", False)
    first, draw = hosts(spec_of(settings, 2)), np.random.default_rng(1)
    make_checkpoints(first, tmp_path, 3, draw)
    rests_on = PartList.model_validate_json((tmp_path / "shard-0.json").read_text()).rests_on
    assert [file.checkpoint for file in rests_on] == [1, 2]
    second = start(tmp_path, spec_of(settings, shards))
    assert rows(second) == rows(first)
    assert rows(start(tmp_path, spec_of(settings, shards), checkpoint=3)) == rows(first), "as of the checkpoint with this number"
    assert len(rows(first)) > 100
    assert candidates(second) == candidates(first)
    assert bool(candidates(first)) == (settings == "adam")
    assert all(table.time == 0 and not read_contents(table).seen.any() for each in second for table in each.tables.values())
    push(second, draw)  # training goes on, and a checkpoint has all rows
    copy, stored = RowFiles(1).begin(1, second[0], [])
    assert stored == ()
    copy.complete()
    assert copy.nbytes > 0


def cold_rows(hosted: Iterable[HostedTables]) -> list[int]:
    return [table.tier.cold for each in hosted for table in each.tables.values() if table.tier]


@pytest.mark.few(1)
@pytest.mark.parametrize("checkpoint", ["last", "final"])
@pytest.mark.parametrize(("from_bound", "to_bound"), [(60, None), (None, 60), (90, 60)])
def test_cold_rows_come_along(checkpoint: str, from_bound: int | None, to_bound: int | None, tmp_path: Path) -> None:
    """Rows that lie on the disk of a server start the other job as those in memory do, and training goes on with the same bits."""
    draw = np.random.default_rng(8)
    first, in_memory = hosts(spec_of("adagrad", 2, from_bound)), hosts(spec_of("adagrad", 2))
    for each, folder in ((in_memory, tmp_path / "in-memory"), (first, tmp_path)):
        folder.mkdir(exist_ok=True)
        make_checkpoints(each, folder, 2, np.random.default_rng(7))
        store_trained_rows(each, spec_of("adagrad", 2), folder)
    assert rows(first) == rows(in_memory)
    second, plain = (start(tmp_path, spec_of("adagrad", 3, bound), checkpoint=checkpoint) for bound in (to_bound, None))
    width = 1 if checkpoint == "final" else None
    assert rows(second, width) == rows(plain, width) == rows(first, width)
    assert (sum(cold_rows(first)) > 300) == bool(from_bound)
    for hosted, bound in ((first, from_bound), (second, to_bound)):
        assert all(cold_rows(hosted)) if bound else not cold_rows(hosted)
    state = draw.bit_generator.state
    for each in (second, plain):
        draw.bit_generator.state = state
        push(each, draw)
    assert rows(second) == rows(plain)


@pytest.mark.more
def test_another_rule_takes_the_weights_and_begins_anew(tmp_path: Path) -> None:
    first = hosts(spec_of("adagrad", 2))
    make_checkpoints(first, tmp_path, 2, np.random.default_rng(3))
    second = start(tmp_path, spec_of("rowwise", 3))
    assert rows(second, width=1) == rows(first, width=1)
    for each in second:
        for table in each.tables.values():
            contents = read_contents(table)
            assert (contents.values[:, table.width :] == 0.5).all()
            assert not contents.updates.any()


def test_a_late_gradient_for_a_row_of_the_other_job_reaches_no_later_row() -> None:
    """The other job made the row in its third pass. This one evicts it, and makes another one there in its own third pass."""
    spec = job({"name": "sync"}, tables={"default": {"rule": {"name": "sgd", "lr": 1.0}, "keep": {"unseen": 1}}})
    first, second = (HostedTables(spec, {"wide": 1}, 0) for _ in range(2))
    first.tables["wide"].time = 2
    push_one(first, 1, loans=first.tables["wide"].look_up(np.array([1])).loans)
    piece, _ = pieces(TableCopy(first.tables["wide"], None))
    put_start(second, StoredRows({"wide": 2}, {"wide": piece}, {"wide": first.tables["wide"].spec}), {"wide": 2})
    table = second.tables["wide"]
    late = table.look_up(np.array([1])).loans
    assert (table.shrink(), table.shrink()) == (0, 1)
    push_one(second, 2, loans=table.look_up(np.array([2])).loans)
    before = table.look_up(np.array([2])).values
    push_one(second, 1, loans=late)
    assert table.look_up(np.array([2])).values == before
    assert second.accounts["wide"].missed + second.accounts["wide"].counted == 1


def test_trained_rows_are_weights_alone(tmp_path: Path) -> None:
    spec = spec_of("adam", 2)
    first, draw = hosts(spec), np.random.default_rng(4)
    push(first, draw)
    push(first, draw)
    store_trained_rows(first, spec, tmp_path)
    second = start(tmp_path, spec_of("rowwise", 3), checkpoint="final")
    assert rows(second, width=1) == rows(first, width=1)
    assert rows(first)
    with pytest.raises(UserError, match="table 'deep': ftrl computes weights from its state, which is not there"):
        start(tmp_path, spec_of("ftrl", 1), checkpoint="final")
    (tmp_path / "tables-1.safetensors").unlink()
    with pytest.raises(UserError, match=r"the other job has no tables-1\.safetensors"):
        start(tmp_path, spec_of("rowwise", 1), checkpoint="final")


@pytest.mark.parametrize(
    ("widths", "said"),
    [
        ({"deep": 2}, "the model has no table 'wide', which the other job has; it has deep"),
        (WIDTHS | {"more": 1}, "the other job has no table 'more'; it has deep, wide"),
        ({"deep": 3, "wide": 1}, "the vectors of table 'deep' have another dim in the other job than 3"),
    ],
)
def test_tables_that_differ_are_refused(widths: dict[str, int], said: str, tmp_path: Path) -> None:
    first = hosts(spec_of("adagrad", 1))
    make_checkpoints(first, tmp_path, 1, np.random.default_rng(5))
    with pytest.raises(UserError, match=f"start_from: {said}"):
        start(tmp_path, spec_of("adagrad", 1), widths)
    (tmp_path / "shard-0.json").unlink()
    with pytest.raises(UserError, match="the other job has no embedding tables"):
        start(tmp_path, spec_of("adagrad", 1))


@pytest.mark.parametrize(
    "lie",
    [
        {"deep/keys": torch.zeros(3)},
        {"deep/values": torch.zeros(1, 2)},
        {"deep/events": torch.zeros(0, 3)},
        {"deep/x": torch.ones(1)},
    ],
)
def test_files_of_rows_that_lie_are_refused(lie: dict[str, torch.Tensor], tmp_path: Path) -> None:
    """They may be of a job of another user."""
    first = hosts(spec_of("adagrad", 1))
    make_checkpoints(first, tmp_path, 1, np.random.default_rng(6))
    file = tmp_path / "shard-0.rows-0.safetensors"
    with safe_open(file, framework="pt") as opened:
        metadata = opened.metadata()
    save_file(load_file(file) | lie, file, metadata)
    with pytest.raises(UserError, match="its tensors are not those of rows"):
        start(tmp_path, spec_of("adagrad", 1))
