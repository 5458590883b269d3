"""The invariants of the data plane (docs/reference/invariants.md), each broken on purpose over real Redis."""

import os
import re
import signal
import threading
import time
from collections.abc import Callable

import pytest
import torch
from redis.exceptions import NoPermissionError

from gradstream import metrics
from gradstream.center.entries import Push
from gradstream.errors import PlaneLost
from gradstream.local.servers.redis import Redis
from gradstream.sim.toys import Bowl, Toy, job
from gradstream.spec import JobSpec
from gradstream.training.replica import Replica
from gradstream.wire import plane
from gradstream.wire.redis import keys
from gradstream.wire.redis.client import connect
from gradstream.wire.telemetry import reporter as reporting
from gradstream.wire.telemetry.reporter import Reporter
from gradstream.wire.transport import checksum
from gradstream.wire.transport.checksum import PART
from gradstream.wire.transport.layout import Coded
from gradstream.wire.transport.messages import FIELD
from gradstream.wire.transport.outbox import Outbox, Outgoing
from tests.integration.plane.cluster import Cluster
from tests.support import TIMEOUT, eventually

Make = Callable[..., Cluster]
SIZE = 100_003


def bowl(spec: JobSpec, rank: int) -> Bowl:
    return Bowl(spec, rank, size=SIZE)


def sync(workers: int = 2, shards: int = 2, steps: int = 8) -> JobSpec:
    return job({"name": "sync", "lr": 0.1}, workers=workers, shards=shards, steps=steps)


def accounts(attempt: Cluster) -> list[tuple[int, int, int]]:
    """Of each rank: pushed, applied, dropped. The same on all shards."""
    found = [
        [(a.pushed, a.applied, a.dropped) for _, a in sorted(server.shard.ledger.accounts.items())] for server in attempt.servers
    ]
    assert all(one == found[0] for one in found)
    return found[0]


def test_a_header_comes_after_all_of_its_payload(cluster: Make, redis_server: Callable[..., Redis]) -> None:
    attempt = cluster(job({"name": "async", "lr": 0.01}, workers=2, shards=2, steps=5), Toy, redis_server())
    part = re.compile(r"^XADD gs:\{.*:(\d)\}:d:(\d)\.0 \* s (\d+) ")
    header = re.compile(r'^XADD gs:.*:log NOMKSTREAM .*"entry":\["push",(\d),\d,(\d+),')
    there: set[tuple[str, ...]] = set()
    headers = 0
    with attempt.admin.monitor() as monitor:
        attempt.run()
        attempt.admin.echo("the end")
        for command in iter(lambda: monitor.next_command()["command"], "ECHO the end"):
            if found := part.match(command):
                there.add(found.groups())
            elif found := header.match(command):
                headers += 1
                assert {(shard, *found.groups()) for shard in "01"} <= there, f"a header came too early: {command}"
    assert headers == 10


def test_a_payload_without_a_header_never_happened(cluster: Make) -> None:
    attempt = cluster(sync(), bowl)
    orphan = torch.full((SIZE,), 1e6)
    attempt.remote(0).send(99, {shard: Coded(memoryview(orphan[:50_000].view(torch.uint8).numpy().data)) for shard in range(2)})
    assert torch.equal(attempt.run(), cluster(sync(), bowl).run())


def test_headers_that_arrive_twice_count_once(cluster: Make) -> None:
    attempt = cluster(sync(steps=5), bowl)

    def repeat(rank: int, w: Replica) -> None:
        """What a lost connection does: the writer does not know that its header arrived, and sends it again."""
        entries = attempt.admin.xrange(keys.log(attempt.j))
        for _, fields in entries[-3:]:
            attempt.admin.xadd(keys.log(attempt.j), fields)

    attempt.before_round = repeat
    center = attempt.run()
    assert accounts(attempt) == [(5, 5, 0), (5, 5, 0)]
    assert torch.equal(center, cluster(sync(steps=5), bowl).run())


def test_an_incarnation_that_was_replaced_is_fenced(cluster: Make) -> None:
    attempt = cluster(job({"name": "async", "lr": 0.01}, workers=1, steps=3), Toy)
    attempt.thread(attempt.serve, 0)
    zombie, w, _, _ = attempt.link(0, incarnation=0)
    assert zombie.begin()
    zombie.pull(w.theta)
    plane.post_leave(attempt.admin, attempt.j, 0, 0)
    heir, w1, _, _ = attempt.link(0, incarnation=1)
    assert heir.begin()
    before = w1.theta.clone()
    zombie.push(w.grad())
    with pytest.raises(PlaneLost, match="superseded"):
        zombie.begin()
    heir.pull(w1.theta)
    assert torch.equal(w1.theta, before)
    assert accounts(attempt) == [(1, 0, 1)]


def test_a_respawned_worker_goes_on_where_its_rank_had_got_to(cluster: Make) -> None:
    attempt = cluster(job({"name": "async", "lr": 0.01}, workers=2, steps=10), Toy)
    died = threading.Event()

    class Killed(BaseException): ...

    def die(rank: int, w: Replica) -> None:
        if rank == 1 and w.t == 4 and not died.is_set():
            died.set()
            raise Killed

    attempt.before_round = die
    attempt.start()
    assert died.wait(TIMEOUT)
    plane.post_leave(attempt.admin, attempt.j, 1, 0)
    link, w, _, _ = attempt.link(1, incarnation=1)
    assert link.begin()
    assert w.t == 4, "four mini-batches were pushed by its former incarnation"
    while not w.done and link.begin():
        attempt.spec.strategy.round(w, link)
    link.leave()
    attempt.watch()
    assert [type(error) for error in attempt.errors] == [Killed]
    assert accounts(attempt) == [(10, 10, 0), (10, 10, 0)]


def test_payloads_are_freed_before_the_response_and_centers_when_read(cluster: Make) -> None:
    attempt = cluster(sync(steps=6), bowl)
    lengths: list[int] = []

    def look(rank: int, w: Replica) -> None:
        """At the beginning of a round all that this worker has pushed is answered."""
        lengths.append(sum(attempt.admin.xlen(key) for key in attempt.keys("d") if key.endswith(f":{rank}.0")))

    attempt.before_round = look
    attempt.run()
    assert lengths == [0] * 12
    assert attempt.keys("c") == []
    assert attempt.keys("d") == []


def test_memory_stays_bounded_while_a_server_is_stalled(cluster: Make, redis_server: Callable[..., Redis]) -> None:
    attempt = cluster(job({"name": "async", "lr": 0.01}, workers=3, shards=2, steps=50), bowl, redis_server())
    stalled = attempt.thread(attempt.serve, 0)
    for rank in range(3):
        attempt.thread(attempt.work, rank)
    one = SIZE * 4
    eventually(lambda: len(attempt.keys("d")) > 0, "the first payloads")
    time.sleep(1.0)  # what does not stay bounded has this long to show it
    held = sum(attempt.admin.memory_usage(key) for key in attempt.keys("d"))
    assert held < 3 * one * 1.2, "at most one vector of each worker"
    attempt.thread(attempt.serve, 1)
    attempt.finish()
    assert not stalled.is_alive()


def test_a_damaged_payload_is_asked_for_again(cluster: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    attempt = cluster(sync(workers=1, steps=3), bowl)
    victim, put, damaged = keys.payload(attempt.j, 1, 0, 0), Outbox.put, list[int]()

    def put_damaged(outbox: Outbox, vector: Outgoing, index: int) -> None:
        """Spoil a byte of the first push for shard 1, on its way."""
        if vector.key != victim or not vector.seq or damaged:
            put(outbox, vector, index)
            return
        damaged.append(vector.seq)
        good, spoiled = vector.data, bytearray(vector.data)
        spoiled[0] ^= 1
        vector.sums[index], vector.data = checksum.of_part(good[:PART]), memoryview(spoiled)
        put(outbox, vector, index)
        vector.data = good

    monkeypatch.setattr(Outbox, "put", put_damaged)
    center = attempt.run()
    assert damaged == [1]
    assert torch.equal(center, cluster(sync(workers=1, steps=3), bowl).run())
    assert [point.value for point in attempt.points(metrics.RETRANSMISSIONS)][:1] == [1.0]


@pytest.mark.more
def test_a_frozen_redis_costs_time_and_nothing_else(cluster: Make, redis_server: Callable[..., Redis]) -> None:
    server = redis_server()
    attempt = cluster(sync(steps=12), bowl, server)
    frozen = threading.Event()

    def freeze(rank: int, w: Replica) -> None:
        if w.t == 4 and not frozen.is_set():
            frozen.set()
            os.kill(server.child.pid, signal.SIGSTOP)  # type: ignore[arg-type]
            threading.Timer(8.0, os.kill, (server.child.pid, signal.SIGCONT)).start()

    attempt.before_round = freeze
    assert torch.equal(attempt.run(2 * TIMEOUT), cluster(sync(steps=12), bowl).run())
    assert frozen.is_set()
    assert accounts(attempt) == [(12, 12, 0), (12, 12, 0)]


def test_a_redis_that_came_back_empty_ends_the_attempt(cluster: Make, redis_server: Callable[..., Redis]) -> None:
    server = redis_server()
    attempt = cluster(job({"name": "async", "lr": 1e-6}, workers=2, shards=2, steps=10**6), Toy, server)
    attempt.start()
    eventually(lambda: attempt.servers and attempt.servers[0].shard.started, "the first round")
    server.stop()
    server.start()
    server.wait()
    for thread in attempt.threads:
        thread.join(TIMEOUT)
        assert not thread.is_alive(), f"{thread.name} still waits"
    assert {type(error) for error in attempt.errors} == {PlaneLost}


@pytest.mark.parametrize("junk", [b"junk", b"{}", b'{"kind":"push","entry":1,"read":0}', b"\xff"])
def test_what_is_no_entry_ends_the_attempt_on_every_shard(cluster: Make, junk: bytes) -> None:
    attempt = cluster(sync(), bowl)
    servers = [attempt.thread(attempt.serve, shard) for shard in range(2)]
    attempt.admin.xadd(keys.log(attempt.j), {FIELD: junk})
    for server in servers:
        server.join(TIMEOUT)
        assert not server.is_alive(), "it still reads"
    assert [type(error) for error in attempt.errors] == [PlaneLost, PlaneLost]
    assert "the log holds an entry that cannot be read" in str(attempt.errors[0])


def test_a_stop_ends_every_worker_at_its_next_boundary(cluster: Make) -> None:
    attempt = cluster(job({"name": "sync", "lr": 1e-6}, workers=3, shards=2, steps=10**6), Toy)
    attempt.start()
    eventually(lambda: attempt.servers and attempt.servers[0].shard.started, "the first round")
    plane.control_stop(attempt.admin, attempt.j, "enough")
    attempt.finish()
    [left] = {tuple(sorted((rank, leave.why) for rank, leave in s.shard.members.left.items())) for s in attempt.servers}
    assert left == ((0, "stopped"), (1, "stopped"), (2, "stopped"))


def test_an_account_reaches_its_own_attempt_only(cluster: Make) -> None:
    one, other = cluster(sync(), Toy), cluster(sync(), Toy)
    mine = connect(one.access.url, user=one.access.user, password=one.access.password)
    assert mine.xlen(keys.log(one.j)) == 1
    for forbidden in (
        lambda: mine.xlen(keys.log(other.j)),
        lambda: mine.xadd(keys.payload(other.j, 0, 0, 0), {"b": "x"}),
        lambda: mine.flushall(),
        lambda: mine.keys("*"),
        lambda: mine.config_get("*"),
        lambda: mine.execute_command("CLIENT", "TRACKING", "ON", "BCAST"),  # which tells the names of all keys
    ):
        with pytest.raises(NoPermissionError):
            forbidden()


def test_a_redis_that_evicts_is_refused(redis_server: Callable[..., Redis]) -> None:
    server = redis_server()
    admin = connect(server.url, password=server.password)
    admin.config_set("maxmemory-policy", "allkeys-lru")
    with pytest.raises(RuntimeError, match="noeviction"):
        plane.create(admin, "job.1", password="x")


def test_nothing_is_written_to_a_plane_that_was_removed(cluster: Make) -> None:
    attempt = cluster(sync(), Toy)
    plane.destroy(attempt.admin, attempt.j)
    assert not plane.post(attempt.admin, attempt.j, Push(0, 0, 1, 0, 1, 1, "center", 1))
    assert not plane.exists(attempt.admin, attempt.j)


def test_metrics_that_nobody_stores_stay_bounded(cluster: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reporting, "WAITING", 3)
    monkeypatch.setattr(reporting, "KEPT", 50)
    attempt = cluster(sync(), Toy)
    for _ in range(3):
        attempt.admin.xadd(keys.metrics(attempt.j), {"source": "other", "batch": 0, "points": "[]"})
    reporter = Reporter(attempt.access, attempt.j, "worker-0.0")
    for step in range(200):
        reporter.point(metrics.LOSS, 1.0, rank=0, step=step)
    eventually(lambda: len(reporter._records) == 50, "the oldest to be given up")
    assert attempt.admin.xlen(keys.metrics(attempt.j)) == 3
    attempt.admin.xtrim(keys.metrics(attempt.j), maxlen=0)
    reporter.close()
    [(_, _, number, points)] = plane.read_metrics(attempt.admin, attempt.j)
    assert (number, [point.step for point in points]) == (0, list(range(150, 200)))


def test_metrics_arrive_once_and_in_order_also_nan(cluster: Make) -> None:
    attempt = cluster(sync(), Toy)
    reporter = Reporter(attempt.access, attempt.j, "worker-0.0")
    for step in range(12_000):
        reporter.point(metrics.LOSS, float("nan") if step == 7 else step / 2, rank=0, step=step)
    reporter.close()
    found = plane.read_metrics(attempt.admin, attempt.j)
    points = [point for *_, batch in found for point in batch]
    assert [point.step for point in points] == list(range(12_000))
    assert points[7].value != points[7].value
    assert points[8].value == 4.0
    assert [number for _, _, number, _ in found] == list(range(len(found)))
    plane.trim_metrics(attempt.admin, attempt.j, found[0][0])
    assert [entry for entry, *_ in plane.read_metrics(attempt.admin, attempt.j)] == [entry for entry, *_ in found[1:]]


def test_batches_of_each_source_are_numbered_by_themselves(cluster: Make) -> None:
    attempt = cluster(sync(), Toy)
    reporter = Reporter(attempt.access, attempt.j, "worker-0.0")
    for step in range(2_500):
        reporter.point(metrics.LOSS, 1.0, rank=0, step=step)
        reporter.points_from("worker-0/1.0", {metrics.PEER_CPU: 0.5}, step=step)
    reporter.close()
    batches = plane.read_metrics(attempt.admin, attempt.j)
    for source, name in (("worker-0.0", metrics.LOSS.name), ("worker-0/1.0", metrics.PEER_CPU.name)):
        its = [(number, points) for _, its_source, number, points in batches if its_source == source]
        assert [number for number, _ in its] == list(range(len(its)))
        assert [(point.name, point.step) for _, points in its for point in points] == [(name, step) for step in range(2_500)]
