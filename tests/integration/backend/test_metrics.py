"""From the data plane's stream to tables, series, files."""

from __future__ import annotations

import io
from itertools import groupby
from pathlib import Path

import httpx
import pyarrow.parquet as pq

from backend.metrics import export, ingest
from backend.platform import Platform
from gradstream.metrics import (
    ACTIVE,
    APPLY,
    CATALOGUE,
    CODEC_ERROR,
    COMPUTE,
    DATA,
    EPOCH,
    EVAL_ACCURACY,
    LOSS,
    QUEUE,
    RAW,
    RECEIVED,
    RETRANSMISSIONS,
    SEND,
    SENT,
    SHARE,
    SHARED_MEMORY_SHORTFALL,
    SLICE,
    STALENESS,
    STARVED,
    THROUGHPUT,
    TOTAL,
    WAIT,
)
from gradstream.process.order import label_of
from gradstream.wire import plane
from tests.integration.backend.metrics import Stream, point, stored


def test_every_point_is_stored_once(api: httpx.Client, stream: Stream) -> None:
    stream.send("worker-0.0", 0, point(LOSS.name, 2.0, step=1), point(LOSS.name, 1.5, step=2))
    stream.send("worker-0.0", 0, point(LOSS.name, 2.0, step=1), point(LOSS.name, 1.5, step=2))
    assert stream.ingest() == 1, "a batch that was sent twice counts once"
    assert stream.waiting == 0, "trimmed after the commit"
    stream.send("worker-0.0", 0, point(LOSS.name, 2.0, step=1))
    stream.send("worker-0.0", 1, point(LOSS.name, 1.0, step=3))
    assert stream.ingest() == 1, "also when it comes again later"
    assert stored(api, stream.job_id) == [("worker-0", 1, 2.0), ("worker-0", 2, 1.5), ("worker-0", 3, 1.0)]


def test_a_death_between_commit_and_trim_doubles_nothing(api: httpx.Client, stream: Stream, platform: Platform) -> None:
    stream.send("worker-0.0", 0, point(LOSS.name, 2.0))
    found = plane.read_metrics(platform.plane, stream.j)
    stream.ingest()
    for _, source, batch, points in found:
        stream.send(source, batch, *points)
    assert stream.ingest() == 0
    assert len(stored(api, stream.job_id)) == 1


def test_more_than_one_portion(api: httpx.Client, stream: Stream) -> None:
    for batch in range(ingest.PORTION + 10):
        stream.send("worker-0.0", batch, point(LOSS.name, 1.0, step=batch))
    assert stream.ingest() == ingest.PORTION + 10
    after, steps = 0, []
    while page := api.get(f"/jobs/{stream.job_id}/metrics", params={"after": after, "limit": 200}).json():
        if not page["items"]:
            break
        steps += [p[2] for batch in page["items"] for p in batch["points"]]
        after = page["next"]
    assert steps == list(range(ingest.PORTION + 10))


def test_progress_is_folded_from_the_points(api: httpx.Client, stream: Stream) -> None:
    stream.send("worker-0.0", 0, point(LOSS.name, 2.0, rank=0), point(TOTAL.name, 640))
    stream.send("worker-0.0", 1, point(EPOCH.name, 320))
    stream.send(
        "worker-0.0", 2, point(SHARE.name, 20, rank=0), point(SHARE.name, 60, rank=1), point(COMPUTE.name, 0.1, rank=0, step=8)
    )
    stream.send("server-0.0", 10, *(point(ACTIVE.name, 1.0, rank=rank, time=999.0) for rank in (0, 1)))
    stream.send("worker-1.0", 0, point(LOSS.name, 1.0, rank=1))
    stream.send(
        "server-0.0", 0, point(STALENESS.name, 0.0, samples=64, version=1), point(STALENESS.name, 1.0, samples=128, version=2)
    )
    stream.send("evaluator.0", 0, point(EVAL_ACCURACY.name, 0.5), point("eval/loss", float("nan")))
    stream.ingest()
    progress = api.get(f"/jobs/{stream.job_id}").json()["progress"]
    assert progress.pop("first_step_at") is not None
    [alert] = progress.pop("alerts")
    assert alert.startswith("eval/loss is not a finite number (first after 0 samples)")
    assert progress == {
        "samples": 128,
        "total_samples": 640,
        "epoch_samples": 320,
        "version": 2,
        "samples_per_second": 128.0,
        "mean_samples_per_second": 128.0,
        "done": 0.1,
        "seconds_left": None,
        "seconds_left_low": None,
        "seconds_left_high": None,
        "loss": 1.5,
        "not_finite": [],
        "mean_staleness": 0.5,
        "eval": {"accuracy": 0.5, "loss": None},
        "main_metric": "accuracy",
        "exchange": {
            "pushes": 1,
            "compute": 0.1,
            "data": 0.0,
            "send": 0.0,
            "wait": 0.0,
            "sent_bytes": 0.0,
            "raw_bytes": 0.0,
            "received_bytes": 0.0,
            "error": None,
        },
        "shards": [],
        "dealt": None,
        "loss_curve": [2.0, 1.0],
    }


def test_what_is_not_finite_is_stored_and_shown_as_null(api: httpx.Client, stream: Stream) -> None:
    stream.send("worker-0.0", 0, point(LOSS.name, float("nan"), step=1), point(LOSS.name, float("inf"), step=2))
    stream.ingest()
    assert stored(api, stream.job_id) == [("worker-0", 1, None), ("worker-0", 2, None)]


def test_a_name_that_postgres_cannot_hold_holds_up_nothing(api: httpx.Client, stream: Stream) -> None:
    stream.send("evaluator.0", 0, point("eval/a\x00b", 1.0), point("eval/\ud800", 2.0))
    assert stream.ingest() == 1
    assert stream.waiting == 0
    assert api.get(f"/jobs/{stream.job_id}").json()["progress"]["eval"] == {"a\ufffdb": 1.0, "?": 2.0}


def test_filters(api: httpx.Client, stream: Stream) -> None:
    stream.send("worker-0.0", 0, point(LOSS.name, 2.0, rank=0), point(THROUGHPUT.name, 9.0, rank=0))
    stream.send("worker-1.0", 0, point(LOSS.name, 1.0, rank=1))
    stream.ingest()
    assert stored(api, stream.job_id, names=LOSS.name) == [("worker-0", 1, 2.0), ("worker-1", 1, 1.0)]
    assert stored(api, stream.job_id, source="worker-1") == [("worker-1", 1, 1.0)]
    assert stored(api, stream.job_id, rank=0, names=THROUGHPUT.name) == [("worker-0", 1, 9.0)]


def test_the_export_has_every_point(stream: Stream, platform: Platform, tmp_path: Path) -> None:
    stream.send("worker-0.0", 0, point(LOSS.name, 2.0, step=1), point(LOSS.name, float("nan"), step=2))
    stream.ingest()
    export.write_parquet(platform.database, stream.job_id, tmp_path / "metrics.parquet")
    table = pq.read_table(io.BytesIO((tmp_path / "metrics.parquet").read_bytes()))
    assert table.column("step").to_pylist() == [1, 2]
    assert table.column("name").to_pylist() == [LOSS.name] * 2
    assert table.column("attempt").to_pylist() == [1, 1]


def test_the_catalogue_is_that_of_the_library(api: httpx.Client) -> None:
    entries = api.get("/metrics/catalogue").json()
    assert {entry["name"] for entry in entries} == set(CATALOGUE)
    groups = [group for group, _ in groupby(entries, key=lambda entry: entry["group"])]
    assert groups[0] == "Training"
    assert len(groups) == len(set(groups)), "those of a group stand together"
    assert label_of("worker-3.12") == "worker-3"


def test_a_worker_that_contributes_nothing_is_told_of_once(api: httpx.Client, stream: Stream) -> None:
    stream.send("server-0.0", 0, point(STARVED.name, 12, rank=1))
    stream.ingest()
    stream.send("server-0.1", 0, point(STARVED.name, 40, rank=1), point(STARVED.name, 7, rank=0))
    stream.ingest()
    events = [event for event in api.get(f"/jobs/{stream.job_id}/events").json()["items"] if event["kind"] == "warning"]
    assert [(event["data"], event["actor"]) for event in events] == [
        ({"rank": 1, "dropped": 12}, "server-0"),
        ({"rank": 0, "dropped": 7}, "server-0"),
    ]
    assert api.get(f"/jobs/{stream.job_id}").json()["progress"]["alerts"] == [events[1]["message"], events[0]["message"]], "by rank"


def test_what_a_push_costs_and_how_shards_are_loaded_stand_in_the_progress(api: httpx.Client, stream: Stream) -> None:
    for batch, (rank, compute) in enumerate([(0, 0.25), (1, 0.75)]):
        values = {COMPUTE: compute, DATA: 0.125, SEND: 0.25, WAIT: 0.5, SENT: 256.0, RAW: 1024.0, RECEIVED: 512.0, CODEC_ERROR: 0.5}
        stream.send(f"worker-{rank}.0", batch, *(point(metric.name, value, rank=rank) for metric, value in values.items()))
    for shard in (0, 1):
        size = point(SLICE.name, 4096.0, rank=-1)
        report = [point(metric.name, value, rank=-1, step=2) for metric, value in ((APPLY, 0.25), (QUEUE, 3.0))]
        stream.send(f"server-{shard}.0", 0, size, *(each._replace(time=size.time + 1 + shard) for each in report))
    stream.ingest()
    progress = api.get(f"/jobs/{stream.job_id}").json()["progress"]
    assert progress["exchange"] == {
        "pushes": 2,
        "compute": 0.5,
        "data": 0.125,
        "send": 0.25,
        "wait": 0.5,
        "sent_bytes": 256.0,
        "raw_bytes": 1024.0,
        "received_bytes": 512.0,
        "error": 0.5,
    }
    assert progress["shards"] == [
        {"rank": 0, "slice_bytes": 4096, "apply": 0.25, "busy": 0.5, "queue": 3},
        {"rank": 1, "slice_bytes": 4096, "apply": 0.25, "busy": 0.25, "queue": 3},
    ]


def test_a_process_that_was_sent_something_damaged_is_told_of_once(api: httpx.Client, stream: Stream) -> None:
    stream.send("server-0.0", 0, point(RETRANSMISSIONS.name, 1))
    stream.send("worker-1.0", 0, point(RETRANSMISSIONS.name, 1, rank=1), point(RETRANSMISSIONS.name, 2, rank=1))
    stream.ingest()
    stream.send("server-0.0", 1, point(RETRANSMISSIONS.name, 2))
    stream.send("worker-1.1", 0, point(RETRANSMISSIONS.name, 1, rank=1))
    stream.ingest()
    told = [event for event in api.get(f"/jobs/{stream.job_id}/events").json()["items"] if event["kind"] == "warning"]
    assert [(event["actor"], event["data"]["count"]) for event in told] == [("server-0", 1), ("worker-1", 2)]
    assert "discarded and resent" in told[0]["message"]


def test_workers_without_enough_shared_memory_have_one_alert(api: httpx.Client, stream: Stream) -> None:
    stream.send("worker-0.0", 0, point(SHARED_MEMORY_SHORTFALL.name, 16e6, rank=0))
    stream.send("worker-1.0", 0, point(SHARED_MEMORY_SHORTFALL.name, 16e6, rank=1))
    stream.ingest()
    stream.send("worker-1.1", 0, point(SHARED_MEMORY_SHORTFALL.name, 16e6, rank=1))
    stream.send("worker-2.0", 0, point(SHARED_MEMORY_SHORTFALL.name, 16e6, rank=2))
    stream.ingest()
    events = [event for event in api.get(f"/jobs/{stream.job_id}/events").json()["items"] if event["kind"] == "warning"]
    assert [event["data"] for event in events] == [{"ranks": [0, 1], "bytes": 16_000_000}, {"ranks": [2], "bytes": 16_000_000}]
    assert "--shm-size" in events[0]["message"]
    [alert] = api.get(f"/jobs/{stream.job_id}").json()["progress"]["alerts"]
    assert alert.startswith("Workers 0, 1 and 2 could not allocate 16.0 MB of shared memory each")
