"""The key of a string and the shard of a key, as the compiled loops of workers and servers compute them."""

from __future__ import annotations

import re

from gradstream.errors import Invalid

_64_BITS, _SIGN = 2**64 - 1, 2**63
_FNV_OFFSET, _FNV_PRIME = 0xCBF29CE484222325, 0x100000001B3
_BUCKET_BITS = 10
_WHOLE = re.compile(r"[+-]?[0-9]{1,20}")


def parse_key(text: str) -> int:
    """Raises: Invalid: it is no whole number of 64 bits."""
    key = int(text) if _WHOLE.fullmatch(text.strip()) else None
    if key is None or not -_SIGN <= key < _SIGN:
        raise Invalid(f"'{text[:40]}' is not a key. A key is a whole number of 64 bits; look strings up by text and field")
    return key


def hashed_key(text: str, field: str) -> int:
    """The key that `gradstream.nn.hashed` makes of a string."""
    value = _FNV_OFFSET
    for byte in f"{field}\0{text}".encode():
        value = (value ^ byte) * _FNV_PRIME & _64_BITS
    mixed = _mix(value)
    return mixed - 2**64 if mixed >= _SIGN else mixed


def shard_of(key: int, shards: int) -> int:
    bucket = _mix(key & _64_BITS) >> (64 - _BUCKET_BITS)
    return (bucket * shards) >> _BUCKET_BITS


def _mix(x: int) -> int:
    """splitmix64 with its increment, as in `gradstream.center.tables.hashing`."""
    x = (x + 0x9E3779B97F4A7C15) & _64_BITS
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & _64_BITS
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & _64_BITS
    return x ^ (x >> 31)
