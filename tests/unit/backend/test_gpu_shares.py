"""Shares of GPUs: a process has 1/k of one GPU, and all shares of a GPU are at most the whole."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

import pytest

from backend.jobs.places.gpu_ticks import Tick, choose_ticks, gpus_of, read_ticks, write_ticks
from backend.scheduler.placing.line import QueueLine, Waits
from backend.scheduler.placing.machines import Machine
from backend.scheduler.placing.placement import Place, place, place_again, without_places
from backend.scheduler.placing.shortages import Shortage
from gradstream.spec import JobSpec
from gradstream.spec.values import GPU_SHARES, GPU_TICKS
from tests.unit.backend.test_placement import machine, placed


def job(workers: int, gpu: float, device: str = "cuda", *, on: str = "cpu", shard: float | None = None, shards: int = 1) -> JobSpec:
    """`on`: the device of its servers. `shard`: the share of a GPU of each."""
    roles = {"server": {"count": shards, "device": on, "gpu": shard}, "worker": {"count": workers, "device": device, "gpu": gpu}}
    given = {"workload": {"entrypoint": "work:Work"}, "strategy": {"name": "async"}, "stop": {"steps": 1}}
    return JobSpec.model_validate({"name": "job", "roles": roles, **given})


def gpus(plan: tuple[Place, ...] | Shortage) -> list[tuple[str, tuple[int, ...], int]]:
    return [(p.node, p.gpus, p.gpu_share) for p in placed(plan) if p.role == "worker"]


def test_workers_share_a_gpu_as_far_as_their_shares_add_up_to_one() -> None:
    one = machine("a", 8, gpus=2)
    assert gpus(place(job(3, 0.5), [one])) == [("a", (0,), 2), ("a", (0,), 2), ("a", (1,), 2)]
    line = QueueLine([machine("a", 8, gpus=1)])
    turns = [line.next(job(1, part)) for part in (0.5, 0.333, 0.167, 0.083)]
    assert [turn.shortage.reason if isinstance(turn, Waits) else turn[1].gpus for turn in turns] == [(0,), (0,), (0,), "no_gpu"]


def test_a_share_goes_where_others_are_so_that_whole_gpus_stay_free() -> None:
    line = QueueLine([machine("a", 8, gpus=3)])
    found = [line.next(each) for each in (job(1, 0.5), job(1, 1), job(1, 0.25), job(1, 1), job(1, 0.25), job(1, 0.25))]
    assert [turn.shortage.reason if isinstance(turn, Waits) else turn[1].gpus for turn in found] == [
        *((0,), (1,), (0,), (2,), (0,)),
        "no_gpu",
    ]


def test_auto_takes_shares_where_they_are_free_and_the_cpu_else() -> None:
    assert gpus(place(job(3, 0.5, "auto"), [machine("a", 3, gpus=1)])) == [("a", (0,), 2), ("a", (0,), 2), ("a", (), 1)]
    half = without_places([machine("a", 3, gpus=1)], placed(place(job(1, 0.5), [machine("a", 3, gpus=1)])))
    assert gpus(place(job(2, 1, "auto"), half)) == [("a", (), 1)] * 2, "no whole GPU is free"


def shares(plan: tuple[Place, ...] | Shortage) -> dict[str, tuple[tuple[int, ...], int]]:
    """Return the GPUs and share of the server and of each worker."""
    return {f"{p.role} {p.rank}": (p.gpus, p.gpu_share) for p in placed(plan) if p.role != "evaluator"}


@pytest.mark.parametrize("on", ["auto", "cuda"])
@pytest.mark.parametrize("shard", [None, 0.5, 0.25])
def test_a_shard_shares_the_gpu_of_its_worker(on: str, shard: float | None) -> None:
    spec, of_shard = job(1, 0.5, on=on, shard=shard), 4 if shard == 0.25 else 2
    assert shares(place(spec, [machine("a", 3, gpus=1)])) == {"server 0": ((0,), of_shard), "worker 0": ((0,), 2)}
    half_taken = machine("a", 3, gpus=2).without((), [(0, 30)])
    assert shares(place(spec, [half_taken])) == {"server 0": ((1,), of_shard), "worker 0": ((1,), 2)}


@pytest.mark.parametrize(
    ("spec", "gpus", "found"),
    [
        (job(1, 1, on="auto"), 1, [((), 1), ((0,), 1)]),
        (job(1, 1, on="auto"), 2, [((1,), 1), ((0,), 1)]),
        (job(1, 1, "auto", on="auto"), 1, [((), 1), ((0,), 1)]),
        (job(2, 1, "auto", on="auto"), 1, [((), 1), ((0,), 1), ((), 1)]),
        (job(2, 0.333, "auto", on="auto"), 1, [((0,), 3), ((0,), 3), ((0,), 3)]),
        (job(2, 0.5, "auto", on="auto"), 1, [((), 1), ((0,), 2), ((0,), 2)]),
        (job(2, 0.5, "auto", on="auto"), 2, [((1,), 2), ((0,), 2), ((0,), 2)]),
        (job(2, 0.5, on="cuda"), 2, [((1,), 2), ((1,), 2), ((0,), 2)]),
        (job(1, 0.5, on="cuda", shard=1), 2, [((1,), 1), ((0,), 2)]),
        (job(1, 1, "cpu", on="cuda", shard=0.25), 1, [((0,), 4), ((), 1)]),
        (job(4, 0.25, "auto", on="cuda"), 1, [((0,), 4), *[((0,), 4)] * 3, ((), 1)]),
    ],
)
def test_the_places_of_a_shard_and_its_workers(spec: JobSpec, gpus: int, found: list[tuple[tuple[int, ...], int]]) -> None:
    assert list(shares(place(spec, [machine("a", 8, gpus=gpus)])).values()) == found


def test_a_shard_leaves_its_worker_where_only_that_makes_all_fit() -> None:
    half_taken = machine("a", 8, gpus=2).without((), [(1, 30)])
    assert list(shares(place(job(3, 0.333, on="cuda", shard=0.5), [half_taken])).values()) == [((1,), 2), *[((0,), 3)] * 3]


@pytest.mark.parametrize("places", [[(2, 2), (2, 2)], [(3, 2), (2, 2)], [(0, 2), (2, 2), (1, 1)]])
def test_shards_share_a_gpu_of_their_own_where_one_beside_each_worker_leaves_too_few(places: list[tuple[int, int]]) -> None:
    """`places`: slots and GPUs of each machine."""
    there = [machine(name, slots, gpus=gpus) for name, (slots, gpus) in zip("abc", places, strict=False)]
    plan = placed(place(job(3, 1, on="cuda", shard=0.5, shards=2), there))
    of_workers, of_shards = ([(p.node, *p.gpus) for p in plan if p.role == role] for role in ("worker", "server"))
    assert (len(set(of_workers)), len(of_shards)) == (3, 2)
    assert not set(of_workers) & set(of_shards)


def test_a_share_that_is_too_small_for_a_shard_is_none_for_it() -> None:
    small = [machine("a", 4, gpus=1, gb=(16,))]
    assert shares(place(job(1, 0.5, on="auto"), small, 8 * 10**9))["server 0"] == ((0,), 2)
    assert shares(place(job(1, 0.5, on="auto"), small, 9 * 10**9))["server 0"] == ((), 1)
    assert place(job(1, 0.5, on="cuda"), small, 9 * 10**9) == Shortage(
        "too_large",
        "Needs 1 share of 1/2 GPU with 9.0 GB for its shards, and all connected machines together have 0. Raise "
        "roles.server.count or roles.server.gpu, or set roles.server.device: cpu, or auto to use what fits.",
    )


@pytest.mark.parametrize(
    ("spec", "there", "reason", "message"),
    [
        (
            job(5, 0.25),
            machine("a", 8, gpus=1),
            "too_large",
            "Needs 5 shares of 1/4 GPU, and all connected machines together have 4. Use fewer workers (roles.worker.count), set "
            "roles.worker.device: auto, or add machines with GPUs (`gradstream join`).",
        ),
        (job(3, 0.5), machine("a", 8, gpus=2, free_gpus=1), "no_gpu", "Waits for 3 free shares of 1/2 GPU; 2 of 4 are free."),
        (
            job(2, 0.5, on="cuda"),
            machine("a", 8, gpus=2, free_gpus=1),
            "no_gpu",
            "Waits for 2 free GPUs, those of its workers included (roles.server.device: cuda; cpu needs none); 1 of 2 is free.",
        ),
        (
            job(2, 0.5, on="cuda"),
            machine("a", 8, gpus=1),
            "too_large",
            "Needs 2 GPUs, those of its workers included (roles.server.device: cuda; cpu needs none), and all connected machines "
            "together have 1. Set roles.server.device: auto to use what fits, or add machines with GPUs (`gradstream join`).",
        ),
    ],
)
def test_a_shortage_counts_shares(spec: JobSpec, there: Machine, reason: str, message: str) -> None:
    assert place(spec, [there]) == Shortage(reason, message)


def draw_jobs(draw: random.Random, count: int) -> list[JobSpec]:
    parts = [round(1 / k, 3) for k in GPU_SHARES]
    return [
        job(draw.randint(1, 6), draw.choice(parts), draw.choice(["cuda", "cuda", "auto"]), **draw_shard(draw)) for _ in range(count)
    ]


def draw_shard(draw: random.Random) -> dict[str, Any]:
    on = draw.choice(["cpu", "auto", "cuda"])
    return {"on": on, "shard": None if on == "cpu" else draw.choice([None, 1, 0.5, 0.25, 0.1])}


@pytest.mark.parametrize("seed", range(3))
def test_no_gpu_is_ever_more_than_full_and_no_share_lies_across_two(seed: int) -> None:
    draw, shared = random.Random(seed), 0
    for _ in range(40):
        machines = [machine(name, draw.randint(1, 12), gpus=draw.randint(0, 3)) for name in "abc"[: draw.randint(1, 3)]]
        running = list[tuple[Place, ...]]()
        ticks = dict[int, tuple[UUID, list[Tick]]]()
        for spec in draw_jobs(draw, 12):
            if running and draw.random() < 0.3:
                for ended in running.pop(draw.randrange(len(running))):
                    ticks.pop(id(ended), None)
            turn = QueueLine(without_places(machines, [each for plan in running for each in plan])).next(spec)
            if isinstance(turn, Waits):
                continue
            running.append(turn)
            for each in turn:
                assert len(each.gpus) <= 1
                taken = [tick for node, own in ticks.values() if node == each.node_id for tick in own]
                own = choose_ticks(each.gpus, each.gpu_share, taken)
                assert gpus_of(write_ticks(each.node_id, own), each.gpu_share) == list(each.gpus)
                ticks[id(each)] = each.node_id, own
            used = Counter((node, tick) for node, own in ticks.values() for tick in own)
            assert not used or max(used.values()) == 1
            whole = Counter((each.node_id, gpu) for plan in running for each in plan for gpu in each.gpus)
            shared += sum(count > 1 for count in whole.values())
            sizes = {m.id: m.gpus for m in machines}
            assert all(gpu < sizes[node] for node, gpu in whole)
    assert shared, "worlds in which processes share a GPU"


def test_ticks_of_other_nodes_and_gpus_are_other_numbers() -> None:
    draw, seen = random.Random(4), dict[int, tuple[UUID, int]]()
    for node in [uuid4() for _ in range(20)]:
        for gpu in (0, 1, 7, 10_000):
            ticks = sorted((gpu, tick) for tick in draw.sample(range(GPU_TICKS), 30))
            ranges = write_ticks(node, ticks)
            assert read_ticks(ranges) == ticks
            numbers = {number for each in ranges for number in range(int(each.lower or 0), int(each.upper or 0))}
            assert not numbers & seen.keys()
            seen |= dict.fromkeys(numbers, (node, gpu))
    assert len(seen) == 20 * 4 * 30


def test_a_share_need_not_be_in_one_piece() -> None:
    third, quarter = choose_ticks([0], 3, []), choose_ticks([0], 4, [(0, tick) for tick in range(20)])
    half = choose_ticks([0], 2, quarter)
    assert (len(third), len(quarter), len(half)) == (20, 15, 30)
    assert {tick for _, tick in half} == {*range(20), *range(35, 45)}
    assert gpus_of(write_ticks(uuid4(), half), 2) == [0]


def group(workers: int, peers: int, gpu: float = 1.0, device: str = "cuda", machines: int = 1) -> JobSpec:
    worker = {"count": workers, "device": device, "gpu": gpu, "group": {"replicate": peers * machines, "machines": machines}}
    given = {"workload": {"entrypoint": "work:Work"}, "strategy": {"name": "async"}, "stop": {"steps": 1}}
    return JobSpec.model_validate({"name": "job", "roles": {"worker": worker}, **given})


def test_a_group_takes_a_gpu_for_each_of_its_processes_on_one_machine() -> None:
    there = [machine("a", 8, gpus=3), machine("b", 8, gpus=4)]
    assert gpus(place(group(1, 4), there)) == [("b", (0, 1, 2, 3), 1)]
    assert gpus(place(group(2, 4, 0.5), there)) == [("b", (0, 0, 1, 1), 2), ("b", (2, 2, 3, 3), 2)]
    assert gpus(place(group(2, 3), there)) == [("b", (0, 1, 2), 1), ("a", (0, 1, 2), 1)]


def test_auto_gives_a_group_gpus_if_there_are_enough_for_all_of_it() -> None:
    assert gpus(place(group(2, 2, device="auto"), [machine("a", 8, gpus=3)])) == [("a", (0, 1), 1), ("a", (), 1)]
    assert gpus(place(group(1, 4, device="auto"), [machine("a", 8, gpus=3)])) == [("a", (), 1)]


def test_a_group_over_machines_takes_gpus_on_each() -> None:
    there = [machine("a", 2, gpus=2), machine("b", 2, gpus=2), machine("c", 8, gpus=1)]
    plan = placed(place(group(1, 2, machines=2), there))
    assert [(p.role, p.node, p.gpus) for p in plan if p.gpus] == [("worker", "a", (0, 1)), ("peers", "b", (0, 1))]
    on_two = [machine("a", 8, gpus=2), machine("c", 8, gpus=1)]
    assert not any(p.gpus for p in placed(place(group(1, 2, device="auto", machines=2), on_two))), "one machine has too few"


@pytest.mark.parametrize(
    ("spec", "there", "reason", "begins"),
    [
        (
            group(1, 4),
            [machine("a", 8, gpus=3), machine("b", 8, gpus=3)],
            "too_large",
            "Needs 4 GPUs on one machine (roles.worker.group), and the connected machines have these for 0 workers. Use a ",
        ),
        (
            group(2, 2),
            [machine("a", 8, gpus=4, free_gpus=3)],
            "no_gpu",
            "Waits for 2 GPUs on one machine for each of its 2 workers (roles.worker.group); they are free for 1 worker.",
        ),
        (
            group(1, 2, machines=2),
            [machine("a", 8, gpus=2, free_gpus=1), machine("b", 8, gpus=2)],
            "no_gpu",
            "Waits for 1 free slot each, with 2 GPUs for each worker, on 2 machines",
        ),
    ],
)
def test_a_shortage_says_how_many_gpus_a_group_needs_on_one_machine(
    spec: JobSpec, there: list[Machine], reason: str, begins: str
) -> None:
    found = place(spec, there)
    assert isinstance(found, Shortage)
    assert (found.reason, found.message[: len(begins)]) == (reason, begins)


@pytest.mark.parametrize("seed", range(3))
def test_groups_never_take_more_than_there_is(seed: int) -> None:
    draw, on_gpus = random.Random(seed), 0
    for _ in range(60):
        machines = [machine(name, draw.randint(1, 6), gpus=draw.randint(0, 4)) for name in "abc"[: draw.randint(1, 3)]]
        line, taken = QueueLine(machines), Counter[tuple[UUID, int]]()
        for _ in range(6):
            spec = group(
                draw.randint(1, 3),
                draw.randint(1, 4),
                draw.choice([1, 0.5, 0.25]),
                draw.choice(["cuda", "auto"]),
                draw.choice([1, 1, 2]),
            )
            turn = line.next(spec)
            for each in () if isinstance(turn, Waits) else turn:
                assert len(each.gpus) in (0, spec.roles.worker.gpu_processes)
                assert each.gpus or each.role not in ("worker", "peers") or spec.roles.worker.device == "auto"
                taken.update({(each.node_id, gpu): ticks for gpu, ticks in _added(each).items()})
                on_gpus += len(each.gpus)
        assert not taken or max(taken.values()) <= GPU_TICKS
    assert on_gpus, "worlds in which groups have GPUs"


def _added(each: Place) -> Counter[int]:
    found = Counter[int]()
    for gpu, ticks in each.ticks:
        found[gpu] += ticks
    return found


def test_a_worker_that_begins_again_takes_the_gpu_that_it_had_if_it_is_free() -> None:
    """There its shard is, too, and vectors stay within the GPU. The fullest one may be another job's."""
    spec, here = job(1, 0.5), UUID(int=ord("a"))

    def again(free: dict[int, int], *had: int, of: JobSpec = spec) -> tuple[int, ...]:
        place = place_again("worker", 0, of, [replace(machine("a", 4, gpus=len(free)), free_ticks=free)], here, had)
        assert place is not None
        return place.gpus

    assert again({0: 30, 1: 60, 2: 60}, 2) == (2,), "GPU 0 is fuller"
    assert again({0: 30, 1: 60, 2: 0}, 2) == (0,), "another job has taken it"
    assert again({0: 30, 1: 60}) == (0,), "it was on the CPU"
    group = {"count": 1, "device": "cuda", "gpu": 0.5, "group": 2}
    pair = JobSpec.model_validate(spec.model_dump() | {"roles": {"server": {"count": 1}, "worker": group}})
    assert again({0: 60, 1: 60, 2: 60}, 1, 2, of=pair) == (1, 2), "each process of a group has its own again"
    assert again({0: 60, 1: 30, 2: 0}, 1, 2, of=pair) == (0, 1), "one of them is taken"
    elsewhere = replace(machine("b", 4, gpus=2), free_ticks={0: 30, 1: 60})
    moved = place_again("worker", 0, spec, [machine("a", 0, slots=4, gpus=2), elsewhere], here, [1])
    assert moved is not None
    assert (moved.node, moved.gpus) == ("b", (0,)), "on another machine, the fullest"
