"""Embedding tables at real servers, over shared memory and Redis: the bits of the simulator, and no row is left on the way."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from gradstream import sim
from gradstream.center.entries import EVALUATOR, Lookup, Payload
from gradstream.center.tables.hashing import bucket_order
from gradstream.center.tables.payload import RowKeys
from gradstream.errors import PlaneLost
from gradstream.process.order import Resume
from gradstream.process.saving.part_list import PartList
from gradstream.shard_server.saving.row_files import RowChain
from gradstream.sim.view import View
from gradstream.sim.workload import Workloads
from gradstream.spec import JobSpec
from gradstream.training.loop import train
from gradstream.training.problem import Problem
from gradstream.training.replica import Replica
from gradstream.wire import plane
from gradstream.wire.redis import keys
from tests.integration.plane.cluster import Cluster
from tests.support import eventually
from tests.unit.sim.test_tables import ADAGRAD, ADMITTED, COLD, FOLDER, FTRL, HALF, KEPT, job
from worker_node.evaluator_link import EvaluatorLink

WHERE = {"redis": (), "shared memory": (0, 1), "both": (1,)}


def problems(spec: JobSpec) -> Callable[[JobSpec, int], Problem]:
    workloads = Workloads(spec, FOLDER)
    return lambda spec, rank: workloads(spec, rank)._problem


def rows_of(states: list[dict[str, Any]]) -> dict[str, dict[int, tuple[bytes, int]]]:
    """Weights with state, and updates, by table and key."""
    found: dict[str, dict[int, tuple[bytes, int]]] = {}
    for state in states:
        for name, table in state["center"]["tables"]["tables"].items():
            columns = {column: values.numpy() for column, values in table["columns"].items()}
            of_keys = zip(columns["keys"], columns["values"], columns["updates"], strict=True)
            found.setdefault(name, {}).update({int(key): (values.tobytes(), int(updates)) for key, values, updates in of_keys})
    return found


def served(attempt: Cluster) -> dict[str, dict[int, tuple[bytes, int]]]:
    return rows_of([server.shard.state() for server in attempt.servers])


def assert_as_simulated(attempt: Cluster, spec: JobSpec) -> None:
    center, expected = attempt.run(), sim.run(spec, Workloads(spec, FOLDER), align=4096)
    assert torch.equal(center, expected.center)
    assert served(attempt) == rows_of(expected.shards)
    assert len(served(attempt)["deep"]) > 50
    assert_nothing_left(attempt)


def assert_nothing_left(attempt: Cluster) -> None:
    assert attempt.keys("q") == attempt.keys("f") == []
    folder = attempt.shared and attempt.shared.of(attempt.j)
    assert not folder or not [file for file in folder.iterdir() if file.name.startswith("gs:")]


@pytest.mark.few(2)
@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("tables", [ADAGRAD, ADMITTED, FTRL, KEPT, HALF], ids=["adagrad", "admitted", "ftrl", "kept", "half"])
def test_rounds_give_the_bits_of_the_simulator(tables: dict[str, Any], where: str, cluster: Callable[..., Cluster]) -> None:
    spec = job("sync", shards=2, tables=tables, stop={"steps": 12})
    assert_as_simulated(cluster(spec, problems(spec), local=WHERE[where]), spec)


@pytest.mark.few(1)
@pytest.mark.parametrize("where", ["redis", "shared memory"])
def test_rows_on_disk_change_no_bit(where: str, cluster: Callable[..., Cluster]) -> None:
    in_memory = {name: {key: value for key, value in rules.items() if key != "memory"} for name, rules in COLD.items()}
    spec, plain = (job("sync", shards=3, tables=tables, stop={"steps": 12}) for tables in (COLD, in_memory))
    attempt = cluster(spec, problems(spec), local=WHERE[where])
    center = attempt.run()
    expected = sim.run(plain, Workloads(plain, FOLDER), align=4096)
    assert torch.equal(center, expected.center)
    assert served(attempt) == rows_of(expected.shards)
    hosted = [server._hosted._tables for server in attempt.servers]
    tiers = [table.tier for tables in hosted if tables for table in tables.tables.values() if table.tier]
    assert len(tiers) == 6
    assert all(tier.cold > 10 and tier.read > 10 for tier in tiers)


@pytest.mark.few(1)
@pytest.mark.parametrize("where", WHERE)
def test_what_workers_observe_is_counted_as_in_the_simulator(where: str, cluster: Callable[..., Cluster]) -> None:
    spec = job("sync", shards=2, args={"observes": True}, stop={"steps": 12})
    attempt = cluster(spec, problems(spec), local=WHERE[where])
    attempt.run()
    first, second = (server.shard for server in sorted(attempt.servers, key=lambda server: server._order.rank))
    expected = sim.run(spec, Workloads(spec, FOLDER), align=4096).shards[0]["observed"]
    assert first.observed.state() == expected
    assert first.observed.counted.examples == 3 * 12 * 32
    assert second.observed.state() is None


ALONE = {
    "async": {},
    "async ahead": {"args": {"ahead": True}},
    "async overlapping": {"pipeline": 1},
    "dynsgd": {},
    "adag": {},
    "geo": {},
}


@pytest.mark.few(2)
@pytest.mark.parametrize("how", ALONE)
def test_one_worker_gives_the_bits_of_the_simulator(how: str, cluster: Callable[..., Cluster]) -> None:
    spec = job(how.split()[0], workers=1, shards=3, stop={"steps": 12}, **ALONE[how])
    assert_as_simulated(cluster(spec, problems(spec), local=(0, 2)), spec)


def test_a_model_may_be_a_table_alone(cluster: Callable[..., Cluster]) -> None:
    spec = job("sync", workers=2, shards=2, args={"alone": True}, tables={}, stop={"steps": 8})
    attempt = cluster(spec, problems(spec))
    assert attempt.run().numel() == 0
    assert served(attempt) == rows_of(sim.run(spec, Workloads(spec, FOLDER), align=4096).shards)


def test_a_run_resumed_from_a_checkpoint_equals_the_one_that_went_on(cluster: Callable[..., Cluster], tmp_path: Path) -> None:
    spec = job("sync", shards=2, stop={"steps": 20})
    first = cluster(spec, problems(spec), folder=tmp_path, local=(0, 1))

    def ask_for_a_checkpoint(rank: int, w: Replica) -> None:
        if rank == 1 and w.t == 7:
            plane.control_checkpoint(first.admin, first.j, 1)

    first.before_round = ask_for_a_checkpoint
    went_on = first.run()
    second = cluster(
        spec, problems(spec), folder=tmp_path, number=2, job=first.job, resume=Resume(attempt=1, checkpoint=1), local=(0, 1)
    )
    assert torch.equal(second.run(), went_on)
    assert served(second) == served(first)


@pytest.mark.more
def test_attempts_resume_from_increments_of_earlier_attempts(
    cluster: Callable[..., Cluster], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With candidates, scores and shrinks between the checkpoints. Checkpoint 2 fails: nobody says that it is committed."""
    monkeypatch.setattr(RowChain, "is_long", False)
    spec = job("sync", shards=2, tables=KEPT, stop={"steps": 40})
    known: dict[str, Any] = {}

    def attempt(number: int, steps: dict[int, Callable[[Cluster], None]], resume: Resume | None = None) -> Cluster:
        made = cluster(spec, problems(spec), folder=tmp_path, number=number, local=(0, 1), resume=resume, **known)
        known["job"] = made.job
        made.before_round = lambda rank, w: steps[w.t](made) if rank == 1 and w.t in steps else None
        return made

    def checkpoint(number: int) -> Callable[[Cluster], None]:
        return lambda made: plane.control_checkpoint(made.admin, made.j, number)

    def commit(number: int) -> Callable[[Cluster], None]:
        def when_stored(made: Cluster) -> None:
            folder = tmp_path / "store" / str(made.number) / "checkpoints" / str(number)
            eventually(lambda: len(list(folder.glob("shard-?.safetensors"))) == 2, "both shards to store their parts")
            plane.control_committed(made.admin, made.j, number)

        return when_stored

    first = attempt(1, {5: checkpoint(1), 8: commit(1), 10: checkpoint(2), 14: checkpoint(3), 20: commit(3), 24: checkpoint(4)})
    went_on = first.run()
    second = attempt(2, {18: checkpoint(1), 21: commit(1), 24: checkpoint(2)}, Resume(attempt=1, checkpoint=3))
    third = attempt(3, {}, Resume(attempt=2, checkpoint=2))
    for later in (second, third):
        assert torch.equal(later.run(), went_on)
        assert served(later) == served(first)

    def rested(number: int, checkpoint: int) -> set[tuple[int, int]]:
        listed = PartList.model_validate_json((tmp_path / f"store/{number}/checkpoints/{checkpoint}/shard-1.json").read_text())
        assert [file.name for file in listed.files] == ["shard-1.rows-0.safetensors"]
        return {(file.attempt, file.checkpoint) for file in listed.rests_on}

    assert rested(1, 1) == set()
    assert rested(1, 2) == rested(1, 3) == {(1, 1)}
    assert rested(1, 4) == rested(2, 1) == {(1, 1), (1, 3)}
    assert rested(2, 2) == {(1, 1), (1, 3), (2, 1)}


def test_an_evaluator_gets_the_rows_of_the_center_it_is_given(cluster: Callable[..., Cluster]) -> None:
    spec = job("sync", shards=2, stop={"steps": 10}, evaluate={"every": f"{4 * 96} samples"})
    wanted = np.unique(np.concatenate([table_keys(spec), np.array([-5, 2**62])]))
    wanted = wanted[bucket_order(wanted)]
    attempt = cluster(spec, problems(spec), local=(0, 1))
    attempt.start()
    link = EvaluatorLink(attempt.port(EVALUATOR, 0, Replica(spec, attempt.build(EVALUATOR))), EVALUATOR, 0)
    link.join()
    named: Mapping[str, RowKeys] | None = {"deep": RowKeys(wanted)}
    seen: dict[int, bytes] = {}
    while True:
        link.pull(named)
        response, named = link.receive_within(30), None
        assert response is not None, attempt.errors
        assert response.payload is not None
        assert response.payload.rows is not None
        rows = response.payload.rows["deep"]
        assert np.array_equal(rows.keys, wanted)
        seen[response.version] = rows.values.tobytes()  # type: ignore[union-attr]
        if response.outcome == "over":
            break
    now = link.look_up({"deep": RowKeys(wanted)})
    assert now["deep"].values.tobytes() == seen[10]
    link.leave()
    expected: dict[int, bytes] = {}

    def look(view: View) -> None:
        expected[view.version] = view.look_up({"deep": RowKeys(wanted)})["deep"].values.tobytes()

    sim.run(spec, Workloads(spec, FOLDER), align=4096, watch_every=96, watch=look)
    assert list(seen) == [0, 4, 8, 10]
    assert [seen[version] for version in (4, 8, 10)] == [expected[version] for version in (4, 8, 10)]
    assert len(set(seen.values())) == 4
    for thread in attempt.threads:
        thread.join(30)
    assert not attempt.errors
    assert_nothing_left(attempt)


def table_keys(spec: JobSpec) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Keys that the evaluation split has."""
    dataset: Any = Workloads(spec, FOLDER)._code.dataset("eval")
    return np.asarray(dataset.tensors[0].numpy().ravel()[:400])


@pytest.mark.parametrize("local", [(), (0, 1)], ids=["redis", "shared memory"])
def test_what_a_dead_worker_has_not_read_or_not_announced_is_removed(
    local: tuple[int, ...], cluster: Callable[..., Cluster]
) -> None:
    spec = job("async", workers=2, shards=2, stop={"steps": 6})
    attempt = cluster(spec, problems(spec), local=local)
    link, _, port, _ = attempt.link(0)
    for shard in range(2):
        attempt.thread(attempt.serve, shard)
    attempt.thread(attempt.work, 1)
    assert link.begin()
    looked_up = np.array([3, 1, 2])
    wanted = {"deep": RowKeys(looked_up[bucket_order(looked_up)])}
    port.send(Lookup(0, 0, 1), Payload(torch.empty(0), rows=wanted))
    folder = attempt.shared and attempt.shared.of(attempt.j)

    def lying(kind: str) -> int:
        files = [file for file in folder.iterdir() if f":{kind}:0.0." in file.name] if folder else []
        return len(files) + len([key for key in attempt.keys(kind) if f":{kind}:0.0." in key])

    eventually(lambda: lying("f") == 2, "both shards to answer the lookup")
    port._rows.send(2, wanted)  # an entry that never comes
    assert lying("q") == 2
    plane.post_leave(attempt.admin, attempt.j, 0, 0)
    eventually(lambda: lying("f") + lying("q") == 0, "the rows of the dead worker to be removed")

    def succeed() -> None:
        link, w, _, _ = attempt.link(0, 1)
        train(spec.strategy, w, link)
        link.leave()

    attempt.thread(succeed)
    attempt.finish()
    assert_nothing_left(attempt)


def test_damaged_rows_end_the_attempt(cluster: Callable[..., Cluster]) -> None:
    spec = job("async", workers=1, shards=1, stop={"steps": 3})
    attempt = cluster(spec, problems(spec))
    link, _, port, _ = attempt.link(0)
    put = port._rows._transport.put
    key = keys.rows_of_entry(attempt.j, 0, 0, 0, 1)

    def spoil(*args: Any, **more: Any) -> Any:
        part = put(*args, **more)
        good = bytearray(attempt.admin.get(key))  # type: ignore[arg-type]
        good[-1] ^= 1
        attempt.admin.set(key, bytes(good))
        return part

    port._rows._transport.put = spoil  # type: ignore[method-assign]
    server = attempt.thread(attempt.serve, 0)
    assert link.begin()
    port.send(Lookup(0, 0, 1), Payload(torch.empty(0), rows={"deep": RowKeys(np.array([7]))}))
    server.join(30)
    [error] = attempt.errors
    assert isinstance(error, PlaneLost)
    assert "gone or damaged" in str(error)


def test_rows_without_room_in_shared_memory_go_through_redis(
    cluster: Callable[..., Cluster], monkeypatch: pytest.MonkeyPatch
) -> None:
    write, refused = os.write, list[str]()

    def no_room_for_rows(handle: int, data: memoryview) -> int:
        """A file has room for 100 bytes, and none for the rest."""
        if os.fstat(handle).st_size < 100 or not Path(os.readlink(f"/proc/self/fd/{handle}")).name.startswith("gs:"):
            return write(handle, data[:100])
        refused.append(os.readlink(f"/proc/self/fd/{handle}"))
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", no_room_for_rows)
    spec = job("sync", shards=2, stop={"steps": 6})
    assert_as_simulated(cluster(spec, problems(spec), local=(0, 1)), spec)
    assert refused


@pytest.mark.parametrize("local", [(), (0, 1)], ids=["redis", "shared memory"])
def test_rows_through_redis_are_traffic(local: tuple[int, ...], cluster: Callable[..., Cluster]) -> None:
    spec = job("async", workers=1, shards=2, stop={"steps": 3})
    attempt = cluster(spec, problems(spec), local=local)
    link, _, port, _ = attempt.link(0)
    for shard in range(2):
        attempt.thread(attempt.serve, shard)
    assert link.begin()
    port.take_traffic()
    asked = np.arange(1000)
    found = link.rows.look_up({"deep": RowKeys(asked[bucket_order(asked)])})
    assert found["deep"].values.shape == (1000, 4)
    sent, raw, received = port.take_traffic()
    if local:
        assert (sent, raw, received) == (0, 0, 0)
    else:
        assert 8 * 1000 < sent == raw < 8 * 1000 + 500
        assert 40 * 1000 < received < 40 * 1000 + 500
    link.leave()
    attempt.finish()


def test_rows_that_no_value_holds_are_refused_with_a_remedy(
    cluster: Callable[..., Cluster], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gradstream.wire.row_transport._MOST", 1000)
    spec = job("async", workers=1, shards=1, stop={"steps": 3})
    attempt = cluster(spec, problems(spec))
    link, _, _, _ = attempt.link(0)
    attempt.thread(attempt.serve, 0)
    assert link.begin()
    with pytest.raises(PlaneLost, match="take more servers"):
        link.rows.look_up({"deep": RowKeys(np.arange(1000))})
    link.leave()
    attempt.finish()
