"""Models of all kinds over shared memory: the bits of the simulator."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from gradstream import sim
from gradstream.center.entries import Buffers
from gradstream.wire.transport.remote import RemoteServers
from tests.integration.plane.cluster import Cluster
from tests.nets import KINDS, job, problem

ALONE = {
    "pipeline 0": {"strategy": {"name": "async", "lr": 0.1}},
    "pipeline 1": {"strategy": {"name": "async", "lr": 0.1}, "pipeline": 1},
    "accumulate": {"strategy": {"name": "async", "lr": 0.1}, "pipeline": 1, "accumulate": 3},
}


@pytest.mark.few(3)
@pytest.mark.parametrize("how", ALONE)
@pytest.mark.parametrize("kind", KINDS)
def test_one_worker(kind: str, how: str, cluster: Callable[..., Cluster]) -> None:
    spec = job(kind, shards=2, **ALONE[how])
    attempt = cluster(spec, problem, local=(0, 1))
    assert torch.equal(attempt.run(), sim.run(spec, problem, align=4096).center)


@pytest.mark.few(6)
@pytest.mark.parametrize("local", [(), (0,), (1,)], ids=["elsewhere", "first here", "second here"])
@pytest.mark.parametrize("kind", ["large", "tied", "branch", "words", "normed", "mixed"])
def test_gradients_that_leave_during_backward(
    kind: str, local: tuple[int, ...], cluster: Callable[..., Cluster], monkeypatch: pytest.MonkeyPatch
) -> None:
    went: list[int] = []
    send = RemoteServers.send_ahead
    monkeypatch.setattr(RemoteServers, "send_ahead", lambda remote, shard, *rest: went.append(shard) or send(remote, shard, *rest))
    spec = job(kind, shards=2, strategy={"name": "async", "lr": 0.1}, pipeline=1)
    attempt = cluster(spec, problem, local=local)
    assert torch.equal(attempt.run(), sim.run(spec, problem, align=4096).center)
    if kind == "large":
        assert set(went) == {0, 1} - set(local)


@pytest.mark.few(2)
@pytest.mark.parametrize("local", [(0,), ()], ids=["shared", "inline"])
@pytest.mark.parametrize("kind", KINDS)
def test_three_workers(kind: str, local: tuple[int, ...], cluster: Callable[..., Cluster]) -> None:
    spec = job(kind, {"name": "adag", "lr": 0.1, "window": 2}, workers=3, gate="bsp", accumulate=2)
    attempt = cluster(spec, problem, local=local)
    attempt.start()
    response = attempt.watch()
    for thread in attempt.threads:
        thread.join(60)
    assert not attempt.errors
    buffers: list[Buffers | None] = []
    expected = sim.run(spec, problem, align=4096, watch=lambda view: buffers.append(view.buffers()))
    assert response.payload is not None
    assert torch.equal(response.payload.x, expected.center)
    assert _same(response.payload.buffers, buffers[-1])


def _same(one: Buffers | None, other: Buffers | None) -> bool:
    if one is None or other is None:
        return one is other
    return torch.equal(one.floats, other.floats) and torch.equal(one.ints, other.ints)
