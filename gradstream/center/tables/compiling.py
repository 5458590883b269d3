"""Machine code of the kernels, compiled by numba at the first call and read from a cache afterwards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from numba.core import config as numba_config
from numba.core.caching import NullCache

from gradstream.center.tables import kernel_cache

Function = TypeVar("Function", bound=Callable[..., Any])

_FOLDER = kernel_cache.choose_folder()
_kernels: list[Any] = []
"""All that were made in this process."""


def kernel(function: Function) -> Function:
    """Compile `function` for the types of its first call. It runs without the interpreter's lock, and in IEEE arithmetic."""
    config: Any = numba_config
    before, config.CACHE_DIR = config.CACHE_DIR, str(_FOLDER or config.CACHE_DIR)
    try:
        compiled: Any = numba.njit(nogil=True, error_model="numpy", cache=_FOLDER is not None)(function)
    finally:
        config.CACHE_DIR = before
    _kernels.append(compiled)
    return cast(Function, compiled)


def load_kernels() -> None:
    """Load what the cache has of the kernels that were imported, and leave the cache alone from now on: forks of this process may
    not write there, and compile what is missing for themselves. It computes nothing, and starts no thread."""
    for compiled in _kernels:
        cache: Any = compiled._cache  # numba has no other way to load without a call
        if not isinstance(cache, NullCache):
            for signature, *_ in cache._cache_file._load_index():
                compiled.compile(signature)
            compiled._cache = NullCache()
