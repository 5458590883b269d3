"""A table that is bounded in memory is the one that is not, bit for bit, whatever its disk does; or it says what is wrong."""

from __future__ import annotations

import os
import resource
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from gradstream.center.tables.cold import tier as cold_tier
from gradstream.center.tables.half import DTYPES, RowCodec, decode_rows, encode_rows
from gradstream.center.tables.hashing import buckets_of_shard, shards_of
from gradstream.center.tables.payload import FoundRows, encoded_values
from gradstream.center.tables.storage import copying, spooled
from gradstream.center.tables.storage.contents import add_contents, read_contents
from gradstream.center.tables.storage.copying import TableCopy, pieces, put_piece
from gradstream.center.tables.table import EmbeddingTable
from gradstream.errors import Unavailable
from gradstream.spec.tables import TableSpec

WIDTH = 3
RULES: list[dict[str, Any]] = [
    {"name": "sgd", "lr": 0.1, "damp": True},
    {"name": "adagrad"},
    {"name": "adagrad", "rowwise": True},
    {"name": "adam"},
    {"name": "ftrl", "l1": 0.1},
]
POLICIES: list[dict[str, Any]] = [
    {},
    {"admit": {"count": 2}, "keep": {"unseen": 2}},
    {"admit": {"probability": 0.4}, "most": 1024},
    {"admit": {"score": 0.25}, "keep": {"decay": 0.9, "score": 0.15, "unseen": 3}},
]


def table(bound: int | None, shard: int = 0, shards: int = 1, folder: Path | None = None, **spec: Any) -> EmbeddingTable:
    given = spec | ({"memory": {"rows": bound}} if bound else {})
    buckets = buckets_of_shard(shard, shards)
    return EmbeddingTable("user", WIDTH, TableSpec.model_validate(given), 1, buckets, 20_000, folder)


def push(to: EmbeddingTable, found: FoundRows, seed: int) -> Any:
    draw, count = np.random.default_rng(seed), len(found.keys)
    gradients = draw.normal(size=(count, WIDTH)).astype(np.float32)
    clicks = draw.integers(0, 2, count).astype(np.float32)
    return to.push(found.keys, found.loans, gradients, draw.integers(1, 3, count), clicks)


def bits(of: EmbeddingTable) -> dict[str, bytes]:
    return {name: column.tobytes() for name, column in read_contents(of).columns().items()}


def train(tables: list[EmbeddingTable], rounds: int = 20, seed: int = 0) -> None:
    draw = np.random.default_rng(seed)
    for number in range(rounds):
        keys = np.unique(draw.zipf(1.2, 150) % 2000)
        for each in tables:
            push(each, each.look_up(keys), number)


@pytest.mark.few(1)
@pytest.mark.parametrize("policy", range(len(POLICIES)))
@pytest.mark.parametrize("rule", range(len(RULES)))
def test_moves_to_disk_change_no_bit(rule: int, policy: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pushes of old lookups, lookups alone, shrinks and copies come in a random order. Shards draw other rows into memory."""
    monkeypatch.setattr(copying, "PIECE", 60)
    spec, shards = {"rule": RULES[rule], **POLICIES[policy]}, (1, 2, 3, 7)[(rule + policy) % 4]
    draw = np.random.default_rng(100 * rule + policy)
    pairs = [(table(None, k, shards, **spec), table(100, k, shards, **spec)) for k in range(shards)]
    under_way: list[tuple[int, int, tuple[FoundRows, FoundRows]]] = []
    copies: list[tuple[TableCopy, ...]] = [()] * shards
    for step in range(120):
        keys = np.unique(draw.zipf(1.2, 120) % 1500)
        for k, (plain, bounded) in enumerate(pairs):
            mine = keys[shards_of(keys, shards) == k]
            found = plain.look_up(mine), bounded.look_up(mine)
            assert found[0].values.tobytes() == found[1].values.tobytes()
            assert all((found[0].loans[name] == found[1].loans[name]).all() for name in ("incarnation", "updates"))
            under_way.append((step, k, found))
        while len(under_way) > 4 * shards or (under_way and draw.random() < 0.5):
            number, k, found = under_way.pop(int(draw.integers(len(under_way))))
            one, other = (push(to, of, number) for to, of in zip(pairs[k], found, strict=True))
            assert (one.applied, one.counted, one.missed) == (other.applied, other.counted, other.missed)
            assert one.staleness.tobytes() == other.staleness.tobytes()
        what = draw.random()
        for k, pair in enumerate(pairs):
            if what < 0.1:
                assert pair[0].shrink() == pair[1].shrink()
            elif what < 0.2:
                copies[k] = tuple(TableCopy(each, None if what < 0.13 else each.mark - 1) for each in pair)
            if copies[k] and not copies[k][0].is_complete:
                same_pieces(*(each.next_piece() for each in copies[k]))
    for plain, bounded in pairs:
        check_bound(bounded)
        assert bits(plain) == bits(bounded)
        assert (plain.made, plain.evicted) == (bounded.made, bounded.evicted)
        assert bounded.made == bounded.tier.in_memory + bounded.tier.cold + bounded.evicted_rows  # type: ignore[union-attr]
    assert any(bounded.tier and bounded.tier.looked_up_cold > 50 for _, bounded in pairs)


def same_pieces(one: Any, other: Any) -> None:
    """Rows that a shrink has saved come in the order of the index, which has a random salt."""
    assert one.gone.tobytes() == other.gone.tobytes()
    order = [{False: np.argsort(each.contents.keys), True: np.argsort(each.contents.waiting)} for each in (one, other)]
    for name, column in one.contents.columns().items():
        of_candidates = name.startswith("waiting")
        expected, got = column[order[0][of_candidates]], getattr(other.contents, name)[order[1][of_candidates]]
        assert expected.tobytes() == got.tobytes(), name


def check_bound(bounded: EmbeddingTable) -> None:
    """The counts of the tier are those of its arrays, and no row is in two places."""
    tier = bounded.tier
    assert tier is not None
    assert tier.in_memory <= tier.bound
    assert tier.in_memory + tier.cold == bounded.alive
    places = bounded.look_up(read_contents(bounded).keys).loans["place"]
    at = tier.frames.at[places].astype(np.int64)
    assert len(set(at.tolist())) == len(at) == bounded.alive
    frames = at[at >= 0]
    assert (tier.frames.owners[frames] == places[at >= 0] + 1).all()
    assert np.count_nonzero(tier.frames.owners) == len(frames) == tier.in_memory
    assert int(tier.frames.live.sum()) == tier.cold


@pytest.mark.parametrize("codec", ["fp16", "bf16"])
def test_rows_that_travel_in_16_bits_are_those_of_a_table_in_memory(codec: RowCodec) -> None:
    pair, draw = (table(None, codec=codec), table(50, codec=codec)), np.random.default_rng(3)
    for number in range(40):
        keys = np.unique(draw.zipf(1.2, 100) % 1000)
        travelled = [encoded_values(each.look_up(keys), each.spec.codec) for each in pair]
        assert travelled[0].values.dtype == DTYPES[codec]
        assert travelled[0].values.tobytes() == travelled[1].values.tobytes()
        gradients = decode_rows(encode_rows(draw.normal(size=(len(keys), WIDTH)).astype(np.float32), codec))
        once, none = np.ones(len(keys), np.int64), np.zeros(len(keys), np.float32)
        for each, found in zip(pair, travelled, strict=True):
            assert each.push(found.keys, found.loans, gradients, once, none).applied, number
    assert bits(pair[0]) == bits(pair[1])
    assert pair[1].tier
    assert pair[1].tier.read > 100


def test_the_file_stays_small_while_rows_come_and_go() -> None:
    bounded = table(50)
    for number in range(300):
        keys = np.arange(number % 20, 1000, 20)
        push(bounded, bounded.look_up(keys), number)
    assert bounded.tier is not None
    assert bounded.tier.read > 10_000
    assert bounded.tier.file_bytes < 2.5 * 1000 * 4 * (WIDTH + 1 + 2)
    check_bound(bounded)


def test_frequent_rows_stay_in_memory_though_others_are_asked_for_once() -> None:
    bounded, frequent = table(1000), np.arange(100)
    for number in range(100):
        push(bounded, bounded.look_up(np.concatenate([frequent, np.arange(1000 + 40 * number, 1040 + 40 * number)])), number)
    assert bounded.tier is not None
    assert bounded.tier.cold > 3000
    bounded.tier.take_lookups()
    bounded.look_up(frequent)
    assert bounded.tier.take_lookups() == (100, 0)
    bounded.look_up(read_contents(bounded).keys)
    assert bounded.tier.take_lookups()[1] > 3000


@pytest.mark.more
def test_contents_of_a_bounded_table_load_into_any_other() -> None:
    plain, bounded, other = table(None), table(40), table(60)
    train([plain, bounded])
    for piece in pieces(TableCopy(bounded, None)):
        put_piece(other, piece)
    assert bits(other) == bits(plain)
    check_bound(other)
    joined = table(None)
    for shard in range(3):
        part = table(90, shard, 3)
        add_contents(part, read_contents(bounded))
        check_bound(part)
        add_contents(joined, read_contents(part))
    assert bits(joined) == bits(plain)
    train([plain, joined, other], seed=1)
    assert bits(other) == bits(plain) == bits(joined)


def test_trained_rows_of_a_bounded_table_are_those_of_any_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spooled, "_ROWS", 100)
    plain, bounded = table(None), table(40, folder=tmp_path)
    assert all(len(column) == 0 for column in spooled.keys_and_weights(bounded))
    train([plain, bounded])
    expected, got = spooled.keys_and_weights(plain), spooled.keys_and_weights(bounded)
    assert [(column.dtype, column.shape, column.tobytes()) for column in expected] == [
        (column.dtype, column.shape, column.tobytes()) for column in got
    ]
    assert list(tmp_path.iterdir()) == []
    with full_disk(4000), pytest.raises(Unavailable, match=r"its trained rows cannot be written to .*free space there"):
        spooled.keys_and_weights(bounded)


def test_a_lookup_of_many_keys_takes_no_more_memory() -> None:
    bounded = table(500)
    push(bounded, bounded.look_up(np.arange(2000)), 0)
    memory = bounded.nbytes
    for _ in range(3):
        bounded.look_up(np.arange(-10_000, 10_000))
    assert bounded.nbytes == memory
    assert bounded.alive == 2000


def test_the_file_has_no_name(tmp_path: Path) -> None:
    bounded = table(10, folder=tmp_path)
    train([bounded])
    assert bounded.tier is not None
    assert bounded.tier.file_bytes > 0
    assert list(tmp_path.iterdir()) == []


@contextmanager
def full_disk(nbytes: int) -> Iterator[None]:
    """No file of this process may become larger than this: the kernel refuses the write, as a full disk does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (nbytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_on_a_full_disk_rows_stay_in_memory_until_there_is_space() -> None:
    plain, bounded = table(None), table(50)
    tier = bounded.tier
    assert tier is not None
    with full_disk(4000):
        train([plain, bounded])
        assert tier.disk_error == "File too large"
        assert tier.in_memory > tier.bound
        assert tier.in_memory + tier.cold == bounded.alive
        assert bits(plain) == bits(bounded)
    train([plain, bounded], seed=1)
    assert tier.disk_error == ""
    check_bound(bounded)
    assert bits(plain) == bits(bounded)


def test_a_disk_that_is_nearly_full_is_left_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cold_tier, "KEPT_SHARE", 1.0)
    monkeypatch.setattr(cold_tier, "MAX_KEPT", 1 << 60)
    bounded = table(50)
    train([bounded])
    assert bounded.tier is not None
    assert (bounded.tier.disk_error, bounded.tier.cold) == ("it is nearly full", 0)
    free = shutil.disk_usage(bounded.tier.folder).free
    monkeypatch.setattr(cold_tier, "MAX_KEPT", 3 * free // 4)  # enough for a disk that was not full, less than twice as much
    train([bounded], seed=1)
    assert (bounded.tier.disk_error, bounded.tier.cold) == ("it is nearly full", 0)
    monkeypatch.setattr(cold_tier, "MAX_KEPT", free // 4)
    train([bounded], seed=2)
    assert bounded.tier.disk_error == ""
    check_bound(bounded)


@pytest.mark.parametrize("damage", ["bits", "another row", "short"])
def test_a_damaged_file_is_named_and_changes_nothing(damage: str, tmp_path: Path) -> None:
    bounded = table(50, folder=tmp_path)
    train([bounded])
    tier = bounded.tier
    assert tier is not None
    keys = read_contents(bounded).keys
    looked = bounded.look_up(keys)
    at = tier.frames.at[looked.loans["place"]].astype(np.int64)
    cold = np.flatnonzero(at < 0)[:2]
    spoil(tier, damage, -1 - at[cold])
    counts, updates = (bounded.alive, bounded.made), bounded.arrays.rows.meta.copy()
    message = r"table 'user': its file of rows .* cannot be read: .*; check this disk, or leave tables\.user\.memory out"
    with pytest.raises(Unavailable, match=message):
        bounded.look_up(keys[cold])
    with pytest.raises(Unavailable, match=message):
        push(bounded, FoundRows(*(column[cold] for column in (looked.keys, looked.values, looked.loans))), 0)
    with pytest.raises(Unavailable, match=message):
        read_contents(bounded)
    assert counts == (bounded.alive, bounded.made)
    assert updates.tobytes() == bounded.arrays.rows.meta.tobytes(), "no row was updated"


def spoil(tier: cold_tier.ColdTier, damage: str, records: NDArray[np.int64]) -> None:
    file, size = tier.frames.descriptor, 4 * len(tier.frames.record)
    first, second = (int(record) * size for record in records)
    if damage == "bits":
        os.pwrite(file, bytes([os.pread(file, 1, first)[0] ^ 16]), first)
    elif damage == "another row":
        os.pwrite(file, os.pread(file, size, second), first)
    else:
        os.ftruncate(file, min(first, second))


def test_a_folder_that_cannot_be_written_to_is_named(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match=r"table 'user' is bounded in memory, and its file cannot be made in .*absent"):
        table(10, folder=tmp_path / "absent")
