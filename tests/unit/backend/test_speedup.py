"""A speed-up is measured or not shown."""

from __future__ import annotations

import pytest

from backend.overview.speedup import Seat, speed
from gradstream.progress.process_summary import ProcessSummary


def worker(seconds: float = 0.1, on_core: float | None = 0.97, cores: float = 8, steps: int = 100) -> ProcessSummary:
    """It computes so long for a mini-batch."""
    last = {"cores": cores} if on_core is None else {"cores": cores, "on_core": on_core}
    return ProcessSummary(steps=steps, pushes=steps, seconds=2 * steps * seconds, sums={"compute": steps * seconds}, last=last)


def seats(count: int, gpu: bool = False, threads: int = 1) -> dict[int, Seat]:
    return {rank: Seat("here", gpu, threads) for rank in range(count)}


def test_it_is_the_job_against_the_typical_worker() -> None:
    """Seven workers compute 160 samples a second, one a tenth of that; the job had 137 by the wall clock."""
    found = {rank: worker() for rank in range(7)} | {7: worker(seconds=1.0)}
    told = speed(found, seats(8), 137.0, 16.0, 8)
    assert told is not None
    assert (told.one_alone, told.message) == (pytest.approx(160.0), None)
    assert told.factor == pytest.approx(137 / 160)


@pytest.mark.parametrize(
    ("found", "its_seats", "says"),
    [
        ({0: worker(cores=1), 1: worker(cores=1)}, seats(2), "2 workers share 1 physical core of here"),
        ({0: worker(cores=2), 1: worker(cores=2)}, seats(2, threads=4), "2 workers with 8 threads share 2 physical cores"),
        ({0: worker(on_core=0.5), 1: worker(on_core=0.4)}, seats(2), "on a processor core for only 45 %"),
        ({0: worker(on_core=None), 1: worker()}, seats(2), "too short"),
        ({0: worker()}, seats(2), "only 1 of 2 workers"),
    ],
)
def test_without_a_measurement_there_is_a_reason(found: dict[int, ProcessSummary], its_seats: dict[int, Seat], says: str) -> None:
    told = speed(found, its_seats, 100.0, 16.0, 2)
    assert told is not None
    assert (told.factor, told.one_alone, told.samples_per_second) == (None, None, 100.0)
    assert says in (told.message or "")
    assert "gradstream run JOB --local" in (told.message or "")


def test_workers_on_gpus_share_nothing() -> None:
    told = speed({0: worker(on_core=None, cores=1), 1: worker(on_core=None, cores=1)}, seats(2, gpu=True), 240.0, 16.0, 2)
    assert told is not None
    assert told.factor == pytest.approx(1.5)


def test_one_worker_is_compared_with_nothing() -> None:
    assert speed({0: worker()}, seats(1), 100.0, 16.0, 1) is None
    assert speed({0: worker(), 1: worker()}, seats(2), None, 16.0, 2) is None
