"""An agent compiles the kernels of embedding tables beside its work."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from gradstream.center.tables import kernel_cache
from tests.support import eventually
from worker_agent.machine.kernels import KernelCompiler


@pytest.fixture(autouse=True)
def _empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    kernel_cache.shared_folder.cache_clear()
    yield
    kernel_cache.shared_folder.cache_clear()


@pytest.fixture
def compiler() -> Iterator[KernelCompiler]:
    compiler = KernelCompiler()
    yield compiler
    compiler.close()


def child(wanted: int) -> psutil.Process:
    """The program, once it has this scheduling policy."""

    def look() -> psutil.Process | None:
        found = psutil.Process().children(recursive=True)
        return next((each for each in found if os.sched_getscheduler(each.pid) == wanted), None)

    process = eventually(look, "a program with the scheduling policy")
    assert process
    return process


@pytest.mark.more
def test_the_compiler_yields_to_all_others_and_ends_with_its_agent() -> None:
    compiler = KernelCompiler()
    compiler.start()
    try:
        process = child(os.SCHED_IDLE)
    finally:
        compiler.close()
    assert not process.is_running()


def test_an_agent_with_all_kernels_compiles_nothing(compiler: KernelCompiler) -> None:
    kernel_cache.shared_folder().mkdir(parents=True)
    kernel_cache.mark_complete()
    compiler.start()
    assert compiler._process is None
    assert not compiler.busy


@pytest.mark.more
def test_the_compiler_stops_yielding_once_a_process_waits_for_it_and_the_wait_has_a_bound(compiler: KernelCompiler) -> None:
    compiler.start()
    idle = child(os.SCHED_IDLE)
    follows = asyncio.run(compiler.wait(0.3))
    assert follows == "it takes longer than 0.3 s, so this process compiles what it needs"
    assert not idle.is_running()
    hurried = child(os.SCHED_OTHER)
    assert "longer" in asyncio.run(compiler.wait(0.1))
    assert hurried.is_running(), "the second process that waits replaces nothing"


def test_who_waits_continues_when_all_kernels_are_there(compiler: KernelCompiler) -> None:
    compiler.start()

    async def wait() -> str:
        waiting = asyncio.create_task(compiler.wait())
        await asyncio.sleep(0.3)
        assert not waiting.done()
        kernel_cache.shared_folder().mkdir(parents=True, exist_ok=True)
        kernel_cache.mark_complete()
        return await waiting

    assert asyncio.run(wait()).startswith("they were compiled after ")


def test_a_compiler_that_fails_holds_nobody(compiler: KernelCompiler, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler.start()
    monkeypatch.setattr(sys, "executable", "/bin/false")
    follows = asyncio.run(compiler.wait())
    assert follows == "the program that compiles them failed, so this process compiles what it needs"
    assert not compiler.busy
