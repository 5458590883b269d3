"""Sources of data in real processes: fetched ahead, checkpointed, resumed to the same bits; and what waiting costs is told."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from safetensors.torch import load_file

from gradstream import metrics
from gradstream.local.servers.redis import Redis
from gradstream.local.training.attempt import LocalAttempt
from gradstream.process.order import Resume
from gradstream.process.saving.state_file import read_state
from gradstream.process.zygote.zygote import Zygote
from gradstream.spec import JobSpec
from gradstream.wire.redis.client import connect
from tests.support import TIMEOUT

pytestmark = pytest.mark.xdist_group("data")  # each process that runs some of these tests starts a zygote of its own
STEPS, CHECKPOINT_AT = 60, 15

BODY = f"""
import random
import time
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import Dataset

from gradstream import Workload, data


def shaken(batch, generator):
    x, y = batch
    return x + 0.1 * torch.randn(x.shape, generator=generator), y

class Own(Dataset):
    def __init__(self, source):
        self.source = source
    def __len__(self):
        return len(self.source)
    def __getitem__(self, at):
        x, y = self.source[at]
        return x * (1 + 0.1 * random.random()), y


class Rows(Workload):
    kind: str
    folder: str
    steps = 0
    def model(self):
        return nn.Sequential(nn.Flatten(), nn.Linear(12, 16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 3))
    def dataset(self, split):
        folder = Path(self.folder)
        if self.kind.startswith("parquet"):
            open_ = data.parquet_stream if self.kind.endswith("stream") else data.parquet
            return open_(folder / "t.parquet", ["x"], "y")
        source = data.idx(folder / "images", folder / "labels").map(data.scaled(1 / 255))
        return {{"idx": source.augment(shaken), "own": Own(source), "slow": source.map(late)}}[self.kind]
    def loss(self, model, batch):
        if model.training:
            self.steps += 1
            time.sleep(0.01)
            if self.steps == {CHECKPOINT_AT}:
                (Path(self.folder) / "now").touch()
            while self.steps == {STEPS} - 20 and not (Path(self.folder) / "asked").exists():
                time.sleep(0.01)
        return nn.functional.cross_entropy(model(batch[0]), batch[1])


def late(batch):
    time.sleep(0.02)
    return batch
"""


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    zygote = Zygote()
    zygote.start()
    yield zygote
    zygote.close()


Start = Callable[..., LocalAttempt]


@pytest.fixture
def start(zygote: Zygote, shared_redis: Redis, tmp_path: Path) -> Iterator[Start]:
    code = tmp_path / "user"
    code.mkdir()
    (code / "rows.py").write_text(BODY)
    made: list[LocalAttempt] = []
    generator = np.random.default_rng(2)
    images, labels = generator.integers(0, 256, (90, 3, 4), dtype=np.uint8), generator.integers(0, 3, 90, dtype=np.uint8)
    for name, values in (("images", images), ("labels", labels)):
        header = bytes([0, 0, 8, values.ndim]) + b"".join(n.to_bytes(4, "big") for n in values.shape)
        (tmp_path / name).write_bytes(header + values.tobytes())
    rows = pa.table({"x": list(images.reshape(90, 12) / 255), "y": labels})
    pq.write_table(rows, tmp_path / "t.parquet", row_group_size=10)

    def start(kind: str, steps: int = STEPS, **more: Any) -> LocalAttempt:
        fields = {key: value for key, value in more.items() if key in JobSpec.model_fields}
        workload = {"entrypoint": "rows:Rows", "args": {"kind": kind, "folder": str(tmp_path)}}
        spec = JobSpec.model_validate(
            {
                "name": "rows",
                "workload": workload,
                "batch_size": 8,
                "strategy": {"name": "sync", "lr": 0.1},
                "stop": {"steps": steps},
                "roles": {"worker": {"count": 2}},
                **fields,
            }
        )
        resume = {key: value for key, value in more.items() if key not in fields}
        attempt = LocalAttempt(
            spec,
            code,
            tmp_path,
            zygote=zygote,
            redis=connect(shared_redis.url, password=shared_redis.password),
            plane_url=shared_redis.url,
            **resume,
        )
        made.append(attempt)
        attempt.start()
        return attempt

    yield start
    for attempt in made:
        attempt.close()


def finish(attempt: LocalAttempt, meanwhile: Callable[[], None] = lambda: None) -> dict[str, torch.Tensor]:
    until = time.monotonic() + TIMEOUT
    while not attempt.over and not attempt.failed:
        assert time.monotonic() < until, "the job did not end"
        list(attempt.pump(0.02))
        meanwhile()
    assert attempt.failed is None, f"{attempt.failed}\n{attempt.log_of(attempt.failed[0])}"
    return load_file(attempt.store / "model.safetensors")


@pytest.mark.more
@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("idx", {"prefetch": 3}),
        ("own", {"processes": 2}),
        ("own", {}),
        ("parquet", {"prefetch": 1}),
        ("parquet_stream", {"prefetch": 2}),
    ],
)
def test_a_job_resumed_from_a_checkpoint_has_the_bits_of_the_one_that_went_on(
    start: Start, tmp_path: Path, kind: str, data: dict[str, Any]
) -> None:
    first, asked = start(kind, data=data), []

    def ask_for_a_checkpoint() -> None:
        if not asked and (tmp_path / "now").exists():
            asked.append(1)
            first.request_checkpoint(1)
            (tmp_path / "asked").touch()

    went_on = finish(first, ask_for_a_checkpoint)
    checkpoint = read_state(first.store / "checkpoints" / "1" / "worker-0.safetensors")
    assert CHECKPOINT_AT <= checkpoint["replica"]["t"] < STEPS
    resumed = finish(start(kind, data=data, job_id=first._job, number=2, resume=Resume(attempt=1, checkpoint=1)))
    assert all(torch.equal(value, resumed[key]) for key, value in went_on.items())
    for file in (first.store / "checkpoints" / "1").glob("*.safetensors"):  # as an earlier version stored it
        torch.save(read_state(file), file.with_suffix(".pt"))
        file.unlink()
    resumed = finish(start(kind, data=data, job_id=first._job, number=4, resume=Resume(attempt=1, checkpoint=1)))
    assert all(torch.equal(value, resumed[key]) for key, value in went_on.items())
    otherwise = finish(start(kind, data={"prefetch": 0}, number=3))
    assert all(torch.equal(value, otherwise[key]) for key, value in went_on.items()), "however batches are fetched"


@pytest.mark.more
def test_waiting_for_a_slow_source_is_told_as_time_data(start: Start) -> None:
    attempt = start("slow", steps=12, data={"prefetch": 0})
    finish(attempt)
    waited = [point.value for _, points in attempt.metrics() for point in points if point.name == metrics.DATA.name]
    assert len(waited) == 24
    assert min(waited) >= 0.02


def test_a_missing_file_fails_the_job_with_its_name(start: Start, tmp_path: Path) -> None:
    (tmp_path / "labels").unlink()
    attempt = start("idx")
    until = time.monotonic() + TIMEOUT
    while not attempt.failed:
        assert time.monotonic() < until, "the job did not fail"
        list(attempt.pump(0.1))
    _, end = attempt.failed
    assert end.reason == "user_error"
    assert f"there is no file {tmp_path / 'labels'}" in end.message
