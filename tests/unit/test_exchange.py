"""What exchanges cost, from the metrics of workers and shards."""

from __future__ import annotations

import pytest

from gradstream import metrics
from gradstream.metrics import Metric, Point
from gradstream.progress.exchange import Figures


def point(metric: Metric, value: float, rank: int = -1) -> Point:
    return Point(metric.name, rank, 0, 0, 0, 0.0, value)


def push(
    figures: Figures, rank: int, *, compute: float = 1.0, sent: float = 0.0, raw: float = 0.0, error: float | None = None
) -> None:
    times = {metrics.COMPUTE: compute, metrics.DATA: 0.5, metrics.SEND: 0.125, metrics.WAIT: 0.25}
    values = times | {metrics.SENT: sent, metrics.RAW: raw}
    for metric, value in values.items():
        figures.take(f"worker-{rank}.0", point(metric, value, rank))
    if error is not None:
        figures.take(f"worker-{rank}.0", point(metrics.CODEC_ERROR, error, rank))


def test_means_are_over_the_pushes_of_all_workers() -> None:
    figures = Figures()
    assert figures.exchange() is None, "nothing was pushed yet"
    for compute in (1.0, 2.0, 3.0):
        push(figures, 0, compute=compute)
    push(figures, 1, compute=6.0)
    found = figures.exchange()
    assert found is not None
    assert (found.pushes, found.compute, found.data, found.send, found.wait) == (4, 3.0, 0.5, 0.125, 0.25)
    assert found.error is None
    assert found.time == "compute 3,000 ms, data 500 ms, send 125 ms, wait 250 ms"


def test_a_codec_saves_what_it_takes_away_and_owes_what_it_lost_lately() -> None:
    figures = Figures()
    push(figures, 0, sent=250, raw=1000, error=0.9)
    push(figures, 0, sent=250, raw=1000, error=0.5)
    push(figures, 1, sent=250, raw=1000, error=0.3)
    found = figures.exchange()
    assert found is not None
    assert found.saved == 0.75
    assert found.error == pytest.approx(0.4), "the last of each worker"
    assert found.traffic("int8") == "sent 250 of 1,000 bytes, 75% saved by int8, error 0.4"


def test_nothing_is_saved_where_nothing_is_sent() -> None:
    figures = Figures()
    push(figures, 0)
    found = figures.exchange()
    assert found is not None
    assert found.saved is None
    assert found.traffic("int8") == "no bytes over the network; send is the time of copying into shared memory"


def report(figures: Figures, shard: int, *, step: int, time: float, apply: float, queue: float) -> None:
    for metric, value in ((metrics.APPLY, apply), (metrics.QUEUE, queue)):
        figures.take(f"server-{shard}.0", Point(metric.name, -1, step, 0, 0, time, value))


def test_shards_are_told_apart_by_who_measured_and_their_reports_are_weighed() -> None:
    figures = Figures()
    for shard in (1, 0):
        figures.take(f"server-{shard}.0", Point(metrics.SLICE.name, -1, 0, 0, 0, 100.0, 4096.0 * (shard + 1)))
    report(figures, 0, step=10, time=101.0, apply=0.05, queue=3)
    report(figures, 0, step=40, time=104.0, apply=0.01, queue=1)
    report(figures, 1, step=4, time=102.0, apply=0.25, queue=0)
    first, second = figures.loads()
    assert (first.rank, first.slice_bytes, first.queue) == (0, 4096, 3)
    assert first.apply == pytest.approx((10 * 0.05 + 30 * 0.01) / 40)
    assert first.busy == pytest.approx(0.8 / 4)
    assert (second.rank, second.slice_bytes, second.apply, second.busy, second.queue) == (1, 8192, 0.25, 0.5, 0)
    assert figures.center_bytes == 4096 * 3
    assert figures.largest_share == 0, "not known"
    figures.take("server-1.0", point(metrics.LARGEST, 6144.0))
    assert figures.largest_share == 0.5


@pytest.mark.parametrize("source", ["server-x.0", "server-", "server-\u0663.0", "worker-0.0"])
def test_who_is_no_shard_is_left_out(source: str) -> None:
    figures = Figures()
    figures.take(source, point(metrics.APPLY, 1.0))
    assert figures.shards == {}


def test_it_survives_being_stored() -> None:
    figures = Figures()
    push(figures, 3, sent=1, raw=2, error=0.5)
    figures.take("server-0.0", point(metrics.SLICE, 64.0))
    again = Figures.model_validate(figures.model_dump(mode="json"))
    assert (again.exchange(), again.loads(), again.center_bytes) == (figures.exchange(), figures.loads(), 64)
