"""User code on its way to the nodes: a gzip-compressed tar of regular files, named by the sha256 of its bytes.

    pack     a folder (or one file) -> Bundle      at the submitter's; the same files give the same bytes
    inspect  bytes -> Bundle                       at the API, which never runs or stores what this refuses
    unpack   bytes -> folder                       at the node

`rules` and `selecting` say what of a folder never travels; `reading` trusts nothing in the bytes.
"""

from gradstream.bundle.archive import ArchivedFile, Bundle, LeftOut
from gradstream.bundle.limits import MAX_BYTES, MAX_FILES, MAX_UNPACKED, MIB
from gradstream.bundle.packing import pack
from gradstream.bundle.reading import inspect, unpack
from gradstream.bundle.rules import IGNORE_FILE

__all__ = [
    "IGNORE_FILE",
    "MAX_BYTES",
    "MAX_FILES",
    "MAX_UNPACKED",
    "MIB",
    "ArchivedFile",
    "Bundle",
    "LeftOut",
    "inspect",
    "pack",
    "unpack",
]
