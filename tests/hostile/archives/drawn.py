"""Archives that mean harm, drawn from a seed."""

from __future__ import annotations

import gzip
import random
import zlib
from collections.abc import Iterator

from tests.hostile.archives.odd import odd_entry
from tests.hostile.archives.tar_bytes import BLOCK, END, header, long_name, padded, pax, record


def drawn(seed: int) -> bytes:
    """An archive from a seed: entries of all kinds and sizes with hostile names, headers before them, damaged here and there."""
    draw = random.Random(seed)
    is_odd = draw.random() < 0.3
    makes = [_entry, odd_entry] if is_odd else [_entry]
    parts = [part for _ in range(draw.choice([0, 1, 2, 5, 40])) for part in draw.choice(makes)(draw)]
    raw = b"".join(parts) + draw.choice([END, END, b"", bytes(BLOCK), draw.randbytes(300)])
    if draw.random() < 0.3 and raw:
        at = draw.randrange(len(raw))
        raw = raw[:at] + draw.randbytes(draw.choice([1, 3, 600])) + raw[at + draw.choice([0, 1, 512]) :]
    data = gzip.compress(raw, draw.choice([0, 1, 9]), mtime=0)
    match draw.randrange(12):
        case 0:
            return data[: draw.randrange(len(data))]
        case 1:
            return data + draw.choice([data, bytes(100), b"junk"])
        case 2:
            at = draw.randrange(len(data))
            return data[:at] + draw.randbytes(2) + data[at + 2 :]
        case 3:
            return draw.choice([raw, zlib.compress(raw), draw.randbytes(200), b""])
    return data


_PARTS = [
    "a",
    "b",
    "work.py",
    "..",
    ".",
    "",
    "c:",
    "\\",
    "\n",
    "\0",
    "é",
    "\udcff",
    "x" * 256,
    "-",
    "~",
    "CON",
    " ",
    "%2e%2e",
    "a/b",
]
_KINDS = [
    b"0",
    b"0",
    b"0",
    b"0",
    b"\0",
    b"7",
    b"5",
    b"5",
    b"1",
    b"2",
    b"3",
    b"4",
    b"6",
    b"S",
    b"L",
    b"K",
    b"x",
    b"g",
    b"X",
    b"V",
    b"D",
    b"Z",
]
_SIZES = [
    0,
    1,
    511,
    512,
    513,
    5_000,
    -1,
    -512,
    8**11 - 1,
    2**31,
    2**62,
    2**63,
    2**87,
    2**28,
    b"99999999999\0",
    b"-0000000001\0",
    b" 12\0",
    b"\xff" * 12,
]
_KEYS = [
    b"path",
    b"linkpath",
    b"size",
    b"GNU.sparse.realsize",
    b"GNU.sparse.name",
    b"GNU.sparse.map",
    b"hdrcharset",
    b"uid",
    b"mtime",
    b"comment",
    b"",
]
_VALUES = [
    b"",
    b"../up",
    b"/etc/x",
    b"a/b",
    b"-1",
    b"0",
    b"512",
    b"9" * 30,
    b"9" * 3_000,
    b"1e9",
    b"1.5",
    b"\xff",
    b"a\0b",
    b"BINARY",
    b"1,2,3",
]


def _entry(draw: random.Random) -> Iterator[bytes]:
    while draw.random() < 0.3:
        yield _extension(draw)
    name = (
        "/".join(draw.choice(_PARTS) for _ in range(draw.choice([1, 1, 2, 3, 70]))) if draw.random() < 0.6 else f"f{draw.random()}"
    )
    kind = draw.choice(_KINDS) if draw.random() < 0.4 else b"0"
    content = draw.randbytes(draw.choice([0, 1, 512, 700]))
    size = draw.choice(_SIZES) if draw.random() < 0.2 else len(content)
    magic = draw.choice([b"ustar\x0000", b"ustar  \0", b"\0" * 8])
    yield header(name[:120], kind, size, prefix=draw.choice([b"", b"", b"p", b"../.."]), magic=magic, link=b"/etc/passwd")
    yield padded(content)


def _extension(draw: random.Random) -> bytes:
    if draw.random() < 0.3:
        return long_name(
            "/".join(draw.choice(_PARTS) for _ in range(draw.choice([1, 5, 100]))).encode("utf-8", "surrogateescape"),
            draw.choice([b"L", b"K"]),
        )
    records = [record(draw.choice(_KEYS), draw.choice(_VALUES)) for _ in range(draw.choice([1, 2, 20]))]
    if draw.random() < 0.2:
        records.append(
            draw.choice([b"0 a=b\n", b"-5 a=b\n", b"99999 a=b\n", b"7 a=b", b"x", b" =\n", b"6 a=b\n\n", b"5 ab\n", b"9" * 400])
        )
    return pax(b"".join(records), draw.choice([b"x", b"x", b"g", b"X"]))
