"""A job that learns from a Redis stream: it waits, is killed and resumed on a trimmed stream, and has the bits of a calm one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow.parquet as pq
import pytest
import redis
import torch
from safetensors.torch import load_file

from gradstream.api.jobs import Job
from gradstream.client import Credentials
from gradstream.events import EventKind
from gradstream.local.servers.redis import Redis
from tests.jobs.test_click_model import write_clicks
from tests.platforms import Lab
from tests.support import eventually

EXAMPLE = Path(__file__).parents[2] / "examples" / "deepfm"
ENTRIES = 1000
"""10 mini-batches for each of two workers."""


def fill(client: redis.Redis, key: str, rows: list[dict[str, Any]]) -> None:
    pipe = client.pipeline()
    for row in rows:
        pipe.xadd(key, {**row, "tags": json.dumps(row["tags"]), "click": int(row["click"])})
    pipe.execute()


def submit(lab: Lab, name: str, folder: Path, key: str) -> Job:
    args = {"folder": str(folder), "url_file": str(folder / "url"), "key": key}
    return lab.submit(
        name,
        workload={"entrypoint": "redis_clicks:RedisClicks", "args": args},
        strategy={"name": "sync", "lr": 0.1},
        batch_size=50,
        checkpoint={"every": 0.5},
        tables={"default": {"rule": {"name": "adagrad", "lr": 0.3}}},
        stop={"never": True},
    )


def first_needed(lab: Lab, job: Job) -> int:
    """The number of the first entry that the last checkpoint needs."""
    events = lab.client.events(job.id, kinds=[EventKind.CHECKPOINT])
    return int(events[-1].data["first_needed"]) if events else 0


def stopped(lab: Lab, job: Job) -> Job:
    """Stop the job when it has learned all there is."""
    lab.trains(job, 2 * ENTRIES)
    lab.client.stop(job.id)
    job = lab.ended(job)
    assert (job.status, job.progress.samples) == ("cancelled", 2 * ENTRIES), lab.messages(job)
    return job


def trim_by_program(lab: Lab, job: Job, url_file: Path) -> str:
    """Run the program of the example until it has trimmed once. Return what it said."""
    credentials = Credentials.load(lab.platform.folder.client_file)
    assert credentials is not None
    command = [sys.executable, "-u", str(EXAMPLE / "trim.py"), str(job.id), str(url_file)]
    environment = {**os.environ, "GRADSTREAM_URL": credentials.url, "GRADSTREAM_TOKEN": credentials.token}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        try:
            return program.stdout.readline()
        finally:
            program.kill()


def tensors(lab: Lab, job: Job, into: Path) -> dict[str, dict[str, torch.Tensor]]:
    into.mkdir()
    names = [artifact.name for artifact in lab.client.artifacts(job.id) if artifact.name.endswith(".safetensors")]
    return {name: load_file(lab.client.download(job.id, name, into=into)) for name in names if name != "tensors.safetensors"}


@pytest.mark.more
def test_a_job_resumes_on_a_trimmed_stream_and_learns_each_entry_once(
    lab: Lab, redis_server: Callable[..., Redis], tmp_path: Path
) -> None:
    server = redis_server(tcp=True)
    url = server.url.replace("redis://", f"redis://:{quote(server.password)}@")
    (tmp_path / "url").write_text(url)
    write_clicks(tmp_path / "eval.parquet", 99, 500)
    write_clicks(tmp_path / "train.parquet", 1, 2 * ENTRIES)
    rows, client = pq.read_table(tmp_path / "train.parquet").to_pylist(), redis.Redis.from_url(url)
    fill(client, "clicks", rows[: ENTRIES + 30])
    fill(client, "calm", rows)
    job = submit(lab, "disturbed", tmp_path, "clicks")
    eventually(lambda: first_needed(lab, job) == ENTRIES or None, "a checkpoint of workers that wait for a whole block")
    assert trim_by_program(lab, job, tmp_path / "url") == "1,000 entries trimmed\n"
    assert client.xlen("clicks") == 30
    lab.kill("worker-1")
    eventually(lambda: lab.client.job(job.id).attempt == 2 or None, "another attempt")
    fill(client, "clicks", rows[ENTRIES + 30 :])
    assert 0.0 in {point.value for point in lab.points(job, "table/asked_late")}, "pushes ask for rows of entries that are there"
    job, calm = stopped(lab, job), stopped(lab, submit(lab, "calm", tmp_path, "calm"))
    assert {point.rank for point in lab.points(job, "data/behind")} == {0, 1}
    for figure in ("pass/auc", "pass/log_loss"):
        passes = [[(point.step, point.value) for point in lab.points(each, figure)] for each in (calm, job)]
        assert passes[0] == passes[1], "each example counts once in its pass"
        assert [step for step, _ in passes[0]] == [0, 1, 2, 3]
    expected, got = tensors(lab, calm, tmp_path / "calm"), tensors(lab, job, tmp_path / "got")
    assert set(expected) == {"model.safetensors", "tables-0.safetensors", "tables-1.safetensors"}
    for name, of_file in expected.items():
        for key, values in of_file.items():
            assert torch.equal(got[name][key], values), f"{name}: {key}"
    assert server.password not in lab.client.job(job.id).model_dump_json()
