"""Archives that mean harm: the known attacks, and any number of others drawn from a seed."""

from __future__ import annotations

import gzip
import random
import zlib
from collections.abc import Callable, Iterator

BLOCK = 512
END = bytes(2 * BLOCK)


def header(
    name: str | bytes,
    kind: bytes = b"0",
    size: int | bytes = 0,
    *,
    prefix: bytes = b"",
    magic: bytes = b"ustar\x0000",
    link: bytes = b"",
) -> bytes:
    """One header with the right checksum. A size as bytes stands in its field as it is."""
    field = size if isinstance(size, bytes) else b"%011o\0" % size if 0 <= size < 8**11 else base256(size)
    raw = bytearray(BLOCK)
    for at, value in (
        (0, name.encode("utf-8", "surrogateescape") if isinstance(name, str) else name),
        (100, b"0000644\0"),
        (124, field),
        (148, b" " * 8),
        (156, kind),
        (157, link[:100]),
        (257, magic),
        (345, prefix),
    ):
        raw[at : at + len(value)] = value
    del raw[BLOCK:]
    raw[148:156] = b"%06o\0 " % sum(raw)
    return bytes(raw)


def base256(size: int) -> bytes:
    return bytes([0xFF if size < 0 else 0x80]) + (size % (1 << 88)).to_bytes(11, "big")


def padded(content: bytes) -> bytes:
    return content + bytes(-len(content) % BLOCK)


def file(name: str | bytes, content: bytes = b"x") -> bytes:
    return header(name, size=len(content)) + padded(content)


def folder(name: str) -> bytes:
    return header(name, b"5")


def record(key: bytes, value: bytes) -> bytes:
    """A pax record, whose length counts itself."""
    rest = b" " + key + b"=" + value + b"\n"
    length = len(rest)
    while len(rest) + len(str(length)) != length:
        length = len(rest) + len(str(length))
    return b"%d" % length + rest


def pax(content: bytes, kind: bytes = b"x") -> bytes:
    return header("pax", kind, len(content)) + padded(content)


def long_name(name: bytes, kind: bytes = b"L") -> bytes:
    return header("././@LongLink", kind, len(name)) + padded(name)


def archive(*parts: bytes, level: int = 6) -> bytes:
    return gzip.compress(b"".join(parts) + END, level, mtime=0)


def deep(count: int, depth: int) -> Iterator[bytes]:
    """Files in folders of their own, so deep."""
    for at in range(count):
        path = b"/".join([b"%x" % at, *[b"a"] * (depth - 1), b"f"])
        yield (long_name(path) if len(path) > 100 else b"") + header(path[:100], size=1) + padded(b"x")


KNOWN: dict[str, Callable[[], bytes]] = {
    "a size of 2^62": lambda: archive(header("a", size=2**62)),
    "a negative size": lambda: archive(header("a", size=-(2**62))),
    "a size of 2^62 after a file": lambda: archive(file("a"), header("b", size=2**62)),
    "an unknown kind of 2^62": lambda: archive(file("a"), header("b", b"Z", 2**62)),
    "a pax header of 2^62": lambda: archive(file("a"), header("p", b"x", 2**62)),
    "a pax header of 8 GiB": lambda: archive(file("a"), header("p", b"x", 8**11 - 1)),
    "a pax header of a negative size": lambda: archive(file("a"), header("p", b"x", -512)),
    "a pax size of 2^62": lambda: archive(pax(record(b"size", b"%d" % 2**62)), file("a")),
    "a pax size below 0": lambda: archive(pax(record(b"size", b"-512")), file("a")),
    "a pax size of no number": lambda: archive(pax(record(b"size", b"1_0")), file("a")),
    "an honest-looking 8 GiB": lambda: archive(header("a", size=8**11 - 1)),
    "a pax header of 60,000 digits": lambda: archive(pax(b"9" * 60_000), file("a")),
    "a pax header of a million digits": lambda: archive(pax(b"9" * 1_000_000), file("a")),
    "a size of 8,000 digits": lambda: archive(pax(record(b"size", b"9" * 8_000)), file("a")),
    "a pax number of 60,000 digits": lambda: archive(pax(record(b"mtime", b"9" * 60_000)), file("a")),
    "4,000 files 498 deep": lambda: archive(*deep(4_000, 498)),
    "1,000 files 64 deep": lambda: archive(*deep(1_000, 64)),
    "20,000 folders": lambda: archive(file("a"), *(folder(f"{at}/") for at in range(20_000))),
    "one folder 50,000 times": lambda: archive(file("a"), header("b/", b"5") * 50_000),
    "a chain of 990 long names": lambda: archive(long_name(b"b" * 200) * 990, file("a")),
    "a chain of 990 pax headers": lambda: archive(pax(record(b"path", b"b")) * 990, file("a")),
    "a chain of 990 global headers": lambda: archive(pax(record(b"comment", b"b"), b"g") * 990, file("a")),
    "a long name of 8 GiB": lambda: archive(header("././@LongLink", b"L", 8**11 - 1), file("a")),
    "a long name of 100 MiB": lambda: archive(long_name(b"b" * 100 * 2**20), file("a"), level=1),
    "a sparse file of 99 GB": lambda: archive(
        pax(record(b"GNU.sparse.major", b"1") + record(b"GNU.sparse.minor", b"0") + record(b"GNU.sparse.realsize", b"99999999999")),
        file("a", b"0\n"),
    ),
    "a sparse size": lambda: archive(pax(record(b"GNU.sparse.size", b"99999999999")), file("a")),
    "a sparse file of old GNU": lambda: archive(header("a", b"S", 512, magic=b"ustar  \0"), padded(b"x")),
    "a global size": lambda: archive(pax(record(b"size", b"99999999999"), b"g"), file("a")),
    "a global path": lambda: archive(pax(record(b"path", b"../up"), b"g"), file("a")),
    "a pax header at the end": lambda: archive(file("a"), pax(record(b"path", b"b"))),
    "a path with a NUL": lambda: archive(pax(record(b"path", b"a\0b")), file("a")),
    "260 MiB of zeros": lambda: archive(header("a", size=255 * 2**20), bytes(260 * 2**20), level=1),
    "100,000 empty gzip members": lambda: gzip.compress(b"", mtime=0) * 100_000 + archive(file("a")),
    "a gzip name of 20 MiB": lambda: b"\x1f\x8b\x08\x08" + bytes(6) + b"n" * (20 * 2**20),
    "zeros of 20 MiB behind the gzip member": lambda: archive(file("a")) + bytes(20 * 2**20),
}
"""Each once made an endless loop, seconds of work, gigabytes, or an error that was not caught; or is like one."""


def drawn(seed: int) -> bytes:
    """An archive from a seed: entries of all kinds and sizes with hostile names, headers before them, damaged here and there."""
    draw = random.Random(seed)
    parts = [part for _ in range(draw.choice([0, 1, 2, 5, 40])) for part in _entry(draw)]
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
