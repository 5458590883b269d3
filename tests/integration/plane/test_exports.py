"""Exports of real servers: each has the rows and the model that the simulator has at its version."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from gradstream import sim
from gradstream.process.saving.exports import ExportPart, downloaded_export
from gradstream.serving import Tables
from gradstream.sim import toys
from gradstream.sim.workload import Workloads
from gradstream.spec import JobSpec
from gradstream.wire import plane
from tests.integration.plane.cluster import Cluster
from tests.integration.plane.test_tables import problems, rows_of
from tests.support import eventually
from tests.unit.serving.servers import publish
from tests.unit.sim.test_tables import FOLDER, KEPT, job

SHARDS, STEPS = 2, 30


class Exporting:
    """Asks for exports and commits some of them, while a job trains."""

    def __init__(self, attempt: Cluster, folder: Path) -> None:
        self.attempt, self.store, self.root = attempt, folder / "store" / "1" / "exports", folder / "followed"
        self.committed: dict[int, int] = {}
        """Numbers by place."""
        attempt.before_round = lambda rank, w: self.steps[w.t]() if rank == 1 and w.t in self.steps else None
        self.steps: dict[int, Callable[[], object]] = {}

    def ask(self, place: int, *, base: bool = False) -> Callable[[], object]:
        return lambda: plane.control_export(self.attempt.admin, self.attempt.j, place, base=base)

    def commit(self, place: int) -> Callable[[], object]:
        def when_stored() -> None:
            self.publish(place)
            plane.control_committed(self.attempt.admin, self.attempt.j, place, "export")

        return when_stored

    def publish(self, place: int) -> list[ExportPart]:
        source, number = self.store / str(place), len(self.committed) + 1
        eventually(lambda: len(list(source.glob("shard-?.json"))) == SHARDS, "all servers to store their parts")
        parts = [ExportPart.model_validate_json((source / f"shard-{k}.json").read_text()) for k in range(SHARDS)]
        after = {part.after for part in parts} - {None}
        described = {"placed": {"theta": ("theta", 0, (self.attempt.build(0).theta.numel(),), "torch.float32")}, "kept": {}}
        target = downloaded_export(self.root, number)
        shutil.copytree(source, target)
        publish(target, number, self.committed[after.pop() or 0] if after else None, parts, described)
        self.committed[place] = number
        return parts


def expected_at(spec: JobSpec, version: int) -> tuple[torch.Tensor, dict[str, dict[int, bytes]]]:
    """The simulator's center and rows at this version, without the state of rules."""
    short = JobSpec.model_validate(spec.model_dump() | {"stop": {"steps": version}})
    result = sim.run(short, Workloads(short, FOLDER), align=4096)
    return result.center, {name: {key: row for key, (row, _) in rows.items()} for name, rows in rows_of(result.shards).items()}


@pytest.mark.more
@pytest.mark.parametrize("local", [(), (0, 1)], ids=["redis", "shared memory"])
def test_each_export_is_the_model_of_its_version(
    cluster: Callable[..., Cluster], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, local: tuple[int, ...]
) -> None:
    """Export 2 fails: nobody says that it is committed. A checkpoint with marks of its own comes between."""
    monkeypatch.setattr("gradstream.center.tables.storage.copying.PIECE", 10)
    spec = job("sync", shards=SHARDS, tables=KEPT, stop={"steps": STEPS})
    attempt = cluster(spec, problems(spec), folder=tmp_path, local=local)
    exporting = Exporting(attempt, tmp_path)
    readers = list[Tables]()
    exporting.steps = {
        4: exporting.ask(1),
        7: exporting.commit(1),
        9: exporting.ask(2),
        10: lambda: plane.control_checkpoint(attempt.admin, attempt.j, 1),
        14: exporting.ask(3),
        17: lambda: (exporting.commit(3)(), readers.append(Tables(exporting.root))),
        20: exporting.ask(4),
        22: exporting.ask(3, base=True),  # too late: servers take numbers in order
        24: exporting.ask(5, base=True),
    }
    attempt.run()
    for place in (4, 5):
        exporting.publish(place)
    checked = set[int]()
    for number in range(1, 5):
        target = tmp_path / f"until-{number}"
        for each in range(1, number + 1):
            shutil.copytree(downloaded_export(exporting.root, each), downloaded_export(target, each))
        tables = Tables(target)
        center, rows = expected_at(spec, tables.current.version)
        checked.add(tables.current.version)
        assert torch.equal(tables.state_dict()["theta"], center)
        for name, width in tables.current.widths.items():
            keys = tables.current.keys(name)
            assert sorted(rows[name]) == keys.tolist()
            values = tables.look_up(name, keys).numpy()
            assert all(values[at].tobytes() == rows[name][int(key)][: 4 * width] for at, key in enumerate(keys))
    assert len(checked) == 4
    assert readers[0].follow()
    assert readers[0].current.version == max(checked)
    keys = torch.from_numpy(np.arange(-5, 1000))
    assert torch.equal(readers[0].look_up("deep", keys), Tables(exporting.root).look_up("deep", keys))


def test_a_model_without_tables_is_exported_too(cluster: Callable[..., Cluster], tmp_path: Path) -> None:
    spec = toys.job({"name": "sync", "lr": 0.1}, workers=2, shards=SHARDS, steps=10)
    attempt = cluster(spec, lambda spec, rank: toys.Bowl(spec, rank, size=11), folder=tmp_path)
    exporting = Exporting(attempt, tmp_path)
    exporting.ask(1)()
    exporting.steps = {4: exporting.ask(2)}
    last = attempt.run()
    exporting.publish(1)
    assert Tables(exporting.root).current.version == 0, "one that is asked for too early has the first center"
    exporting.publish(2)
    tables = Tables(exporting.root)
    theta = tables.state_dict()["theta"]
    assert tables.current.widths == {}
    assert 0 < tables.current.version < 10
    assert theta.shape == last.shape
    assert not torch.equal(theta, last)
