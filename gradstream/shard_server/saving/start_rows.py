"""The rows of another job, with which the tables of this one start. Each server fetches the files that have keys of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from gradstream.center.tables.hashing import buckets_of_shard
from gradstream.center.tables.hosted import HostedTables
from gradstream.center.tables.storage.row_file import StoredRows, read_entry, read_rows
from gradstream.center.tables.storage.starting import put_start
from gradstream.center.tables.storage.trained import TrainedPart, read_part, read_trained_rows
from gradstream.errors import Invalid
from gradstream.process.exits import UserError
from gradstream.process.order import ProcessOrder
from gradstream.process.saving.checkpoint_names import LIST, shard_part
from gradstream.process.saving.part_list import PartList
from gradstream.process.store import open_store, tables_file
from gradstream.spec.start import StartPoint, takes_checkpoint

Fetch = Callable[[str], Path | None]
"""Returns a copy of a file of the other job, which the reader removes; None: there is no such file."""


def put_start_rows(order: ProcessOrder, folder: Path, tables: HostedTables) -> None:
    """`tables`: of this server, still empty. Raises: UserError: they cannot start with those of the other job."""
    start = order.spec.start_from
    assert start is not None, "asked for jobs with a start only"
    fetch = partial(open_store(order.store, order).start, folder)
    put_rows(fetch, start.checkpoint, order.rank, order.spec.roles.server.shards, tables)


def put_rows(fetch: Fetch, checkpoint: StartPoint, shard: int, shards: int, tables: HostedTables) -> None:
    """`tables`: of this shard, of so many. Raises: UserError."""
    mine = buckets_of_shard(shard, shards)
    try:
        for stored, end in _of_checkpoint(fetch, mine) if takes_checkpoint(checkpoint) else _of_model(fetch, mine):
            put_start(tables, stored, end)
    except Invalid as error:
        raise UserError(f"start_from: {error}") from error


_Parts = Iterator[tuple[StoredRows, dict[str, int]]]
"""Rows, and the pass of each table at their job's end."""


def _of_checkpoint(fetch: Fetch, mine: range) -> _Parts:
    lists = list(_part_lists(fetch))
    if not lists:
        raise Invalid("the other job has no embedding tables; start from a job whose model has the same ones")
    for shard, listed in enumerate(lists):
        if _overlap(buckets_of_shard(shard, len(lists)), mine):
            files = [_needed(fetch, name) for name in listed.start_names]
            end = read_entry(files[-1]).times
            for file in files:
                yield read_rows(file), end
                file.unlink()


def _part_lists(fetch: Fetch) -> Iterator[PartList]:
    shard = 0
    while file := fetch(shard_part(shard) + LIST):
        yield PartList.model_validate_json(file.read_text())
        file.unlink()
        shard += 1


def _of_model(fetch: Fetch, mine: range) -> _Parts:
    first: TrainedPart | None = None
    shard = 0
    while first is None or shard < first.shards:
        if first is None or _overlap(buckets_of_shard(shard, first.shards), mine):
            file = _needed(fetch, tables_file(shard))
            part = read_part(file)
            first = first or part
            if part.model_copy(update={"shard": 0}) != first.model_copy(update={"shard": 0}):
                raise Invalid(f"{file.name} is of another version than {tables_file(0)}; submit the job again")
            yield StoredRows(dict.fromkeys(part.tables, 0), read_trained_rows(file, part)), dict.fromkeys(part.tables, 0)
            file.unlink()
        shard += 1


def _needed(fetch: Fetch, name: str) -> Path:
    if file := fetch(name):
        return file
    raise Invalid(f"the other job has no {name}; start from a job whose model has the same embedding tables")


def _overlap(one: range, other: range) -> bool:
    return one.start < other.stop and other.start < one.stop
