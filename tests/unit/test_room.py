"""What people are told when shared memory is too small."""

from __future__ import annotations

from gradstream.progress import shared_memory as room


def test_one_worker() -> None:
    said = room.sentence({3: 160_000_000})
    assert said.startswith("Worker 3 found no room for 160.0 MB in shared memory")
    assert "--shm-size" in said


def test_several_workers_in_one_sentence() -> None:
    said = room.sentence({2: 8_000_000, 0: 8_000_000, 1: 8_000_000})
    assert said.startswith("Workers 0, 1 and 2 found no room for 8.0 MB each in shared memory")
