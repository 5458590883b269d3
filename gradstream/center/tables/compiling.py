"""Machine code of the kernels, compiled by numba at the first call and read from a cache afterwards."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core import config as numba_config
from platformdirs import user_cache_path

Function = TypeVar("Function", bound=Callable[..., Any])

PACKAGES = (Path(__file__).parent, Path(__file__).parents[2] / "nn")
"""Folders with kernels."""


def kernel(function: Function) -> Function:
    """Compile `function` for the types of its first call. It runs without the interpreter's lock, and in IEEE arithmetic."""
    config: Any = numba_config
    before, config.CACHE_DIR = config.CACHE_DIR, _FOLDER or config.CACHE_DIR
    try:
        compiled: Any = numba.njit(nogil=True, error_model="numpy", cache=bool(_FOLDER))(function)
    finally:
        config.CACHE_DIR = before
    return cast(Function, compiled)


def _cache_folder() -> str:
    """Return the folder for this state of the kernels' sources; empty if it cannot be written.

    numba compares the time of a function's own file only, so it would run old code of a function that another file calls."""
    sources = hashlib.sha256(numba.__version__.encode())
    for package in PACKAGES:
        for file in sorted(package.glob("*.py")):
            source = file.read_bytes()
            sources.update(source if b"@kernel" in source else b"")
    folder = user_cache_path("gradstream") / "kernels" / sources.hexdigest()[:16]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return ""
    return str(folder) if os.access(folder, os.W_OK) else ""


_FOLDER = _cache_folder()
