"""Parts of archives by hand: headers, files and extensions as no program writes them."""

from __future__ import annotations

import gzip
from collections.abc import Iterator

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
