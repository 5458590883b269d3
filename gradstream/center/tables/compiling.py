"""Machine code of the kernels, compiled by numba at the first call and read from a cache afterwards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core import config as numba_config
from numba.core.caching import NullCache
from numba.extending import intrinsic

from gradstream.center.tables import kernel_cache

Function = TypeVar("Function", bound=Callable[..., Any])

_FOLDER = kernel_cache.choose_folder()
AHEAD = 16
"""Keys between the one that a loop works on and the one that it prefetches for. A line of memory comes within that time.
That many may be on their way at once."""
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


def _make_prefetch(_typing: Any, array: Any, at: Any) -> Any:  # noqa: ARG001
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        line, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        function = ir.FunctionType(ir.VoidType(), [line, word, word, word])
        instruction = cgutils.get_or_insert_function(builder.module, function, "llvm.prefetch.p0i8")  # type: ignore[no-untyped-call]
        held = context.make_array(signature.args[0])(context, builder, arguments[0])
        size = builder.extract_value(held.strides, 0)
        first = builder.gep(builder.bitcast(held.data, line), [builder.mul(arguments[1], size)])
        last = builder.gep(first, [builder.sub(size, size.type(1))])
        for end in (first, last):
            builder.call(instruction, [end, word(0), word(3), word(1)])  # for reading, to stay in all caches, data
        return context.get_dummy_value()

    return types.void(array, types.intp), generate


prefetch = cast(Callable[[Any, Any], None], intrinsic(_make_prefetch))
"""Begin to load item `at` of an array, or both ends of a row, and do not wait: `prefetch(array, at)`. Any number is allowed. Without
it keys wait for their memory one after the other, as a processor that guesses a branch wrong begins anew."""


def load_kernels() -> None:
    """Load what the cache has of the kernels that were imported, and leave the cache alone from now on: forks of this process may
    not write there, and compile what is missing for themselves. It computes nothing, and starts no thread."""
    for compiled in _kernels:
        cache: Any = compiled._cache  # numba has no other way to load without a call
        if not isinstance(cache, NullCache):
            for signature, *_ in cache._cache_file._load_index():
                compiled.compile(signature)
            compiled._cache = NullCache()
