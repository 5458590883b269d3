"""The folder with the machine code of kernels, one for each state of their sources. Importing this needs no numba.

A process in a sandbox cannot write there, and must not: its code would run in other jobs. It takes a copy in its own folder,
whose path its program sets as `GRADSTREAM_KERNELS`.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from functools import cache
from importlib import metadata
from pathlib import Path

from platformdirs import user_cache_path

OWN_FOLDER = "GRADSTREAM_KERNELS"
"""Environment variable: the folder of this process for a copy."""
WHEN_IDLE = "--idle"
"""Argument of the program that compiles all kernels: only when no other program wants the processor."""
_TABLES = Path(__file__).parent
PACKAGES = (_TABLES, _TABLES / "cold", _TABLES / "storage", _TABLES / "summaries", _TABLES.parents[1] / "nn")
"""Folders with kernels."""
_COMPLETE = "complete"
"""File that a folder with all kernels has."""


@cache
def shared_folder() -> Path:
    """Return the folder for these sources and this numba.

    numba compares the time of a function's own file only, so it would run old code of a function that another file calls. It
    knows a named tuple by its class, not by its fields, so files with named tuples count, too. Intrinsics have no time at all.
    It also asks where a source lies, so each installation on a machine has its own folder."""
    sources = hashlib.sha256(metadata.version("numba").encode())
    for package in PACKAGES:
        sources.update(str(package).encode())
        for file in sorted(package.glob("*.py")):
            source = file.read_bytes()
            if any(mark in source for mark in (b"@kernel", b"intrinsic(", b"(NamedTuple)")):
                sources.update(source)
    return user_cache_path("gradstream") / "kernels" / sources.hexdigest()[:16]


def is_complete() -> bool:
    """True if all kernels are there."""
    return (shared_folder() / _COMPLETE).exists()


def mark_complete() -> None:
    (shared_folder() / _COMPLETE).touch()


def choose_folder() -> Path | None:
    """Return the folder that this process reads and writes; None: there is none, and each process compiles what it needs."""
    own, folder = os.environ.get(OWN_FOLDER), shared_folder()
    try:
        if own:
            return _copy(folder, Path(own))
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return folder if os.access(folder, os.W_OK) else None


def _copy(folder: Path, own: Path) -> Path:
    """Raises: OSError."""
    if not own.exists() and is_complete():
        return Path(shutil.copytree(folder, own))
    own.mkdir(parents=True, exist_ok=True)
    return own
