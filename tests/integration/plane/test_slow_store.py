"""A store that takes longer than the interval of checkpoints: each process holds one copy, and training goes on."""

from __future__ import annotations

import gc
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from gradstream import sim
from gradstream.metrics import STORED_CHECKPOINTS
from gradstream.process.saving.checkpoint_names import shard_part
from gradstream.process.saving.content import Content
from gradstream.process.saving.part import CheckpointPartFiles
from gradstream.process.store import FolderStore
from gradstream.sim.toys import Bowl, job
from gradstream.spec import JobSpec
from gradstream.training.replica import Replica
from gradstream.wire import plane
from tests.integration.plane.cluster import Cluster
from tests.support import eventually

STEPS = 30


def bowl(spec: JobSpec, rank: int) -> Bowl:
    return Bowl(spec, rank, size=20_011)


def held() -> Counter[str]:
    """Count the copies of each shard in memory."""
    parts = [each.part for each in gc.get_objects() if type(each) is CheckpointPartFiles]
    return Counter(part for part in parts if part.startswith("shard-"))


class SlowStore:
    """Stores nothing until `open`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.is_open, put = threading.Event(), FolderStore.put

        def put_when_open(store: FolderStore, name: str, content: Content, sha256: str | None = None) -> None:
            assert self.is_open.wait(60)
            put(store, name, content, sha256)

        monkeypatch.setattr(FolderStore, "put", put_when_open)


@pytest.mark.parametrize("how", ["servers", "serverless", "gloo"])
def test_each_shard_holds_one_copy_while_the_store_is_slow(
    cluster: Callable[..., Cluster], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    shards = 1 if how == "gloo" else 2
    more: dict[str, Any] = {} if how == "servers" else {how: True, "local": tuple(range(shards))}
    spec = job({"name": "sync", "lr": 0.05}, workers=2, shards=shards, steps=STEPS, checkpoint={"every": "2 samples"})
    gc.collect()
    assert not held(), "copies of an earlier test"
    store, counts = SlowStore(monkeypatch), list[Counter[str]]()

    def count(rank: int, w: Replica) -> None:
        if rank == 0 and w.t % 5 == 4:
            counts.append(held())
        if w.t == STEPS - 1:
            store.is_open.set()

    trained = cluster(spec, bowl, folder=tmp_path, before_round=count, **more).run()
    assert max(found[shard_part(k)] for found in counts for k in range(shards)) == 1
    assert all(counts), "a copy was held at all times"
    assert torch.equal(trained, sim.run(spec, bowl, align=4096).center)
    files = [tmp_path / "store" / "1" / "checkpoints" / number / f"shard-{k}.safetensors" for number in "01" for k in range(shards)]
    assert all(file.exists() for file in files), "the first one, which was on its way, and the last one"


def test_servers_that_wait_for_commits_report_what_they_skip(cluster: Callable[..., Cluster], tmp_path: Path) -> None:
    spec = job({"name": "sync", "lr": 0.05}, workers=2, shards=2, steps=STEPS, checkpoint={"every": "2 samples"})
    attempt = cluster(spec, bowl, folder=tmp_path)
    folder = tmp_path / "store" / "1" / "checkpoints"

    def commit(rank: int, w: Replica) -> None:
        for server in attempt.servers:
            server.shard.checkpoint_making.schedule.waits_for_commits = True
        if rank == 0 and w.t == STEPS // 2:
            plane.control_committed(attempt.admin, attempt.j, 1)

    attempt.before_round = commit
    attempt.run()
    seconds, skipped = (attempt.points(metric) for metric in STORED_CHECKPOINTS)
    assert [point.step for point in seconds] == [1]
    assert [(point.step, point.value) for point in skipped[:1]] == [(1, 1.0)], "the first one, at once"
    assert skipped[1].step == 1
    assert skipped[1].value >= STEPS // 4
    eventually(lambda: {file.name for file in folder.iterdir()} == {"0", "1", "2"}, "no further checkpoints, as none was committed")
