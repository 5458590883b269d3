"""Use of a GPU by a process: from a stand-in for the driver's library, as no driver may be here."""

from __future__ import annotations

import sys
import time
import types
from collections.abc import Iterator
from typing import Any

import pytest

from worker_agent.machine import gpus


class NoSuchSample(Exception):
    value = 6


class Driver(types.ModuleType):
    """Two GPUs. On the first one, processes 10 and 20 have memory; samples of single processes may be missing."""

    NVMLError, NVML_ERROR_NOT_FOUND = NoSuchSample, 6

    def __init__(self) -> None:
        super().__init__("pynvml")
        self.memory: dict[int, dict[int, int | None]] = {0: {10: 100, 20: 300}, 1: {}}
        self.samples: dict[int, list[tuple[int, int]]] | None = {0: [(10, 20), (10, 40), (20, 60)], 1: []}

    def nvmlInit(self) -> None: ...

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:
        return index

    def nvmlDeviceGetUtilizationRates(self, handle: int) -> Any:
        return types.SimpleNamespace(gpu=90)

    def nvmlDeviceGetMemoryInfo(self, handle: int) -> Any:
        return types.SimpleNamespace(used=5000)

    def nvmlDeviceGetComputeRunningProcesses(self, handle: int) -> list[Any]:
        return [types.SimpleNamespace(pid=pid, usedGpuMemory=used) for pid, used in self.memory[handle].items()]

    def nvmlDeviceGetProcessUtilization(self, handle: int, since: int) -> list[Any]:
        if self.samples is None:
            raise NoSuchSample
        now = int(time.time() * 1e6)
        return [types.SimpleNamespace(pid=pid, smUtil=share, timeStamp=now) for pid, share in self.samples[handle]]


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Driver]:
    driver = Driver()
    monkeypatch.setitem(sys.modules, "pynvml", driver)
    gpus._driver.cache_clear()
    yield driver
    gpus._driver.cache_clear()


def test_processes_that_share_a_gpu_have_their_own_values(driver: Driver) -> None:
    assert gpus.usage([0], {10}, alone=False) == (pytest.approx(0.3), 100)
    assert gpus.usage([0], {20, 21}, alone=False) == (pytest.approx(0.6), 300), "with its children"
    assert gpus.usage([], {10}, alone=True) == (None, None)


def test_a_process_that_ran_no_kernel_has_worked_for_no_time(driver: Driver) -> None:
    driver.samples = None
    assert gpus.usage([0], {10}, alone=False) == (0.0, 100)


def test_values_of_the_whole_gpu_count_for_a_process_that_is_alone_there(driver: Driver) -> None:
    assert gpus.usage([1], {10}, alone=True) == (0.9, 5000), "the driver does not know its processes"
    assert gpus.usage([1], {10}, alone=False) == (None, None)
    driver.memory[0][10] = None
    assert gpus.usage([0], {10}, alone=False) == (None, None), "nor their memory"


def test_a_group_has_the_mean_time_and_the_memory_of_all_its_gpus(driver: Driver) -> None:
    driver.memory[1], driver.samples = {10: 50}, {0: [(10, 40)], 1: [(10, 20)]}
    assert gpus.usage([0, 1], {10}, alone=True) == (pytest.approx(0.3), 150)
