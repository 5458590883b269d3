"""Process summaries, and the rows of the overview that are made of them."""

from __future__ import annotations

import pytest

from backend.overview import loads
from backend.progress.attempt_span import AttemptSpan
from gradstream import metrics
from gradstream.metrics import Metric, Point
from gradstream.progress.process_summary import ProcessSummaries
from gradstream.spec import JobSpec

SPEC = JobSpec.model_validate(
    {"name": "small", "workload": {"entrypoint": "work:Work"}, "strategy": {"name": "async", "lr": 0.1}, "stop": {"steps": 9}}
)
NO_TIME = AttemptSpan(0.0, 0.0, {})


def tell(
    found: ProcessSummaries,
    source: str,
    metric: Metric | str,
    value: float,
    *,
    rank: int = 0,
    step: int = 0,
    time: float = 100.0,
    attempt: int = 1,
    samples: int = 0,
) -> None:
    name = metric if isinstance(metric, str) else metric.name
    found.take(source, attempt, [Point(name, rank, step, samples, 0, time, value)])


def push(found: ProcessSummaries, source: str, step: int, time: float, compute: float = 0.25, wait: float = 0.5) -> None:
    rank = int(source[len("worker-")])
    for metric, value in {metrics.THROUGHPUT: 8.0, metrics.COMPUTE: compute, metrics.DATA: 0.25, metrics.WAIT: wait}.items():
        tell(found, source, metric, value, rank=rank, step=step, time=time)


def test_counting_begins_at_the_first_push_of_each_incarnation() -> None:
    found = ProcessSummaries()
    push(found, "worker-0.0", 4, 100.0, compute=60.0)
    push(found, "worker-0.0", 8, 101.0)
    push(found, "worker-0.0", 12, 102.5)
    push(found, "worker-0.1", 8, 200.0, compute=60.0)
    push(found, "worker-0.1", 12, 201.0)
    (worker,) = loads.workers(found, NO_TIME, {}, {})
    assert (worker.pushes, worker.seconds, worker.compute, worker.data, worker.wait) == (3, 3.5, 0.75, 0.75, 1.5)
    assert worker.step == 12
    assert worker.samples_per_second == 8.0


def test_how_far_a_worker_is_behind() -> None:
    found = ProcessSummaries()
    for rank, pushed in ((0, 30), (1, 7)):
        push(found, f"worker-{rank}.0", pushed, 100.0)
        tell(found, "server-0.0", metrics.PUSHED, pushed, rank=rank)
    assert [(worker.clock, worker.behind) for worker in loads.workers(found, NO_TIME, {}, {})] == [(30, 0), (7, 23)]


def test_workers_lie_on_one_time_axis() -> None:
    """Worker 0 trains from 102 to 104 and has ended by 105; worker 1 goes on until 110."""
    found = ProcessSummaries()
    for rank, times in ((0, (102.0, 104.0)), (1, (101.0, 109.0))):
        for step, time in enumerate(times, start=1):
            push(found, f"worker-{rank}.0", step, time)
    axis = AttemptSpan.of(found, 100.0, {0: 105.0, 1: 110.0})
    assert axis.seconds == 10.0
    told = [(worker.before, worker.seconds, worker.ended) for worker in loads.workers(found, axis, {1: 4.0}, {})]
    assert told == [(2.0, 2.0, 5.0), (1.0, 8.0, 0.0)]
    assert [worker.slower for worker in loads.workers(found, axis, {1: 4.0}, {})] == [None, 4.0]
    assert [worker.recovering for worker in loads.workers(found, axis, {}, {1: 2.5})] == [0.0, 2.5]
    assert AttemptSpan.of(found, 100.0, {0: 105.0}).seconds == 9.0, "what was heard last of worker 1"


def test_what_was_rolled_back_stays_in_the_ledger() -> None:
    found = ProcessSummaries()
    assert loads.ledger(found.ledger) is None
    told = {metrics.PUSHED: 20, metrics.APPLIED: 18, metrics.PENDING: 2, metrics.DEFERRED: 0, metrics.DROPPED: 0}
    for metric, value in told.items():
        tell(found, "server-0.0", metric, value, rank=0)
    tell(found, "controller.0", metrics.ROLLED_BACK, 15, rank=0)
    assert found.rolled_back == {1: 15}
    tell(found, "server-0.0", metrics.PUSHED, 6, rank=0, attempt=2)
    tell(found, "server-0.0", metrics.APPLIED, 6, rank=0, attempt=2)
    tell(found, "controller.0", metrics.ROLLED_BACK, 17, rank=0, attempt=2)
    assert found.rolled_back == {1: 15, 2: 2}
    account = loads.ledger(found.ledger)
    assert account is not None
    assert (account.pushed, account.applied, account.rolled_back, account.pending) == (23, 6, 17, 0)
    tell(found, "server-0.0", metrics.DROPPED, 2, rank=0, attempt=2)
    tell(found, "server-0.0", metrics.DROPPED_NOT_FINITE, 2, rank=0, attempt=2)
    dropped = loads.ledger(found.ledger)
    assert dropped is not None
    assert (dropped.dropped, dropped.dropped_not_finite, dropped.dropped_stale) == (2, 2, 0)
    assert account.pushed == account.applied + account.deferred + account.dropped + account.pending + account.rolled_back


def test_a_new_attempt_begins_with_no_process_and_keeps_the_best() -> None:
    found = ProcessSummaries()
    push(found, "worker-0.0", 1, 100.0)
    tell(found, "evaluator.0", "eval/accuracy", 0.9, rank=-1, samples=640)
    tell(found, "evaluator.0", "eval/accuracy", 0.5, rank=-1, attempt=2)
    assert loads.workers(found, NO_TIME, {}, {}) == []
    (best,) = loads.best(found, SPEC, None)
    assert (best.metric, best.value, best.attempt, best.samples, best.after) == ("eval/accuracy", 0.9, 1, 640, None)
    assert found.reached[1] == 640


@pytest.mark.parametrize(
    ("metric", "higher"), [("eval/accuracy", True), ("eval/loss", False), ("eval/val_loss", False), ("eval/f1", True)]
)
def test_which_value_is_the_best(metric: str, higher: bool) -> None:
    assert loads.higher_is_better(metric, SPEC) is higher


def test_the_target_knows_better_than_the_name() -> None:
    stop = {"steps": 9, "target": {"metric": "eval/f1", "at_most": 0.1}}
    assert not loads.higher_is_better("eval/f1", JobSpec.model_validate({**SPEC.model_dump(), "stop": stop}))


def test_the_system_tells_of_shards_and_the_evaluator_too() -> None:
    found = ProcessSummaries()
    for source in ("evaluator.0", "server-1.0", "server-0.0"):
        tell(found, source, metrics.CPU, 0.5, rank=-1)
        tell(found, source, metrics.MEMORY, 4096, rank=-1)
    tell(found, "server-0.0", metrics.QUEUE, 3, rank=-1)
    told = loads.servers(found, [])
    assert [one.label for one in told] == ["server-0", "server-1", "evaluator"]
    assert [(one.cpu, one.memory, one.queue) for one in told] == [(0.5, 4096, 3), (0.5, 4096, None), (0.5, 4096, None)]


def test_the_processes_of_a_group_stand_below_their_worker() -> None:
    found = ProcessSummaries()
    push(found, "worker-1.0", 1, 100.0)
    for source, share in (("worker-1/0.0", 0.9), ("worker-1/10.0", 0.4), ("worker-1/2.0", 0.7), ("worker-11/1.0", 0.1)):
        tell(found, source, metrics.PEER_COMPUTE, share, rank=-1)
        tell(found, source, metrics.PEER_MEMORY, 4096, rank=-1)
    [worker] = loads.workers(found, NO_TIME, {}, {})
    assert [(peer.number, peer.label, peer.compute) for peer in worker.peers] == [
        (0, "worker-1/0", 0.9),
        (2, "worker-1/2", 0.7),
        (10, "worker-1/10", 0.4),
    ]
    assert {(peer.cpu, peer.memory) for peer in worker.peers} == {(None, 4096)}


NOISE = [
    "worker-x.0",
    "worker-.0",
    "worker-0.x",
    "worker--1.0",
    "worker-\u0663.0",
    "evaluator-1.0",
    "mine.0",
    "",
    "worker-0/.0",
    "worker-0/x.0",
    "server-0/1.0",
]


@pytest.mark.parametrize("source", NOISE)
def test_who_is_no_process_is_left_out(source: str) -> None:
    found = ProcessSummaries()
    tell(found, source, metrics.CPU, 0.5)
    assert found.processes == found.peers == {}


@pytest.mark.parametrize("time", [1e300, -1e300, -1.0])
def test_a_time_that_is_no_date_is_left_out(time: float) -> None:
    found = ProcessSummaries()
    tell(found, "worker-0.0", metrics.CPU, 0.5, time=time)
    tell(found, "evaluator.0", "eval/accuracy", 0.9, rank=-1, time=time)
    assert loads.workers(found, NO_TIME, {}, {}) == []
    assert loads.best(found, SPEC, None) == []
