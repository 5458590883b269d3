"""Embedding rows in memory: what is packed is read again, and what is damaged is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradstream.center.tables.half import RowCodec
from gradstream.center.tables.payload import (
    KNOWN,
    LOAN,
    AnyRows,
    FoundRows,
    KnownKeys,
    RowGradients,
    RowKeys,
    decoded_values,
    encoded_values,
)
from gradstream.wire.transport.rows import PackedRows, unpack_rows


def rows(kind: str, count: int, width: int) -> AnyRows:
    draw = np.random.default_rng(count * 10 + width)
    keys = draw.integers(-(2**63), 2**63 - 1, count)
    values = draw.normal(size=(count, width)).astype(np.float32)
    loans = np.zeros(count, LOAN)
    loans["place"], loans["updates"] = draw.integers(0, 9, count), draw.integers(0, 2**32 - 1, count)
    if kind == "keys":
        return RowKeys(keys)
    if kind == "found":
        return FoundRows(keys, values, loans)
    return RowGradients(keys, loans, values, draw.integers(1, 9, count), draw.random(count).astype(np.float32))


def packed(given: dict[str, AnyRows], asks: dict[str, RowKeys] | None = None) -> bytearray:
    made = PackedRows(given, asks)
    memory = bytearray(b"".join(made.chunks()))
    assert len(memory) == made.nbytes
    return memory


def columns(of_table: AnyRows) -> dict[str, Any]:
    return {name: getattr(of_table, name) for name in type(of_table).__slots__}


@pytest.mark.parametrize("kind", ["keys", "found", "gradients"])
@pytest.mark.parametrize("counts", [(), (0,), (1,), (7, 0, 1000)])
def test_rows_are_read_as_they_were_packed(kind: str, counts: tuple[int, ...]) -> None:
    given = {f"tåble {number}": rows(kind, count, number + 1) for number, count in enumerate(counts)}
    found, asks = unpack_rows(memoryview(packed(given)))
    assert asks is None
    assert list(found) == list(given)
    for name, of_table in given.items():
        assert type(found[name]) is type(of_table)
        for column, values in columns(of_table).items():
            read = columns(found[name])[column]
            assert (read.dtype, read.shape) == (values.dtype, values.shape)
            assert read.tobytes() == values.tobytes()
            assert read.flags.writeable, "a kernel is compiled once more for arrays that cannot be written to"


@pytest.mark.parametrize("pushed", [{}, {"deep": rows("gradients", 5, 3)}])
def test_a_push_may_ask_for_rows_of_other_tables_than_it_brings(pushed: dict[str, AnyRows]) -> None:
    known = np.zeros(3, KNOWN)
    known["updates"] = 7, 8, 9
    asks = {"wide": RowKeys(np.arange(7)), "none": RowKeys(np.arange(0)), "cached": KnownKeys(np.arange(3), known)}
    found = unpack_rows(memoryview(packed(pushed, asks)))
    assert list(found.rows) == list(pushed)
    assert found.asks is not None
    assert {name: of_table.keys.tolist() for name, of_table in found.asks.items()} == {
        "wide": list(range(7)),
        "none": [],
        "cached": [0, 1, 2],
    }
    assert [type(of_table) for of_table in found.asks.values()] == [RowKeys, RowKeys, KnownKeys]
    assert found.asks["cached"].known.tobytes() == known.tobytes()  # type: ignore[attr-defined]
    assert unpack_rows(memoryview(packed(pushed, {}))).asks == {}


@pytest.mark.parametrize("codec", ["fp16", "bf16"])
def test_encoded_rows_take_half_the_bytes_and_name_their_codec(codec: RowCodec) -> None:
    raw = rows("found", 100, 16)
    assert isinstance(raw, FoundRows)
    half = encoded_values(raw, codec)
    saved = len(packed({"deep": raw})) - len(packed({"deep": half}))
    assert 100 * 16 * 2 - 16 <= saved <= 100 * 16 * 2
    found = unpack_rows(memoryview(packed({"deep": half}))).rows["deep"]
    assert isinstance(found, FoundRows)
    assert found.values.tobytes() == half.values.tobytes()
    assert np.allclose(decoded_values(found).values, raw.values, rtol=2**-8)
    other = bytes(packed({"deep": half})).replace(codec.encode(), b"fp99")
    with pytest.raises(ValueError, match="first line is damaged"):
        unpack_rows(memoryview(bytearray(other)))


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: data[:-8],
        lambda data: data + b"\0" * 8,
        lambda data: data.replace(b'"found"', b'"bound"'),
        lambda data: data.replace(b"[", b"{", 1),
        lambda data: data.replace(b"\n", b" "),
        lambda data: b"",
        lambda data: data.replace(b", 5, 3]", b", -5, 3"),
        lambda data: data.replace(b", 5, 3]", b", 5, -1]"),
        lambda data: data.replace(b", 5, 3]", b", %d, 4]" % 2**62),
        lambda data: data.replace(b", 5, 3]", b", %d, %d]" % (2**70, 2**70)),
        lambda data: data.replace(b", 5, 3]", b", 0, %d]" % 2**70),
        lambda data: data.replace(b", 5, 3]", b", 1e400, 3]"),
        lambda data: b"[" * 100_000 + b"\n" + data,
    ],
)
def test_damaged_rows_are_refused(spoil: Any) -> None:
    with pytest.raises(ValueError, match=r"bytes|damaged|no end|buffer|negative"):
        unpack_rows(memoryview(bytearray(spoil(bytes(packed({"deep": rows("found", 5, 3)}))))))
