"""Batches as they are kept: the bytes that came, compressed. No database here."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

_ZSTD = pa.Codec("zstd", compression_level=3)
_HEAD = 4


def pack(came: bytes) -> bytes:
    return len(came).to_bytes(_HEAD, "little") + bytes(_ZSTD.compress(came, asbytes=True))


def unpack(kept: bytes) -> bytes:
    return bytes(_ZSTD.decompress(kept[_HEAD:], int.from_bytes(kept[:_HEAD], "little"), asbytes=True))


def pack_totals(totals: list[int]) -> bytes:
    return np.array(totals, "<i8").tobytes()


def unpack_totals(kept: bytes) -> list[int]:
    return list(map(int, np.frombuffer(kept, "<i8")))
