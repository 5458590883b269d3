"""A store that takes longer than the interval of checkpoints: servers skip some, each process holds one copy, an event says so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.platforms import Lab

CODE = """\
import gc
import time
from pathlib import Path
from uuid import uuid4

import torch
from torch import nn
from torch.utils.data import TensorDataset

from gradstream import Workload
from gradstream.process.saving.part import CheckpointPartFiles
from gradstream.process.store import ApiStore

put, held = ApiStore.put, []


def put_slowly(store, name, *args):
    time.sleep(0.7 if name.startswith("checkpoints/") else 0.0)
    put(store, name, *args)


ApiStore.put = put_slowly


class Slow(Workload):
    classifies = False
    folder: str

    def model(self):
        return nn.Linear(8, 1)

    def dataset(self, split):
        x = torch.randn(256, 8, generator=torch.Generator().manual_seed(1 if split == "train" else 2))
        return TensorDataset(x, x.sum(1, keepdim=True))

    def loss(self, model, batch):
        if torch.is_grad_enabled():
            time.sleep(0.05)
            held.append(sum(type(each) is CheckpointPartFiles for each in gc.get_objects()))
        return (model(batch[0]) - batch[1]).square().mean()

    def on_train_end(self):
        Path(self.folder, uuid4().hex).write_text(str(max(held)))
"""


@pytest.mark.more
def test_a_slow_store_makes_checkpoints_rarer_and_holds_one_copy(lab: Lab, tmp_path: Path) -> None:
    """The copies of workers waited in their memory, one more for each checkpoint."""
    code, folder = tmp_path / "code", tmp_path / "held"
    for made in (code, folder):
        made.mkdir()
    folder.chmod(0o777)  # isolated jobs may have an account of their own
    (code / "slow.py").write_text(CODE)
    workload = {"entrypoint": "slow:Slow", "args": {"folder": str(folder)}}
    fields = {"strategy": {"name": "sync", "lr": 0.01}, "checkpoint": {"every": "64 samples"}, "stop": {"steps": 80}}
    job = lab.ended(lab.submit("slow-store", code=code, workload=workload, **fields))
    assert (job.status, job.attempt) == ("succeeded", 1), lab.messages(job)
    assert [int(file.read_text()) for file in folder.iterdir()] == [1, 1]
    events = lab.client.events(job.id, kinds=["checkpoint"])
    due = job.progress.samples // 64
    assert 3 <= len(events) <= due / 3, "each took more than ten mini-batches, and one was due with every second"
    [late] = [event.message for event in lab.client.events(job.id, kinds=["warning"]) if "checkpoint.every" in event.message]
    said = r"storing checkpoint 1 took (\d+\.\d) s, and (\d+) that were due meanwhile were skipped. Raise checkpoint.every,"
    found = re.search(said, late)
    assert found, late
    assert float(found[1]) >= 0.7
    assert int(found[2]) >= 2
