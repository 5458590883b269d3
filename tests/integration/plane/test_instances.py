"""A data plane of several Redis: who finds what where, and whose accounts are where."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

import pytest
import torch
from redis import Redis as Client
from redis import exceptions

from gradstream import sim
from gradstream.center.entries import StopWorkers
from gradstream.center.ledger import Account
from gradstream.errors import PlaneLost
from gradstream.local.servers.redis import Redis
from gradstream.process.order import PlaneAccess
from gradstream.sim.toys import Bowl, job
from gradstream.spec import JobSpec
from gradstream.wire import plane
from gradstream.wire.redis import keys
from gradstream.wire.redis.client import connect, retry
from gradstream.wire.redis.resp import Resp
from gradstream.wire.redis.routes import Instances, Routes, instances, slots
from tests.integration.plane.cluster import Cluster
from tests.integration.plane.nodes import Nodes

JS = ["a1b2.1", "77.3", "0f.12", "c0ffee.2"]


class Planes(Protocol):
    url: str
    password: str


@pytest.fixture(scope="module")
def nodes(short_dir: Path, password_file: Path) -> Iterator[Nodes]:
    made = Nodes(short_dir, password_file)
    yield made
    made.stop()


class Pair:
    """Two that know nothing of one another."""

    def __init__(self, servers: list[Redis]) -> None:
        self.servers, self.password = servers, servers[0].password
        self.url = ",".join(server.url for server in servers)


@pytest.fixture(params=["one", "two", "cluster"])
def planes(request: pytest.FixtureRequest, redis_server: Callable[..., Redis]) -> Planes:
    if request.param == "cluster":
        found: Planes = request.getfixturevalue("nodes")
        return found
    return Pair([redis_server(tcp=tcp) for tcp in ([False] if request.param == "one" else [False, True])])


def test_an_attempt_is_made_steered_and_removed_on_all_instances(planes: Planes) -> None:
    operator = Instances.of(planes.url, password=planes.password)
    for j in JS:
        plane.create(operator, j, password="of the attempt")
        access = PlaneAccess(url=planes.url, user=plane.account(j), password="of the attempt")
        routes = Routes(access, j)
        home = resp(routes.home)
        assert plane.exists(operator, j)
        assert plane.post(operator, j, StopWorkers("enough"))
        assert home.ask(("XLEN", keys.log(j)), ("HSET", keys.ledger(j), 0, b"3 2 0 1", 1, "junk")) == [2, 2]
        assert plane.ledger(operator, j) == {0: Account(3, 2, 0, 1)}, "what is none is left out"
        home.ask(("XADD", keys.metrics(j), "*", "source", "me", "batch", 0, "points", b"[]"))
        [(entry, source, _, _)] = plane.read_metrics(operator, j)
        plane.trim_metrics(operator, j, entry)
        assert (source, plane.read_metrics(operator, j)) == ("me", [])
        command = ["XREAD", "STREAMS", *(keys.responses(j, shard, 0, 0) for shard in range(5)), *("0" * 5)]
        assert home.ask(tuple(command)) == [None], "one read for the responses of all shards"
        for shard in range(5):
            resp(routes.shard(shard)).ask(
                ("XADD", keys.payload(j, shard, 0, 0), "*", "b", "x"), ("XADD", keys.center(j, shard, "1-1"), "*", "b", "x")
            )
        plane.destroy(operator, j)
        plane.destroy(operator, j)
        assert not plane.exists(operator, j)
        for shard in range(5):
            with pytest.raises(exceptions.AuthenticationError):
                resp(routes.shard(shard)).ask(("PING",))
    assert [list(each.scan_iter()) for each in operator.everywhere()] == [[]] * len(operator.everywhere())
    operator.close()


def resp(access: PlaneAccess) -> Resp:
    return Resp(access.url, user=access.user, password=access.password, block=1.0)


def test_shards_are_spread_over_the_instances_and_their_neighbours_keys_are_out_of_reach(planes: Planes) -> None:
    operator = Instances.of(planes.url, password=planes.password)
    count = len(operator.everywhere())
    plane.create(operator, JS[0], password="of the attempt")
    access = PlaneAccess(url=planes.url, user=plane.account(JS[0]), password="of the attempt")
    routes = Routes(access, JS[0])
    assert len({routes.shard(shard).url for shard in range(8)}) == count
    for shard in range(8):
        with pytest.raises((exceptions.NoPermissionError, exceptions.MovedError)):
            resp(routes.shard(shard)).ask(("XADD", keys.payload("other.1", shard, 0, 0), "*", "b", "x"))
    plane.destroy(operator, JS[0])


@pytest.mark.few(3)
@pytest.mark.parametrize("codec", ["raw", "int8"])
def test_a_job_has_the_bits_of_the_simulator_and_uses_all_instances(planes: Planes, codec: str, tmp_path: Path) -> None:
    spec = job({"name": "sync", "lr": 0.1}, workers=2, shards=5, steps=6, codec={"name": codec})
    attempt = Cluster(planes, spec, bowl, tmp_path)  # type: ignore[arg-type]
    operator = Instances.of(planes.url, password=planes.password)
    before = [_written(each) for each in operator.everywhere()]
    try:
        assert torch.equal(attempt.run(), sim.run(spec, bowl, align=4096).center)
        assert attempt.keys("d") == attempt.keys("c") == []
    finally:
        attempt.close()
    assert all(_written(each) > was for each, was in zip(operator.everywhere(), before, strict=True))


def bowl(spec: JobSpec, rank: int) -> Bowl:
    return Bowl(spec, rank, size=100_003)


def _written(redis: Client) -> int:
    """XADDs so far."""
    return int(redis.info("commandstats").get("cmdstat_xadd", {"calls": 0})["calls"])


def test_one_instance_that_evicts_is_enough_to_refuse_the_plane(planes: Planes) -> None:
    operator = Instances.of(planes.url, password=planes.password)
    operator.everywhere()[-1].config_set("maxmemory-policy", "allkeys-lru")
    with pytest.raises(RuntimeError, match="noeviction"):
        plane.create(operator, JS[0], password="x")
    operator.everywhere()[-1].config_set("maxmemory-policy", "noeviction")
    plane.destroy(operator, JS[0])


def test_a_slot_that_moved_ends_the_attempt(nodes: Nodes) -> None:
    wrong = Routes(PlaneAccess(url=nodes.url, password=nodes.password), JS[0])
    right = wrong.home.url
    other = next(node.url for node in nodes.nodes if node.url != right)
    redis = Resp(other, password=nodes.password, block=1)
    with pytest.raises(PlaneLost, match="moved"):
        retry(lambda: redis.ask(("XLEN", keys.log(JS[0]))), what="looking at the log")
    with pytest.raises(PlaneLost, match="moved"):
        retry(lambda: connect(other, password=nodes.password).xlen(keys.log(JS[0])), what="looking at the log")


def test_a_cluster_is_found_while_one_of_the_named_nodes_is_away(nodes: Nodes) -> None:
    with_a_dead_one = f"redis-cluster://127.0.0.1:1,{nodes.url}"
    found = Routes(PlaneAccess(url=with_a_dead_one, password=nodes.password), JS[0])
    assert found.home == Routes(PlaneAccess(url=nodes.url, password=nodes.password), JS[0]).home
    with pytest.raises(exceptions.ConnectionError):
        slots("redis-cluster://127.0.0.1:1", None, nodes.password)


@pytest.mark.parametrize("url", ["redis-cluster://a:1,redis://b:1", "redis://a:1,,redis://b:1", "redis://a:1,b:2", "http://a"])
def test_an_address_of_no_plane_is_refused(url: str) -> None:
    with pytest.raises(ValueError):
        instances(url)
