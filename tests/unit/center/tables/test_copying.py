"""Copies of tables that are made while the tables go on: what a copy has is what the table had when it began."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradstream.center.tables.hashing import buckets_of_shard
from gradstream.center.tables.storage import copying
from gradstream.center.tables.storage.contents import add_contents, read_contents
from gradstream.center.tables.storage.copying import TableCopy, TablePiece, forget_removed, pieces, put_piece
from gradstream.center.tables.table import EmbeddingTable
from gradstream.spec.tables import TableSpec

WIDTH = 2
KEPT: dict[str, Any] = {"keep": {"decay": 0.9, "score": 0.15, "unseen": 3}, "admit": {"count": 2}}
SPECS: dict[str, dict[str, Any]] = {
    "plain": {"rule": {"name": "adam"}},
    "kept": KEPT,
    "unseen": {"keep": {"unseen": 2}, "admit": {"count": 2}},
    "most": {"most": 1024},
    "scored": {"admit": {"score": 0.25}},
}


def table(spec: str, buckets: range | None = None) -> EmbeddingTable:
    return EmbeddingTable("t", WIDTH, TableSpec.model_validate(SPECS[spec]), 1, buckets or range(1024), capacity=10_000)


def push(to: EmbeddingTable, keys: list[int], draw: np.random.Generator | None = None) -> None:
    found = to.look_up(np.array(keys))
    gradients = draw.normal(size=(len(keys), WIDTH)).astype(np.float32) if draw else np.ones((len(keys), WIDTH), np.float32)
    to.push(found.keys, found.loans, gradients, np.ones(len(keys), np.int64), np.full(len(keys), 0.125, np.float32))


def bits(of: EmbeddingTable) -> dict[str, bytes]:
    return {name: values.tobytes() for name, values in read_contents(of).columns().items()}


def read(copy: TableCopy) -> list[TablePiece]:
    return list(pieces(copy))


def keys_of(read: list[TablePiece]) -> tuple[list[int], list[int]]:
    """Those with rows, and those that are gone."""
    rows = sorted(key for piece in read for key in piece.contents.keys.tolist())
    return rows, sorted(key for piece in read for key in piece.gone.tolist())


def test_copies_above_the_last_one_that_was_kept() -> None:
    """The golden history of the design; one copy in it fails."""
    found = EmbeddingTable("t", 1, TableSpec.model_validate({"keep": {"unseen": 9}}), capacity=100)

    def evict(key: int) -> None:
        found.arrays.rows.meta["seen"][:] = found.time
        place = found.look_up(np.array([key])).loans["place"][0]
        found.time += 9
        found.arrays.rows.meta["seen"][:] = found.time
        found.arrays.rows.meta["seen"][place] = found.time - 9
        assert found.shrink() == 1

    def pushed(*keys: int) -> None:
        looked = found.look_up(np.array(keys))
        found.push(looked.keys, looked.loans, np.ones((len(keys), 1), np.float32), np.ones(len(keys), np.int64))

    pushed(1, 2, 3)
    base = TableCopy(found, None)
    assert keys_of(read(base)) == ([1, 2, 3], [])
    pushed(2, 4)
    evict(3)
    second = TableCopy(found, base.until)
    assert keys_of(read(second)) == ([2, 4], [3])
    forget_removed(found, second.until)
    pushed(1)
    evict(4)
    failed = TableCopy(found, second.until)
    assert keys_of(read(failed)) == ([1], [4])
    pushed(4, 5)
    evict(5)
    assert keys_of(read(TableCopy(found, second.until))) == ([1, 4], [5])


@pytest.mark.few(1)
@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("seed", range(3))
def test_base_and_increments_are_the_table_at_each_place(spec: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pushes, growing buckets and shrinks come between the pieces. A third of the copies fail."""
    monkeypatch.setattr(copying, "PIECE", 40)
    draw, found, committed = np.random.default_rng(seed), table(spec), 0
    stored: list[tuple[int, list[TablePiece]]] = []

    def go_on() -> None:
        keys = np.unique(draw.zipf(1.3, 60) % 3000)
        push(found, keys.tolist(), draw)
        if draw.random() < 0.03:
            found.shrink()

    for number in range(12):
        for _ in range(10):
            go_on()
        expected, waits = bits(found), found.time
        copy = TableCopy(found, committed if stored else None)
        made = []
        while not copy.is_complete:
            made.append(copy.next_piece())
            if draw.random() < 0.5:
                go_on()
        restored = restore([*stored, (waits, made)], table(spec))
        assert bits(restored) == expected
        assert restored.time == waits
        if number == 0 or draw.random() < 0.7:
            stored, committed = [*stored, (waits, made)], copy.until
            forget_removed(found, committed)
    assert found.evicted > 0 or not found.spec.shrinks_every
    assert len(stored) > 3
    check_other_shards(spec, stored)


def restore(chain: list[tuple[int, list[TablePiece]]], into: EmbeddingTable) -> EmbeddingTable:
    for time, made in chain:
        into.decay_until(time)
        for piece in made:
            put_piece(into, piece)
    return into


def check_other_shards(spec: str, stored: list[tuple[int, list[TablePiece]]]) -> None:
    """Tables of other shards take from the same pieces what is of their buckets."""
    whole, joined = restore(stored, table(spec)), table(spec)
    for shard in range(7):
        part = restore(stored, table(spec, buckets_of_shard(shard, 7)))
        add_contents(joined, read_contents(part))
    assert bits(joined) == bits(whole)


def test_rows_after_a_restored_copy_have_the_same_bits() -> None:
    found = table("kept")
    for number in range(6):
        push(found, list(range(number, 300 + 7 * number)))
    chain = [(found.time, read(base := TableCopy(found, None)))]
    found.shrink()
    push(found, list(range(200, 500)))
    chain.append((found.time, read(TableCopy(found, base.until))))
    other = restore(chain, table("kept"))
    for each in (found, other):
        for number in range(5):
            push(each, list(range(100 * number, 100 * number + 150)))
            each.shrink()
    assert bits(found) == bits(other)
    assert 0 < found.alive < 500


def test_a_copy_that_is_dropped_leaves_the_table_as_it_is() -> None:
    found = table("plain")
    push(found, list(range(100)))
    copy = TableCopy(found, None)
    copy.next_piece()
    copy.drop()
    assert copy.is_complete
    assert found.complete_copy is None
    push(found, list(range(50)))
    assert found.arrays.saved.counts.tolist() == [0, 0]
    assert sum(len(piece.contents.keys) for piece in read(TableCopy(found, None))) == 100


def test_a_second_copy_completes_the_first() -> None:
    found = table("plain")
    push(found, list(range(100)))
    first = TableCopy(found, None)
    second = TableCopy(found, first.until)
    push(found, list(range(100)))
    assert keys_of(read(first)) == (list(range(100)), [])
    assert keys_of(read(second)) == ([], [])
