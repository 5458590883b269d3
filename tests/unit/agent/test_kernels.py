"""An agent compiles the kernels of embedding tables beside its work."""

from __future__ import annotations

import os
from pathlib import Path

import psutil
import pytest

from gradstream.center.tables import kernel_cache
from tests.support import eventually
from worker_agent.machine.kernels import KernelCompiler


def test_the_compiler_yields_to_all_others_and_ends_with_its_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    kernel_cache.shared_folder.cache_clear()
    compiler = KernelCompiler()
    compiler.start()
    try:
        [process] = eventually(lambda: psutil.Process().children(recursive=True), "the compiler")
        eventually(lambda: os.sched_getscheduler(process.pid) == os.SCHED_IDLE, "the lowest priority")
    finally:
        compiler.close()
        kernel_cache.shared_folder.cache_clear()
    assert not process.is_running()


def test_an_agent_with_all_kernels_compiles_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    kernel_cache.shared_folder.cache_clear()
    kernel_cache.shared_folder().mkdir(parents=True)
    kernel_cache.mark_complete()
    compiler = KernelCompiler()
    compiler.start()
    assert compiler._process is None
    kernel_cache.shared_folder.cache_clear()
