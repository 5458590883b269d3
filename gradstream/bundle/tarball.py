"""Reading tar (ustar, pax and GNU long names) from bytes that anyone may have made.

Every number is checked before it is used: a size against what may still come, the length of a header, the headers before an
entry. So each entry costs bounded time and memory, and nothing here recurses. Python's `tarfile` promises neither (ADR 63).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from gradstream.bundle import limits
from gradstream.bundle.inflating import Inflated, damaged
from gradstream.bundle.limits import MIB
from gradstream.errors import InvalidBundle

Kind = Literal["file", "folder", "link", "other"]

_BLOCK = 512
_KINDS: dict[bytes, Kind] = {
    b"0": "file",
    b"\0": "file",
    b"7": "file",
    b"5": "folder",
    b"1": "link",
    b"2": "link",
}
_WITHOUT_CONTENT = frozenset({b"1", b"2", b"3", b"4", b"5", b"6"})
_OCTAL = re.compile(rb"[0-7]{0,12}")
_RECORD = re.compile(rb"([1-9][0-9]{0,3}) ")
_DECIMAL = re.compile(rb"[0-9]{1,12}")
_NOT_FOR_ALL = frozenset({b"path", b"linkpath", b"size"})
"""Records that make no sense for all entries at once."""


@dataclass
class TarEntry:
    """One entry, whose content is readable until the next one is yielded."""

    name: str
    kind: Kind
    size: int
    executable: bool
    _source: Inflated
    _unread: int

    def read(self, size: int) -> bytes:
        """Raises: InvalidBundle: damaged."""
        wanted = min(size, self._unread)
        content = self._source.read(wanted)
        if len(content) < wanted:
            raise damaged("it ends within a file")
        self._unread -= wanted
        return content

    def skip(self) -> None:
        """Go to the next header."""
        self._source.skip(self._unread + -self.size % _BLOCK)
        self._unread = 0


@dataclass
class _Extensions:
    """The contents of the extension headers before an entry."""

    count: int = 0
    name: bytes | None = None
    size: int | None = None
    sparse: bool = False


def read_members(data: bytes) -> Iterator[TarEntry]:
    """Yield the entries of a gzip-compressed tar file, in their order. Raises: InvalidBundle."""
    source = Inflated(data)
    said = _Extensions()
    while (header := source.read(_BLOCK)).strip(b"\0"):
        _check(header)
        kind, size = header[156:157], _size(header)
        if kind in (b"x", b"g", b"L", b"K"):
            _extend(said, kind, _extension(source, size, said))
            continue
        member = _member(source, header, kind, size, said)
        said = _Extensions()
        yield member
        member.skip()
    if said.count:
        raise damaged("its last header belongs to no file")
    source.finish()


def _check(header: bytes) -> None:
    if len(header) < _BLOCK:
        raise damaged("it ends within a header")
    if _octal(header[148:156]) != sum(header) - sum(header[148:156]) + 8 * ord(" "):
        raise damaged("a header has the wrong checksum")


def _octal(given: bytes) -> int:
    digits = given.partition(b"\0")[0].strip(b" ")
    if not _OCTAL.fullmatch(digits):
        raise damaged("a number in a header cannot be read")
    return int(digits or b"0", 8)


def _size(header: bytes) -> int:
    """Read the size in a header. Beyond 8 GiB it is not octal, and the limits refuse it."""
    given = header[124:136]
    if given[0] & 0x80:
        raise InvalidBundle(f"a file in it claims a size that is negative or beyond {limits.MAX_UNPACKED // MIB} MiB")
    return _octal(given)


def _extension(source: Inflated, size: int, said: _Extensions) -> bytes:
    said.count += 1
    if size > limits.MAX_EXTENSION:
        raise InvalidBundle(f"a header in it has {size:,} bytes, {limits.MAX_EXTENSION:,} are allowed; use shorter names")
    if said.count > limits.MAX_EXTENSIONS:
        raise InvalidBundle(f"more than {limits.MAX_EXTENSIONS} headers precede one file")
    content = source.read(size)
    source.skip(-size % _BLOCK)
    if len(content) < size:
        raise damaged("it ends within a header")
    return content


def _extend(said: _Extensions, kind: bytes, content: bytes) -> None:
    if kind == b"L":
        said.name = content.partition(b"\0")[0]
    if kind not in (b"x", b"g"):
        return
    for key, value in _records(content):
        if kind == b"g" and (key in _NOT_FOR_ALL or key.startswith(b"GNU.sparse")):
            raise InvalidBundle(f"a header in it gives all files the same {key.decode(errors='replace')}")
        if kind == b"x" and key == b"path":
            said.name = value
        elif kind == b"x" and key == b"size":
            if not _DECIMAL.fullmatch(value):
                raise damaged("a size in a header is not a number, or too large")
            said.size = int(value)
        said.sparse = said.sparse or key.startswith(b"GNU.sparse")


def _records(content: bytes) -> Iterator[tuple[bytes, bytes]]:
    """`LENGTH KEY=VALUE` lines; the length counts the whole line."""
    at = 0
    while at < len(content):
        found = _RECORD.match(content, at)
        end = at + int(found[1]) if found else 0
        key, equals, value = content[found.end() : end - 1].partition(b"=") if found else (b"", b"", b"")
        if not (key and equals) or end > len(content) or content[end - 1 : end] != b"\n":
            raise damaged("a pax header cannot be read")
        yield key, value
        at = end


def _member(source: Inflated, header: bytes, kind: bytes, size: int, said: _Extensions) -> TarEntry:
    name = said.name if said.name is not None else _name(header)
    size = 0 if kind in _WITHOUT_CONTENT else size if said.size is None else said.size
    if size > source.left:
        raise InvalidBundle(f"a file in it claims {size:,} bytes; all files may have {limits.MAX_UNPACKED // MIB} MiB together")
    known: Kind = "folder" if kind == b"\0" and name.endswith(b"/") else _KINDS.get(kind, "other")
    return TarEntry(
        name=name.decode("utf-8", "surrogateescape"),
        kind="other" if said.sparse else known,
        size=size,
        executable=bool(_octal(header[100:108]) & 0o100),
        _source=source,
        _unread=size,
    )


def _name(header: bytes) -> bytes:
    name = header[:100].partition(b"\0")[0]
    prefix = header[345:500].partition(b"\0")[0] if header[257:263] == b"ustar\0" else b""
    return prefix + b"/" + name if prefix else name
