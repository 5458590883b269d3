"""The transport over shared memory: the same bits, nothing left behind, and Redis where it does not fit or hosts differ."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest
import torch

from gradstream import sim
from gradstream.center.entries import EVALUATOR, Join, Outcome, Payload, Response
from gradstream.codecs.raw import RAW
from gradstream.process.order import SharedMemory
from gradstream.process.shared import PLACE, SharedFolders
from gradstream.shard_server.local import LocalWorkers
from gradstream.sim.toys import Bowl, job
from gradstream.spec import JobSpec
from gradstream.wire.center_receiver import CenterReceiver
from gradstream.wire.transport.layout import Layout
from gradstream.wire.transport.local import LocalServers
from gradstream.wire.transport.messages import SHARED, Part, ResponseMessage
from gradstream.wire.transport.pipe import ResponsePipe
from gradstream.wire.transport.remote import RemoteServers
from gradstream.wire.transport.shm import Shared, count_centers
from tests.integration.plane.cluster import Cluster
from tests.support import eventually

SIZE = 20_011


def bowl(spec: JobSpec, rank: int) -> Bowl:
    return Bowl(spec, rank, size=SIZE)


SETTINGS = {
    "sync": {"lr": 0.1},
    "adag": {"lr": 0.1, "window": 3},
    "easgd": {"lr": 0.1, "window": 2},
    "geo": {"lr": 0.05, "window": 3},
    "local_sgd": {"lr": 0.05, "window": 3, "inner": "average"},
}


@pytest.mark.few(8)
@pytest.mark.parametrize("local", [(0, 1, 2), (0,), (1, 2)], ids=["all", "first", "others"])
@pytest.mark.parametrize("name", SETTINGS)
def test_the_bits_of_the_simulator(name: str, local: tuple[int, ...], cluster: Callable[..., Cluster]) -> None:
    optimizer = {"name": "sgd", "momentum": 0.9}
    spec = job({"name": name, **SETTINGS[name]}, workers=3, shards=3, steps=7, gate="bsp", optimizer=optimizer)
    attempt = cluster(spec, bowl, local=local)
    assert torch.equal(attempt.run(), sim.run(spec, bowl, align=4096).center)
    for shard in range(3):
        found = [key for key in attempt.keys("d") if f":{shard}}}:" in key]
        assert not found, "payloads are freed, or never went through Redis"


@pytest.mark.parametrize("codec", ["bf16", "topk"])
def test_a_lossy_codec_loses_the_same(codec: str, cluster: Callable[..., Cluster]) -> None:
    spec = job({"name": "sync", "lr": 0.1}, workers=2, shards=2, steps=7, codec={"name": codec}, pull_codec={"name": "bf16"})
    expected = sim.run(spec, bowl, align=4096).center
    assert torch.equal(cluster(spec, bowl, local=(0, 1)).run(), expected)
    assert torch.equal(cluster(spec, bowl, local=(1,)).run(), expected)


@pytest.mark.parametrize("name", ["async", "downpour", "adag", "dc_asgd", "geo"])
def test_every_push_is_accounted_for(name: str, cluster: Callable[..., Cluster]) -> None:
    attempt = cluster(job({"name": name, "lr": 0.01}, workers=3, shards=2, steps=20), bowl, local=(0, 1))
    center = attempt.run()
    assert center.isfinite().all()
    for server in attempt.servers:
        for account in server.shard.ledger.accounts.values():
            assert account.pushed == account.applied + account.deferred + account.dropped > 0


@pytest.mark.more
def test_without_enough_memory_vectors_go_through_redis(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A file system in memory of 1 MiB, made in a mount namespace of its own, as a small container has it."""
    code = f"""
import torch
from pathlib import Path
from gradstream.wire.transport.layout import Layout
from gradstream.wire.transport.shm import SharedMemoryError, Shared
folder = Path({str(tmp_path / "memory")!r})
small, large = (Layout.of(torch.empty(n), None, 1) for n in (1000, 10**6))
Shared.make(folder, 0, 0, small)
try:
    Shared.make(folder, 1, 0, large)
except SharedMemoryError as error:
    print(error)
assert [file.name for file in folder.iterdir()] == ["0.0"]
"""
    memory = tmp_path / "memory"
    memory.mkdir()
    (tmp_path / "program.py").write_text(code)
    mounted = f"mount -t tmpfs -o size=1m none {memory} && exec {sys.executable} {tmp_path / 'program.py'}"
    done = subprocess.run(["unshare", "-rm", "bash", "-c", mounted], capture_output=True, text=True, timeout=60)
    if "Operation not permitted" in done.stderr or "unshare failed" in done.stderr:
        pytest.skip("this machine lets nobody make a mount namespace")
    assert done.returncode == 0, done.stderr
    assert "8 MB cannot be allocated" in done.stdout


def test_a_worker_without_enough_memory_trains_on_redis(cluster: Callable[..., Cluster]) -> None:
    """Its file is there already, so it can make none: its join names no shards, and everything goes through Redis."""
    spec = job({"name": "sync", "lr": 0.1}, workers=2, shards=2, steps=5)
    attempt = cluster(spec, bowl, local=(0, 1))
    assert attempt.shared is not None
    folder = attempt.shared.of(attempt.j)
    assert folder is not None
    (folder / "1.0").touch()
    assert torch.equal(attempt.run(), sim.run(spec, bowl, align=4096).center)


def test_an_evaluator_has_nothing_to_send_from(tmp_path: Path) -> None:
    layout = Layout.of(torch.empty(5000), None, 1)
    sizes = []
    for rank in (EVALUATOR, 0):
        shared = Shared.make(tmp_path, rank, 0, layout)
        sizes.append((tmp_path / f"{rank}.0").stat().st_size)
        assert (shared.out is None) == (rank == EVALUATOR)
    assert 2 * sizes[0] == sizes[1]


@pytest.mark.parametrize("every", [2.0, "64 samples"])
def test_the_last_center_of_an_evaluator_leaves_another_alone_if_it_comes_unasked(every: float | str, tmp_path: Path) -> None:
    """By samples it comes when it is asked for."""
    spec, layout = job({"name": "sync"}, evaluate={"every": every}), Layout.of(torch.empty(5000), None, 1)
    pipe = ResponsePipe(tmp_path, EVALUATOR, 0)
    vectors = Shared.make(tmp_path, EVALUATOR, 0, layout, count_centers(spec, EVALUATOR))
    local = LocalServers(frozenset({0}), vectors, pipe)
    receiver = CenterReceiver(layout, RAW, local, cast(RemoteServers, None), len(vectors.centers))
    workers = LocalWorkers(tmp_path, 0, spec, None)
    workers.add_incarnation((EVALUATOR, 0), "")
    evaluator = workers.get((EVALUATOR, 0))
    assert evaluator is not None

    def receive(seq: int, outcome: Outcome) -> torch.Tensor:
        payload = Payload(torch.full((5000,), 1.0 + seq))
        response = Response(EVALUATOR, 0, seq, outcome, 1, 64, 2, brings="center", payload=payload)
        evaluator.put_center(layout, payload.x, response)
        return receiver.receive([ResponseMessage(1, response, SHARED, Part(0, 0))]).x

    asked, last = receive(1, "ok"), receive(0, "over")
    assert (last == 1.0).all()
    assert (asked == (2.0 if every == 2.0 else 1.0)).all()


@pytest.mark.parametrize(("every", "centers"), [(2.0, 2), ("64 samples", 1)])
def test_the_last_center_leaves_the_model_alone_through_redis_too(every: float | str, centers: int) -> None:
    """It may be received in the middle of an evaluation, which waits for rows of embeddings."""
    spec, theta = job({"name": "sync"}, evaluate={"every": every}), torch.ones(5000)
    layout, remote = Layout.of(theta, None, 1), cast(RemoteServers, None)
    receiver = CenterReceiver(layout, RAW, LocalServers(), remote, count_centers(spec, EVALUATOR), into=theta)
    assert receiver.buffers[0] is theta
    assert len({buffer.data_ptr() for buffer in receiver.buffers}) == centers


def test_a_model_of_tables_alone_has_empty_vectors(tmp_path: Path) -> None:
    layout = Layout.of(torch.empty(0), None, 1)
    for rank, sends in ((EVALUATOR, False), (0, True)):
        made = Shared.make(tmp_path, rank, 0, layout, centers=2)
        opened = Shared.open(tmp_path, rank, 0, layout, centers=2)
        for shared in (made, opened):
            assert [center.numel() for center in shared.centers] == [0, 0]
            assert (shared.out is not None) == sends


def test_what_a_killed_owner_left_is_removed_and_nothing_else(tmp_path: Path) -> None:
    code = f"from gradstream.process.shared import *; s = SharedFolders(Path({str(tmp_path)!r})); print(s.of('j'), flush=True)"
    command = [sys.executable, "-c", code + "; input()"]
    owners = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    folders = [Path(owner.stdout.readline().strip()) for owner in owners if owner.stdout]
    assert all(folder.is_dir() for folder in folders)
    os.kill(owners[0].pid, signal.SIGKILL)
    owners[0].wait(60)
    mine = SharedFolders(tmp_path)
    assert [folder.is_dir() for folder in folders] == [False, True]
    for owner in owners:
        owner.kill()
        owner.wait(60)
        for pipe in (owner.stdin, owner.stdout):
            if pipe:
                pipe.close()
    mine.close()


def test_folders_go_with_their_attempts() -> None:
    folders = SharedFolders()
    first, second = folders.of("a.1"), folders.of("b.1")
    assert first is not None and second is not None  # noqa: PT018
    folders.keep({"b.1"})
    assert (first.exists(), second.exists()) == (False, True)
    folders.close()
    assert not second.exists()
    assert SharedFolders(Path("/nowhere")).of("a.1") is None


def test_a_folder_that_cannot_be_made_is_none(tmp_path: Path) -> None:
    folders = SharedFolders(tmp_path)
    shutil.rmtree(next(tmp_path.glob("gradstream-*")))
    assert folders.of("a.1") is None
    folders.close()
    assert list(tmp_path.iterdir()) == []


def test_memory_outlives_its_file(tmp_path: Path) -> None:
    """A push that was posted counts, even if its worker is dead and its folder removed before a shard comes to it."""
    layout = Layout.of(torch.empty(5000), None, 2)
    worker = Shared.make(tmp_path, 0, 0, layout)
    assert worker.out is not None
    worker.out.fill_(7.0)
    shard = Shared.open(tmp_path, 0, 0, layout)
    (tmp_path / "0.0").unlink()
    del worker
    assert (shard.take_out(1).x == 7.0).all()
    with pytest.raises(FileNotFoundError):
        Shared.open(tmp_path, 0, 0, layout)


def test_nothing_of_these_tests_is_left() -> None:
    """Folders of owners that live may be another test's; each of them has its lock."""

    def all_owned() -> bool:
        SharedFolders().close()
        return all((home / "lock").exists() for home in PLACE.glob("gradstream-*"))

    eventually(all_owned, "each folder to have an owner")


def test_a_join_names_the_shards_that_share() -> None:
    from gradstream.wire.transport.messages import Header

    header = Header(Join(0, 0), shared=(0, 2))
    assert Header.unpack(header.pack()) == header
    assert SharedMemory(folder="/x", servers=[1]).servers == [1]
