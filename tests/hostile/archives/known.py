"""The known attacks by archives."""

from __future__ import annotations

import gzip
from collections.abc import Callable

from tests.hostile.archives.tar_bytes import archive, deep, file, folder, header, long_name, padded, pax, record

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
