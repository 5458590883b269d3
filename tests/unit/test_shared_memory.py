"""The alert about shared memory that is too small."""

from __future__ import annotations

from gradstream.progress import shared_memory


def test_one_worker() -> None:
    said = shared_memory.sentence({3: 160_000_000})
    assert said.startswith("Worker 3 could not allocate 160.0 MB of shared memory")
    assert "--shm-size" in said


def test_several_workers_in_one_sentence() -> None:
    said = shared_memory.sentence({2: 8_000_000, 0: 8_000_000, 1: 8_000_000})
    assert said.startswith("Workers 0, 1 and 2 could not allocate 8.0 MB of shared memory each")
