"""Archives that are odd, and for some programs harmful: names that are one file on another system, links, sparse files, members
twice, and what only looks like a tar archive in gzip."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator

from tests.hostile.archives.tar_bytes import BLOCK, END, archive, file, folder, header, long_name, padded, pax, record

GNU = b"ustar  \0"
NAMES = [
    "Work.py",
    "WORK.PY",
    "work.py ",
    "work.py.",
    "./work.py",
    "a//b.py",
    "caf\u00e9.py",
    "cafe\u0301.py",
    "\ufb01le.py",
    "work\u200b.py",
    "\u202eyp.krow",
    "a:stream",
    "NUL.py",
    "a\tb",
    "a\x1b[2Jb",
    "\x7f",
    "-rf",
    "*",
    "$(id)",
    "__pycache__/work.cpython-311.pyc",
    ".git/hooks/post-checkout",
    "sitecustomize.py",
    "\u0130.py",
    "a/../b",
    "e" * 255,
    "\U0001f642" * 63,
]
"""Some are one name on a system that folds letters, some are none at all on another."""


def sparse(name: str, regions: list[tuple[int, int]], size: int, *, more: bool = False) -> bytes:
    """An entry in GNU's old sparse format: where its pieces are, and how large it claims to be."""
    raw = bytearray(header(name, b"S", 512, magic=GNU))
    for at, (offset, length) in enumerate(regions[:4]):
        raw[386 + 24 * at : 410 + 24 * at] = b"%011o\0%011o\0" % (offset, length)
    raw[482] = more
    raw[483:495] = b"%011o\0" % size
    raw[148:156] = b" " * 8
    raw[148:156] = b"%06o\0 " % sum(raw)
    return bytes(raw) + padded(b"x" * 512)


def sparse_pax(version: bytes, lines: bytes) -> bytes:
    return pax(
        record(b"GNU.sparse.major", version[:1])
        + record(b"GNU.sparse.minor", version[2:])
        + record(b"GNU.sparse.name", b"work.py")
        + record(b"GNU.sparse.realsize", b"9" * 11)
    ) + file("GNUSparseFile.0/work.py", lines)


def hard_link(name: str, target: str) -> bytes:
    return header(name, b"1", link=target.encode())


def soft_link(name: str, target: str) -> bytes:
    return header(name, b"2", link=target.encode())


def zipped(*names: str) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archived:
        for name in names:
            archived.writestr(zipfile.ZipInfo(name), b"x")
    return data.getvalue()


def gzip_of(raw: bytes, flags: int = 0, extra: bytes = b"", *, crc: int | None = None, size: int | None = None) -> bytes:
    """A gzip member by hand, with a checksum and a size that may be wrong."""
    packer = zlib.compressobj(wbits=-15)
    ends = struct.pack("<II", zlib.crc32(raw) if crc is None else crc, len(raw) if size is None else size)
    return b"\x1f\x8b\x08" + bytes([flags]) + bytes(6) + extra + packer.compress(raw) + packer.flush() + ends


def _tar(*parts: bytes) -> bytes:
    return b"".join(parts) + END


ODD: dict[str, Callable[[], bytes]] = {
    "a hard link to nothing": lambda: archive(file("a"), hard_link("b", "nothing")),
    "a hard link to itself": lambda: archive(hard_link("a", "a"), file("b")),
    "a hard link to what comes later": lambda: archive(hard_link("a", "b"), file("b")),
    "a hard link to a file outside": lambda: archive(file("a"), hard_link("b", "/etc/passwd")),
    "a soft link, then a file through it": lambda: archive(soft_link("a", "/tmp"), file("a/b")),
    "a soft link, then a file of its name": lambda: archive(soft_link("a", "../up"), file("a")),
    "a loop of soft links": lambda: archive(soft_link("a", "b"), soft_link("b", "a"), file("c")),
    "a file twice": lambda: archive(file("a", b"1"), file("a", b"2")),
    "a file, then a folder of its name": lambda: archive(file("a"), folder("a/"), file("b")),
    "a folder, then a file of its name": lambda: archive(folder("a/"), file("a")),
    "a file, then a file below it": lambda: archive(file("a"), file("a/b")),
    "a file below, then the file above it": lambda: archive(file("a/b"), file("a")),
    "a file under two spellings": lambda: archive(file("a", b"1"), file("./a", b"2"), file("a//", b"3")),
    "names that differ in case": lambda: archive(*(file(name) for name in ("Work.py", "work.py", "WORK.PY", "W/a", "w/a"))),
    "names that differ in their accents' form": lambda: archive(file("caf\u00e9.py"), file("cafe\u0301.py")),
    "names of all kinds": lambda: archive(*(file(name) for name in NAMES if len(name.encode()) <= 100)),
    "a name that is no UTF-8": lambda: archive(file(b"a\xff\xfe.py"), file("b")),
    "a name of 255 letters of four bytes": lambda: archive(long_name("\U0001f642".encode() * 255), file("a")),
    "a long name without its end": lambda: archive(long_name(b"b" * 512), file("a")),
    "a long name that is the last": lambda: archive(file("a"), long_name(b"b" * 200)),
    "a long link": lambda: archive(long_name(b"../" * 60, b"K"), hard_link("a", "x"), file("b")),
    "pieces of a sparse file that overlap": lambda: archive(sparse("a", [(0, 512), (0, 512), (256, 512)], 2**33 - 1)),
    "pieces of a sparse file beyond its end": lambda: archive(sparse("a", [(8**11 - 1, 8**11 - 1)], 1)),
    "a sparse file with more pieces than it has": lambda: archive(sparse("a", [(0, 512)], 512, more=True)),
    "an endless list of pieces": lambda: archive(sparse("a", [(0, 1)] * 4, 4, more=True), (b"0" * 504 + b"\1" + bytes(7)) * 4_000),
    "a sparse file of pax 1.0": lambda: archive(sparse_pax(b"1.0", b"1\n0\n99999999999\n")),
    "a sparse list of a million": lambda: archive(sparse_pax(b"1.0", b"1000000\n" + b"0\n1\n" * 100_000)),
    "a sparse list of no numbers": lambda: archive(sparse_pax(b"1.0", b"x\n-1\n")),
    "a sparse file of pax 0.1": lambda: archive(pax(record(b"GNU.sparse.map", b"0,1," * 20_000 + b"0")), file("a")),
    "a sparse file of pax 0.0": lambda: archive(
        pax((record(b"GNU.sparse.offset", b"0") + record(b"GNU.sparse.numbytes", b"9" * 20)) * 500), file("a")
    ),
    "a second volume": lambda: archive(header("a", b"M", 1, magic=GNU), padded(b"x"), file("b")),
    "a label and a list of a folder": lambda: archive(
        header("label", b"V", magic=GNU), header("a/", b"D", 4, magic=GNU), padded(b"Yb\0\0")
    ),
    "a tar of 1979": lambda: archive(header("a", b"\0", 1, magic=b"\0" * 8), padded(b"x")),
    "an archive behind the end of another": lambda: archive(file("a"), END, file("../up"), END, file("b")),
    "a block of zeros between files": lambda: archive(file("a"), bytes(BLOCK), file("b")),
    "an archive in an archive": lambda: archive(file("a.tar.gz", archive(file("../up"))), file("work.py")),
    "gzip in gzip": lambda: gzip.compress(archive(file("a")), mtime=0),
    "two members of gzip in the midst of a file": lambda: (
        gzip.compress(_tar(file("a"))[:700]) + gzip.compress(_tar(file("a"))[700:])
    ),
    "a checksum that is wrong": lambda: gzip_of(_tar(file("a")), crc=0),
    "a length that is wrong": lambda: gzip_of(_tar(file("a")), size=2**32 - 1),
    "unknown flags": lambda: gzip_of(_tar(file("a")), 0xE0),
    "an extra field of 64 KiB": lambda: gzip_of(_tar(file("a")), 4, struct.pack("<H", 65_535) + bytes(65_535)),
    "a checksum of the gzip header": lambda: gzip_of(_tar(file("a")), 2, b"\0\0"),
    "a comment without an end": lambda: b"\x1f\x8b\x08\x10" + bytes(6) + b"c" * 100_000,
    "xz": lambda: lzma.compress(_tar(file("a"))),
    "bzip2": lambda: bz2.compress(_tar(file("a"))),
    "zip": lambda: zipped("a", "../up", "A"),
    "zip behind tar": lambda: archive(file("a")) + zipped("../up"),
    "cpio": lambda: gzip.compress(b"070701" + b"0" * 104 + b"a\0\0\0"),
    "zstd": lambda: b"\x28\xb5\x2f\xfd" + bytes(100),
}
"""Each is refused in a sentence, or what it holds is taken as it is listed."""


def odd_entry(draw: random.Random) -> Iterator[bytes]:
    """Something odd in the midst of an archive."""
    name, other = draw.choice(NAMES), draw.choice([*NAMES, "work.py", "/etc/passwd", "../up", ""])
    match draw.randrange(7):
        case 0:
            yield hard_link(name[:90], other[:90])
        case 1:
            yield soft_link(name[:90], other[:90])
            yield file(f"{name[:40]}/b")
        case 2:
            yield file(name[:60], draw.randbytes(3))
            yield file(draw.choice([name, name.upper(), f"./{name}", f"{name}/", name.casefold()])[:60], draw.randbytes(5))
        case 3:
            regions = [(draw.choice([0, 1, 512, 8**11 - 1]), draw.choice([0, 1, 512, 8**11 - 1])) for _ in range(draw.randrange(5))]
            yield sparse("s", regions, draw.choice([0, 512, 8**11 - 1]), more=draw.random() < 0.5)
        case 4:
            lines = draw.choice([b"", b"0\n", b"1\n0\n1\n", b"2\n0\n", b"-1\n", b"1e3\n", b"9" * 600, b"1\n\xff\n1\n"])
            yield sparse_pax(draw.choice([b"1.0", b"0.1", b"0.0", b"9.9"]), lines)
        case 5:
            yield header("v", draw.choice([b"M", b"V", b"D", b"N", b"A", b"I"]), draw.choice([0, 4]), magic=GNU)
        case 6:
            yield draw.choice([END, bytes(BLOCK), draw.randbytes(BLOCK)])
