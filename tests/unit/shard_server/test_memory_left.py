"""The share of memory that is left: of the machine, or of a container's limit."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest

from gradstream.shard_server.memory_left import memory_left


def test_the_machine_tells_where_there_is_no_limit(tmp_path: Path) -> None:
    total = psutil.virtual_memory().total
    assert memory_left(tmp_path) == pytest.approx(psutil.virtual_memory().available / total, abs=0.2)
    for name, content in (("memory.max", "max"), ("memory.current", "5"), ("memory.stat", "inactive_file 0\n")):
        (tmp_path / name).write_text(content)
    assert 0 < memory_left(tmp_path) <= 1


def test_a_limit_counts_without_what_the_kernel_gives_back(tmp_path: Path) -> None:
    for name, content in (("memory.max", "1000\n"), ("memory.current", "990\n"), ("memory.stat", "anon 900\ninactive_file 15\n")):
        (tmp_path / name).write_text(content)
    assert memory_left(tmp_path) == pytest.approx(0.025)
    (tmp_path / "memory.current").write_text("2000")
    assert memory_left(tmp_path) == 0
