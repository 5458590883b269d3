"""Moves the parameters of a new model into its vector, so that their memory is needed once and not twice.

To free a parameter does not shrink its process: glibc keeps blocks below 32 MB, and in a job process all below 1 GB (see
`gradstream/process/begin.py`). So their pages go back to the kernel here, as soon as their values are copied.
"""

from __future__ import annotations

import ctypes
import mmap
import sys
from functools import cache

import torch
from torch import Tensor, nn

PART = 1 << 24
"""Bytes that are in memory twice at a time."""
_PAGE = mmap.PAGESIZE
_madvise = ctypes.CDLL(None).madvise
_madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
_use_count = getattr(torch._C, "_storage_Use_Count", None)
"""A private function of torch. Without it, parameters are moved all the same, and keep their pages."""


def move_parameter(p: nn.Parameter, view: Tensor) -> None:
    """Copy the values into the view, which has the parameter's shape and dtype, and make the parameter that view."""
    values = p.detach()
    if view.is_cpu and is_sole_user(values):
        _move(values.view(-1), view.view(-1))
    else:
        view.copy_(values)
    p.data = view


def is_sole_user(values: Tensor) -> bool:
    """Return whether only the parameter that these are the values of uses their memory, and torch's own allocator gave it.

    Other users are a second parameter, a tensor that user code keeps, an array of numpy, a mapped file. A storage that torch may
    not resize belongs to somebody else."""
    if _use_count is None or type(values) is not Tensor or not values.is_cpu or not values.is_contiguous():
        return False
    return values.untyped_storage().resizable() and _uses(values) == _uses_of_sole_user()


def _move(values: Tensor, view: Tensor) -> None:
    """Both: shape (n,). The values are undefined afterwards."""
    count = PART // values.element_size()
    begin = -(-values.data_ptr() // _PAGE) * _PAGE
    for part, target in zip(torch.split(values, count), torch.split(view, count), strict=True):
        target.copy_(part)
        end = (part.data_ptr() + part.nbytes) // _PAGE * _PAGE
        if end > begin:
            _madvise(begin, end - begin, mmap.MADV_DONTNEED)  # if it fails, they only stay
            begin = end


def _uses(values: Tensor) -> tuple[int, int]:
    """Return how many tensors use the storage, and how many names Python has for it."""
    assert _use_count is not None
    storage = values.untyped_storage()
    return _use_count(storage._cdata), sys.getrefcount(storage)


@cache
def _uses_of_sole_user() -> tuple[int, int]:
    """By trial, since the counts include those who count."""
    p = nn.Parameter(torch.empty(1))
    return _uses(p.detach())
