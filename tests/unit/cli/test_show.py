"""`gradstream show`: what happened last, however often it did."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

import pytest

from gradstream.api.progress import DealtBatches
from gradstream.cli.jobs.show import _ending, _first_needed, _head, _shard_count, _shards, gathered
from gradstream.client import Event, Job, Process
from gradstream.progress.exchange import ShardLoad


def event(kind: str, message: str, seq: int) -> Event:
    return Event(seq=seq, time=datetime.now(UTC), kind=kind, actor="controller", message=message, data={})


def test_thousands_of_checkpoints_hide_nothing_that_happened_before() -> None:
    told = [event("status", "running: all 4 processes run", 0)]
    told += [event("checkpoint", f"Checkpoint {number} of attempt 1 is committed.", number) for number in range(1, 3001)]
    told += [event("process", "worker-1 exited, killed: killed by signal 9", 3001)]
    told += [event("checkpoint", f"Checkpoint {number} of attempt 1 is committed.", number) for number in range(3002, 3004)]
    assert [(one.kind, one.seq, count) for one, count in gathered(told)] == [
        ("status", 0, 1),
        ("checkpoint", 3000, 3000),
        ("process", 3001, 1),
        ("checkpoint", 3003, 2),
    ]


def test_the_last_checkpoint_tells_which_data_is_needed() -> None:
    told = [event("checkpoint", "checkpoint 1 of attempt 1 is committed.", 1)]
    assert _first_needed(told) is None
    told += [told[0].model_copy(update={"data": {"first_needed": count}}) for count in (64, 128)]
    assert _first_needed(told) == "from example 128 on"
    told.append(told[0].model_copy(update={"data": {"first_needed": {"0": 1032, "1": 8}}}))
    assert _first_needed(told) == "partition 0 from offset 1,032 on, partition 1 from offset 8 on"


def test_a_process_refers_to_the_reason_of_its_job() -> None:
    process = Process.model_construct(reason="user_error", message="failed in loss(): ValueError: no (w.py:8)")
    assert _ending(process, f"worker-0: {process.message}") == "user_error", "the first table tells why"
    assert _ending(process, None) == _ending(process, "All processes run.") == f"user_error: {process.message}"


@pytest.mark.parametrize(
    ("taken", "said"),
    [
        (
            {"checkpoint": "last", "attempt": 2, "number": 3, "version": 1234, "samples": 39_488},
            "checkpoint 3 of attempt 2 of digits, version 1,234, 39,488 samples",
        ),
        ({"checkpoint": "last", "attempt": 1, "number": 0}, "the last checkpoint of attempt 1 of digits"),
        ({"checkpoint": "best", "file": "best.safetensors"}, "best.safetensors of digits"),
    ],
)
def test_the_model_that_a_job_starts_from_is_named_with_its_version(
    taken: dict[str, object], said: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "150")
    nothing = dict.fromkeys(("reason", "message", "position", "started_at", "ended_at", "bundle"))
    job = Job.model_validate(
        {
            **nothing,
            "id": UUID(int=1),
            "name": "next",
            "status": "queued",
            "seq": 1,
            "strategy": "adag",
            "gate": "asp",
            "attempt": 0,
            "created_at": datetime.now(UTC),
            "user": "ada",
            "retries_used": 0,
            "tags": [],
            "note": "",
            "archived": False,
            "progress": {},
            "priority": 50,
            "workers": 1,
            "shards": 1,
            "spec": {"roles": {"server": {"count": 1}}},
            "started_from": {"job": UUID(int=2), "name": "digits", **taken},
        }
    )
    _head(job, None, "http://localhost/jobs/1")
    printed = capsys.readouterr().out
    [line] = [line for line in printed.splitlines() if "starts from" in line]
    assert said in line
    assert "data needed" not in printed
    _head(job, None, "http://localhost/jobs/1", first_needed="from example 12,800 on")
    assert "from example 12,800 on, by the last checkpoint" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("slices", "said"),
    [
        ((0, 20), "1 server is enough: the model is so small that 1 of 2 shards holds nothing.\n"),
        ((0, 0, 8, 8), "2 servers are enough: the model is so small that 2 of 4 shards hold nothing.\n"),
        ((8, 8), ""),
        ((None, None), ""),
        ((0, 0), ""),
    ],
)
def test_more_servers_than_the_model_needs_are_named(
    slices: tuple[int | None, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    shards = [ShardLoad(rank=rank, slice_bytes=size, apply=None, busy=None, queue=None) for rank, size in enumerate(slices)]
    _shards(shards, serverless=False)
    printed = capsys.readouterr().out
    assert printed.endswith(said)
    assert ("enough" in printed) == (said != "")
    _shards(shards, serverless=True)
    assert "enough" not in capsys.readouterr().out


def test_dealt_mini_batches_are_told_as_a_sum() -> None:
    dealt = DealtBatches(planned=1000, trained=870, dropped=0, outstanding=24, returned=6, left=100)
    assert dealt.phrase == "1,000 planned = 870 trained + 24 outstanding + 6 returned + 100 left"
    assert DealtBatches(planned=9, trained=9, dropped=0, outstanding=0, returned=0, left=0).phrase == "9 planned = 9 trained"


@pytest.mark.parametrize(
    ("collective", "on_worker_loss", "holder"),
    [
        ("shared", None, "the workers"),
        ("shared", "continue", "worker 0"),
        ("gloo", None, "each worker; they combine pushes by gloo"),
        ("gloo", "continue", "each worker; they combine pushes by gloo"),
        ("nccl", None, "each worker; they combine pushes by NCCL"),
        (None, "continue", "worker 0"),
    ],
)
def test_holders_of_shards_follow_what_the_platform_has_chosen(
    collective: str | None, on_worker_loss: str | None, holder: str
) -> None:
    spec = {"roles": {"server": {"count": 0, "collective": "auto"}}, "on_worker_loss": on_worker_loss}
    job = Job.model_construct(spec=spec, shards=1, workers=2, collective=collective)
    assert _shard_count(job) == f"1, held by {holder}: this job has no servers"
