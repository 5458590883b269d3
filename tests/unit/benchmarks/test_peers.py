"""The meter's arithmetic, the tables, and a peer that really runs for a moment."""

from __future__ import annotations

import importlib.util
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from benchmarks.peers import counter, environments, launch, meter, ours, table, work
from benchmarks.peers.counter import Count, Counter
from benchmarks.peers.meter import Measured, Reading
from benchmarks.peers.systems import DEFAULT, SYSTEMS, System
from benchmarks.peers.table import Cell
from gradstream import metrics
from gradstream.metrics import Point

ABOUT = {
    "date": "2026-01-01",
    "machine": {"cpu": "a processor", "cores": 2, "memory_gib": 8, "system": "Linux"},
    "versions": {"Python": "3.11"},
    "settings": {"rounds": 3, "window": 5.0, "settle": 2.0},
}


def measured(rate: float, others: float = 0.0, **more: Any) -> Measured:
    made = Measured(rate, 0.05, 1.9, others, 2000.0, 5.0, 100, peak_rss_mb=900.0, peak_pss_mb=700.0, first_loss=2.3, loss=0.4)
    return replace(made, **more)


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """512 images of nothing in particular, with labels."""
    folder = tmp_path_factory.mktemp("images")
    generator = np.random.default_rng(1)
    generator.random((512, 784), dtype=np.float32).tofile(work.place(folder, "train", work.IMAGES))
    generator.integers(0, 10, 512).tofile(work.place(folder, "train", work.LABELS))
    return folder


# ---- the meter -----------------------------------------------------------------------------------------------------------


def test_a_window_is_the_difference_of_two_readings() -> None:
    def at(time: float, steps: int, **costs: Any) -> Reading:
        return Reading(time, (Count(steps, 100 * steps, 90.0, time, 2.3, 1.0),) * 2, **costs)

    before = at(100.0, 25, cpu=20.0, machine=300.0, own=1.0, loopback=1_000_000)
    after = at(105.0, 275, cpu=29.0, machine=310.0, own=1.5, loopback=3_000_000)
    found = meter.between(before, after)
    assert found.samples_per_second == 10_000
    assert found.cpu_seconds_per_1000_samples == pytest.approx(0.18)
    assert found.cores_busy == pytest.approx(1.8)
    assert found.others_cores == pytest.approx(0.1), "10 s were used, 9 by the system, half a second by the meter"
    assert found.loopback_bytes_per_step == 4_000
    assert found.quiet
    assert not meter.between(before, after._replace(machine=311.0)).quiet


def test_steps_that_a_window_cuts_count_in_part_and_never_for_more_than_one() -> None:
    def at(time: float, steps: int, last: float) -> Reading:
        return Reading(time, (Count(steps, 32 * steps, 90.0, last, 2.3, 1.0),), cpu=0.0, machine=0.0, own=0.0, loopback=0)

    begun = at(100.0, 10, last=99.5)  # a step takes a second: half of the one that is under way was before
    assert meter.between(begun, at(110.0, 20, last=109.5)).samples_per_second == pytest.approx(32)
    assert meter.between(begun, at(110.0, 20, last=109.5)).steps == 10
    stalled = at(110.0, 12, last=101.5)
    assert meter.between(begun, stalled).samples_per_second == pytest.approx(32 * 2.5 / 10)
    assert meter.between(begun, at(110.0, 10, last=99.5)).samples_per_second == 0


def test_medians_of_odd_and_even_numbers_of_launches() -> None:
    assert meter.median_of([measured(3), measured(1), measured(2)], "samples_per_second") == (2, 1, 3)
    assert meter.median_of([measured(4), measured(1), measured(2), measured(8)], "samples_per_second") == (3, 1, 8)


def test_counted_steps_are_read_and_joined(tmp_path: Path) -> None:
    assert counter.read(tmp_path) == []
    made = Counter(tmp_path)
    assert counter.read(tmp_path) == [], "it has not made a step"
    made.add(128, 2.0)
    made.add(128, 1.0)
    [count] = counter.read(tmp_path)
    assert (count.steps, count.samples, count.first_loss) == (2, 256, 1.5)
    assert 1.0 < count.loss < 2.0
    assert 0 < count.began <= count.last
    late = Count(steps=1, samples=64, began=count.last + 9, last=count.last + 9, first_loss=2.5, loss=2.5)
    assert counter.joined([count, late])[:3] == (3, 320, late.began), "training has begun when the last worker has"


# ---- the tables ----------------------------------------------------------------------------------------------------------


def row(**rates: list[float]) -> dict[str, Cell]:
    return {name.replace("_", "-"): Cell(dict(enumerate(map(measured, found), 1))) for name, found in rates.items()}


def test_loud_launches_do_not_count_while_there_are_quiet_ones() -> None:
    cell = Cell({1: measured(10, others=0.5), 2: measured(20), 3: measured(30)})
    assert cell.median() == 25
    loud = Cell({1: measured(10, others=0.5), 2: measured(20, others=0.2)})
    assert loud.median() == 15
    text = table.markdown({"mlp": {"single": cell, "ddp": loud}}, ABOUT)
    assert "| single | 25 (20-30) | 1.00 |" in text
    assert "| ddp | 15 (10-20) * |" in text


def test_a_ratio_is_taken_to_the_best_peer_and_round_by_round() -> None:
    cells = {
        "mlp": row(gradstream_async=[40, 44, 48], rpc=[10, 11, 12], ray=[22, 20, 24], ray_sync=[9, 9, 9], hogwild=[50, 50, 50])
    }
    best, hogwild, *_ = table.ratios(cells)
    assert (best.against, best.got, best.least, best.most, best.reached) == ("ray", 2.0, 40 / 22, 2.2, True)
    assert (hogwild.got, hogwild.reached) == (0.88, True)
    cells["mlp"]["hogwild"] = row(hogwild=[51, 51, 51])["hogwild"]
    assert not table.ratios(cells)[1].reached


def test_of_memory_less_is_better() -> None:
    cells = {"mlp": {name: Cell({1: measured(1, peak_pss_mb=mb)}) for name, mb in {"gradstream-async": 700, "ray": 1500}.items()}}
    [memory] = [ratio for ratio in table.ratios(cells) if "PSS" in ratio.work]
    assert memory.got == pytest.approx(700 / 1500)
    assert memory.reached
    cells["mlp"]["gradstream-async"].launches[1].peak_pss_mb = 800
    assert not next(ratio for ratio in table.ratios(cells) if "PSS" in ratio.work).reached


def test_what_is_absent_says_why_and_makes_no_ratio() -> None:
    cells = {"mlp": {**row(hogwild=[50.0]), "gradstream-async": Cell(absent="the job is refused: pipeline")}}
    found = table.as_object(cells, ABOUT)
    assert found["items"]["mlp"]["gradstream-async"] == {"absent": "the job is refused: pipeline"}
    assert found["items"]["mlp"]["hogwild"]["samples_per_second"] == 50
    assert [ratio["got"] for ratio in found["to_reach"]] == [None] * len(found["to_reach"])
    text = table.markdown(cells, ABOUT)
    assert "| gradstream-async | absent: the job is refused: pipeline |" in text
    assert "gradstream-async was not measured" in text


def test_a_ledger_that_is_open_once_is_open() -> None:
    launches = {n: measured(1, more={"ledger_closes": n != 2, "mean_staleness": 0.5}) for n in (1, 2, 3)}
    assert "| OPEN |" in table.markdown({"mlp": {"gradstream-async": Cell(launches)}}, ABOUT)
    del launches[2]
    assert "| closes |" in table.markdown({"mlp": {"gradstream-async": Cell(launches)}}, ABOUT)


def test_goals_and_files_of_systems_exist() -> None:
    assert {name for goal in table.GOALS for name in (goal.ours, *goal.peers)} <= set(DEFAULT)
    for system in SYSTEMS.values():
        assert importlib.util.find_spec(f"benchmarks.peers.{system.file}")
        assert system.environment in (None, *environments.ENVIRONMENTS)


# ---- the books -----------------------------------------------------------------------------------------------------------


def books(pushed: Mapping[int, int], posted: Mapping[int, int], decided: int, dropped: int = 0) -> ours.Books:
    def point(metric: metrics.Metric, rank: int, value: float) -> Point:
        return Point(metric.name, rank, 0, 0, 0, 0.0, value)

    made = ours.Books()
    for rank, count in pushed.items():
        account = {metrics.PUSHED: count, metrics.APPLIED: count - dropped, metrics.DROPPED: dropped}
        values = account | {metrics.DEFERRED: 0, metrics.PENDING: 0}
        made.take([point(metric, rank, value) for metric, value in values.items()])
    made.take([point(metrics.STALENESS, 0, 1.0)] * decided)
    made.take([point(metrics.SENT, rank, 10.0) for rank, count in posted.items() for _ in range(count)])
    return made


def test_books_close_if_what_was_posted_was_taken_and_decided() -> None:
    assert books({0: 3, 1: 2}, {0: 3, 1: 2}, 5).closed()["ledger_closes"]
    assert not books({0: 3, 1: 2}, {0: 3, 1: 3}, 5).closed()["ledger_closes"], "a push got lost on its way"
    assert not books({0: 3, 1: 2}, {0: 3, 1: 2}, 4).closed()["ledger_closes"], "the shard says that it applied one more"
    assert not books({0: 3}, {0: 3, 1: 2}, 3).closed()["ledger_closes"], "nothing is known of a worker"
    assert not books({}, {}, 0).closed()["ledger_closes"], "no push at all"
    found = books({0: 3, 1: 3}, {0: 3, 1: 3}, 4, dropped=1).closed()
    assert found["ledger_closes"], "what was dropped is in the books"
    assert found["ledger"]["dropped"] == 2
    assert found["mean_staleness"] == 1.0


# ---- launches ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where launches make their folders. After the test nothing is there, and no process that was started for it runs."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        monkeypatch.setattr(tempfile, "tempdir", name)
        yield Path(name)
        assert not list(Path(name).iterdir())
        assert not [process.pid for process in psutil.process_iter() if temporary(process).startswith(name)]


def temporary(process: psutil.Process) -> str:
    """What all processes of a launch have been told, and hand on."""
    try:
        return process.environ().get("TMPDIR", "")
    except psutil.Error:
        return ""


@pytest.mark.more
@pytest.mark.usefixtures("place")
def test_hogwild_runs_is_measured_and_leaves_nothing(images: Path) -> None:
    found = launch.run(SYSTEMS["hogwild"], "mlp", images, settle=0.1, window=0.3)
    assert found.steps > 0
    assert found.samples_per_second > 0
    assert found.peak_rss_mb > found.peak_pss_mb > 0
    assert found.loopback_bytes_per_step >= 0


@pytest.mark.more
def test_a_job_that_is_refused_is_absent(images: Path) -> None:
    system = System("ours", {"strategy": {"name": "async"}, "shared_memory": True, "job": {"pipelines": 1}})
    with pytest.raises(launch.Absent, match="pipelines"):
        launch.run(system, "mlp", images, settle=0.1, window=0.1)


def test_a_peer_without_its_environment_is_absent(images: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(environments, "PLACE", tmp_path)
    with pytest.raises(launch.Absent, match="--install"):
        launch.run(SYSTEMS["ray"], "mlp", images, settle=0.1, window=0.1)


@pytest.mark.more
@pytest.mark.usefixtures("place")
def test_a_peer_that_fails_says_the_end_of_its_log(tmp_path: Path) -> None:
    with pytest.raises(launch.Failed, match="No such file or directory"):
        launch.run(SYSTEMS["single"], "mlp", tmp_path, settle=0.1, window=0.1)
