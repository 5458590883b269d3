"""A job that learns from a Kafka topic of uneven partitions: it waits, is killed and resumed after retention has deleted what it
has learned, and has the bits of a calm one. `tests.kafka` says what its broker does not cover."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import torch
from safetensors.torch import load_file

from gradstream.api.jobs import Job
from gradstream.events import EventKind
from tests.jobs.test_click_model import write_clicks
from tests.kafka import KafkaBroker
from tests.platforms import Lab
from tests.support import eventually

BATCH = 50
FIRST, THEN = (230, 100, 200), (170, 200, 100)
"""Messages of each partition, before the kill and after it. Both workers have as many whole mini-batches, and 30 messages wait."""
LEARNED, ALL = 500, 1000


@pytest.fixture
def broker() -> Iterator[KafkaBroker]:
    made = KafkaBroker()
    yield made
    made.stop()


def fill(broker: KafkaBroker, topic: str, rows: list[dict[str, Any]], counts: tuple[int, ...]) -> None:
    rows = [{**row, "click": int(row["click"])} for row in rows]
    for partition, count in enumerate(counts):
        broker.add(topic, partition, rows[:count])
        rows = rows[count:]


def submit(lab: Lab, broker: KafkaBroker, name: str, folder: Path) -> Job:
    args = {"folder": str(folder), "servers": broker.servers, "topic": name, "settings": str(folder / "settings")}
    return lab.submit(
        name,
        workload={"entrypoint": "kafka_clicks:KafkaClicks", "args": args},
        strategy={"name": "sync", "lr": 0.1},
        batch_size=BATCH,
        checkpoint={"every": 0.5},
        tables={"default": {"rule": {"name": "adagrad", "lr": 0.3}}},
        stop={"never": True},
    )


def first_needed(lab: Lab, job: Job) -> dict[str, int]:
    """The first offset of each partition that the last checkpoint needs."""
    events = lab.client.events(job.id, kinds=[EventKind.CHECKPOINT])
    return events[-1].data.get("first_needed", {}) if events else {}


def stopped(lab: Lab, job: Job) -> Job:
    """Stop the job when it has learned all there is."""
    lab.trains(job, ALL)
    lab.client.stop(job.id)
    job = lab.ended(job)
    assert (job.status, job.progress.samples) == ("cancelled", ALL), lab.messages(job)
    return job


def tensors(lab: Lab, job: Job, into: Path) -> dict[str, dict[str, torch.Tensor]]:
    into.mkdir()
    names = [artifact.name for artifact in lab.client.artifacts(job.id) if artifact.name.endswith(".safetensors")]
    return {name: load_file(lab.client.download(job.id, name, into=into)) for name in names if name != "tensors.safetensors"}


@pytest.mark.more
def test_a_job_resumes_behind_deleted_messages_and_learns_each_one_once(lab: Lab, broker: KafkaBroker, tmp_path: Path) -> None:
    (tmp_path / "settings").write_text("client.id=only-for-tests\nsasl.password=not-asked-for\n")
    write_clicks(tmp_path / "eval.parquet", 99, 500)
    write_clicks(tmp_path / "train.parquet", 1, ALL)
    rows = pq.read_table(tmp_path / "train.parquet").to_pylist()
    for topic in ("disturbed", "calm"):
        broker.create(topic, 3)
        fill(broker, topic, rows, FIRST)
    job = submit(lab, broker, "disturbed", tmp_path)
    whole = {str(partition): count // BATCH * BATCH for partition, count in enumerate(FIRST)}
    lab.trains(job, LEARNED)
    needed = eventually(lambda: sum(first_needed(lab, job).values()) > LEARNED // 2 and first_needed(lab, job), "a checkpoint")
    assert all(needed[partition] <= whole[partition] for partition in whole)
    for partition, offset in needed.items():
        broker.delete_records("disturbed", int(partition), offset)
    lab.kill("worker-1")
    eventually(lambda: lab.client.job(job.id).attempt == 2 or None, "another attempt")
    for topic in ("disturbed", "calm"):
        fill(broker, topic, rows[sum(FIRST) :], THEN)
    job, calm = stopped(lab, job), stopped(lab, submit(lab, broker, "calm", tmp_path))
    assert {point.rank for point in lab.points(job, "data/behind")} == {0, 1}
    for figure in ("pass/auc", "pass/log_loss"):
        passes = [[(point.step, point.value) for point in lab.points(each, figure)] for each in (calm, job)]
        assert passes[0] == passes[1], "each example counts once in its pass"
        assert [step for step, _ in passes[0]] == list(range(ALL // 500))
    expected_tensors, got = tensors(lab, calm, tmp_path / "calm"), tensors(lab, job, tmp_path / "got")
    assert set(expected_tensors) == {"model.safetensors", "tables-0.safetensors", "tables-1.safetensors"}
    for name, of_file in expected_tensors.items():
        for key, values in of_file.items():
            assert torch.equal(got[name][key], values), f"{name}: {key}"
    assert "not-asked-for" not in lab.client.job(job.id).model_dump_json()
