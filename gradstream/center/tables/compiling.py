"""Machine code of the kernels, compiled by numba at the first call and read from a cache afterwards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from numba.core import config as numba_config

from gradstream.center.tables import kernel_cache

Function = TypeVar("Function", bound=Callable[..., Any])

_FOLDER = kernel_cache.choose_folder()


def kernel(function: Function) -> Function:
    """Compile `function` for the types of its first call. It runs without the interpreter's lock, and in IEEE arithmetic."""
    config: Any = numba_config
    before, config.CACHE_DIR = config.CACHE_DIR, str(_FOLDER or config.CACHE_DIR)
    try:
        compiled: Any = numba.njit(nogil=True, error_model="numpy", cache=_FOLDER is not None)(function)
    finally:
        config.CACHE_DIR = before
    return cast(Function, compiled)
