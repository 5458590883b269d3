"""The memory that a process has for itself."""

from __future__ import annotations

import gc
import mmap
import os
from collections.abc import Callable

import pytest

from gradstream.group import private_memory
from gradstream.group.private_memory import PrivateMemory, private_bytes

SIZE = 64 * 2**20


def in_child(measure: Callable[[], int]) -> int:
    """Return what a forked child measures."""
    read, write = os.pipe()
    if (child := os.fork()) == 0:
        gc.disable()  # to free what other tests left behind would change pages
        os.write(write, str(measure()).encode())
        os._exit(0)
    os.close(write)
    try:
        return int(os.read(read, 64))
    finally:
        os.close(read)
        os.waitpid(child, 0)


def test_own_pages_count_and_shared_ones_do_not() -> None:
    assert SIZE * 0.9 < in_child(added_by_own_pages) < SIZE * 1.5
    own, shared = bytearray(b"x") * SIZE, mmap.mmap(-1, SIZE)
    shared[:] = own
    assert in_child(lambda: sum(shared[::4096]) and private_bytes()) < SIZE, "it has the pages of its parent"


def added_by_own_pages() -> int:
    before = private_bytes()
    own = bytearray(b"x") * SIZE
    return private_bytes() - before if own else 0


def test_looks_rest_in_between_and_a_child_looks_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = PrivateMemory()
    monkeypatch.setattr(private_memory, "private_bytes", lambda of: os.getpid())
    assert memory.read() == os.getpid()
    monkeypatch.setattr(private_memory, "private_bytes", lambda of: -os.getpid())
    assert memory.read() == os.getpid(), "not yet"
    assert in_child(memory.read) < 0
    monkeypatch.setattr(private_memory.time, "monotonic", lambda: memory._next)
    assert memory.read() == -os.getpid()
