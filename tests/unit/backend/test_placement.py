"""Placement: all or none, places used once, few machines, GPUs for those who ask."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest

from backend.scheduler.placing.line import QueueLine, Waits
from backend.scheduler.placing.machines import Machine
from backend.scheduler.placing.placement import Place, collective_of, place, place_again
from backend.scheduler.placing.shortages import Shortage
from gradstream.spec import JobSpec


def job(workers: int, device: str = "cpu", servers: int = 1, on: str = "cpu") -> JobSpec:
    """`on`: the device of its servers."""
    return JobSpec.model_validate(
        {
            "name": "job",
            "workload": {"entrypoint": "work:Work"},
            "strategy": {"name": "async"},
            "stop": {"steps": 1},
            "roles": {"server": {"count": servers, "device": on}, "worker": {"count": workers, "device": device}},
        }
    )


def machine(
    name: str, free: int, *, slots: int | None = None, gpus: int = 0, free_gpus: int | None = None, gb: tuple[int, ...] = ()
) -> Machine:
    """`gb`: the memory of its GPUs."""
    total = free if slots is None else slots
    return Machine(
        UUID(int=ord(name)),
        name,
        total,
        tuple(range(total - free, total)),
        gpus,
        {gpu: 60 * (free_gpus is None or gpu < free_gpus) for gpu in range(gpus)},
        gpu_memory={i: n * 10**9 for i, n in enumerate(gb)},
    )


def placed(plan: tuple[Place, ...] | Shortage) -> tuple[Place, ...]:
    assert isinstance(plan, tuple), plan
    return plan


def workers(plan: tuple[Place, ...] | Shortage) -> list[tuple[str, int | None, int | None]]:
    return [(p.node, p.slot, p.gpus[0] if p.gpus else None) for p in placed(plan) if p.role == "worker"]


def test_a_small_job_stays_on_one_machine() -> None:
    plan = placed(place(job(2, servers=2), [machine("a", 1), machine("b", 4)]))
    assert {p.node for p in plan} == {"b"}
    assert [p.role for p in plan] == ["server", "server", "worker", "worker", "evaluator"]
    assert [p.slot for p in plan] == [None, None, 0, 1, None], "servers and the evaluator take no slot"


def test_a_large_job_takes_the_fewest_machines_and_no_place_twice() -> None:
    plan = place(job(6, servers=3), [machine("a", 2), machine("b", 4), machine("c", 3, slots=5)])
    assert [node for node, _, _ in workers(plan)] == ["b"] * 4 + ["c"] * 2
    assert len(set(workers(plan))) == 6
    assert [p.node for p in placed(plan) if p.role == "server"] == ["b", "c", "b"], "shards are spread over the workers' machines"


@pytest.mark.parametrize(
    ("spec", "machines", "reason", "message"),
    [
        (job(1), [], "waiting_for_nodes", "No machine is connected; the job starts when one is."),
        (
            job(5),
            [machine("a", 4)],
            "too_large",
            "Needs 5 slots, and all connected machines together have 4. Use fewer workers (roles.worker.count), or add a machine "
            "(`gradstream join`).",
        ),
        (
            job(5),
            [machine("a", 4), replace(machine("b", 4), draining=True)],
            "too_large",
            "Needs 5 slots, and all connected machines together have 4, those that drain (b) not counted. Use fewer workers "
            "(roles.worker.count), or resume a machine that drains, or add a machine (`gradstream join`).",
        ),
        (job(2), [machine("a", 1, slots=4)], "no_capacity", "Waits for 2 free slots; 1 of 4 is free."),
        (
            job(1, "cuda"),
            [machine("a", 4)],
            "too_large",
            "Needs 1 GPU, and all connected machines together have 0. Use fewer workers (roles.worker.count), set "
            "roles.worker.device: auto, or add machines with GPUs (`gradstream join`).",
        ),
        (job(2, "cuda"), [machine("a", 4, gpus=2, free_gpus=1)], "no_gpu", "Waits for 2 free GPUs; 1 of 2 is free."),
        (
            job(1, on="cuda"),
            [machine("a", 4)],
            "too_large",
            "Needs 1 GPU (roles.server.device: cuda; cpu needs none), and all connected machines together have 0. Set "
            "roles.server.device: auto to use what fits, or add machines with GPUs (`gradstream join`).",
        ),
        (
            job(2, "cuda", 1, "cuda"),
            [machine("a", 4, gpus=2)],
            "too_large",
            "Needs 3 GPUs, those of its workers included (roles.server.device: cuda; cpu needs none), and all connected machines "
            "together have 2. Set roles.server.device: auto to use what fits, or add machines with GPUs (`gradstream join`).",
        ),
        (
            job(1, servers=2, on="cuda"),
            [machine("a", 4, gpus=2, free_gpus=1)],
            "no_gpu",
            "Waits for 2 free GPUs (roles.server.device: cuda; cpu needs none); 1 of 2 is free.",
        ),
    ],
)
def test_a_shortage_says_what_is_missing(spec: JobSpec, machines: list[Machine], reason: str, message: str) -> None:
    assert place(spec, machines) == Shortage(reason, message)


def servers(plan: tuple[Place, ...] | Shortage) -> list[tuple[str, int | None]]:
    return [(p.node, p.gpus[0] if p.gpus else None) for p in placed(plan) if p.role == "server"]


def test_shards_on_gpus_take_what_their_workers_leave_and_stay_beside_them() -> None:
    plan = place(job(2, "cuda", 1, "cuda"), [machine("a", 4, gpus=4), machine("b", 8, gpus=4)])
    assert (servers(plan), workers(plan)) == ([("b", 3)], [("b", 0, 0), ("b", 1, 1)])
    plan = place(job(6, "cuda", 2, "cuda"), [machine("a", 4, gpus=4), machine("b", 4, gpus=4)])
    assert (servers(plan), [node for node, _, _ in workers(plan)]) == ([("a", 3), ("b", 3)], ["a"] * 3 + ["b"] * 3)
    assert len({(p.node, *p.gpus) for p in placed(plan) if p.gpus}) == 8


def test_a_shard_takes_a_gpu_that_no_worker_could_have() -> None:
    plan = place(job(2, "cuda", 1, "cuda"), [machine("a", 1, gpus=2), machine("b", 1, gpus=1)])
    assert (servers(plan), workers(plan)) == ([("a", 1)], [("a", 0, 0), ("b", 0, 0)])


def test_workers_on_cpus_leave_the_gpu_to_the_shard() -> None:
    plan = place(job(2, "auto", 1, "cuda"), [machine("a", 2, gpus=1)])
    assert (servers(plan), workers(plan)) == ([("a", 0)], [("a", 0, None), ("a", 1, None)])


def test_auto_gives_shards_the_gpus_that_are_left_over() -> None:
    plan = place(job(1, "auto", 2, "auto"), [machine("a", 2, gpus=2)])
    assert (servers(plan), workers(plan)) == ([("a", 1), ("a", None)], [("a", 0, 0)])
    assert servers(place(job(1, "cpu", 1, "auto"), [machine("a", 1)])) == [("a", None)]


def test_a_shard_takes_no_gpu_that_it_would_not_fit_on() -> None:
    mixed = [machine("a", 4, gpus=3, gb=(24, 8, 8))]
    assert servers(place(job(1, "cpu", 1, "cuda"), mixed, 10 * 10**9)) == [("a", 0)], "else the last one"
    assert servers(place(job(1, "cpu", 2, "auto"), mixed, 10 * 10**9)) == [("a", 0), ("a", None)], "auto goes on without"
    assert servers(place(job(1, "cpu", 2, "cuda"), mixed)) == [("a", 2), ("a", 1)], "of what nobody knows"


def test_shards_that_fit_on_no_gpu_are_told_what_helps() -> None:
    mixed = [machine("a", 4, gpus=3, free_gpus=0, gb=(24, 8, 8))]
    waits = place(job(1, "cpu", 1, "cuda"), mixed, 10 * 10**9)
    assert isinstance(waits, Shortage)
    assert waits.reason == "no_gpu", "the large one becomes free"
    short = place(job(1, "cpu", 2, "cuda"), mixed, 10 * 10**9)
    assert short == Shortage(
        "too_large",
        "Needs 2 GPUs with 10.0 GB for its shards, and all connected machines together have 1. Raise roles.server.count, or set "
        "roles.server.device: cpu, or auto to use what fits.",
    )
    taken = [machine("a", 4, gpus=2, gb=(24, 8))]
    both = place(job(2, "cuda", 1, "cuda"), [*taken, machine("b", 0, gpus=1, gb=(8,))], 10 * 10**9)
    assert isinstance(both, Shortage)
    assert both.reason == "too_large", "a worker would have no slot beside its GPU"


def test_gpus_and_slots_on_different_machines_do_not_fit() -> None:
    split = [machine("a", 0, slots=2, gpus=2), machine("b", 2)]
    plan = place(job(1, "cuda", 1, "cuda"), split)
    assert isinstance(plan, Shortage)
    assert plan.reason == "no_gpu"


def test_a_respawned_worker_needs_no_gpu_for_the_shards_that_run() -> None:
    left = [machine("a", 1, slots=4, gpus=1, free_gpus=0)]
    assert place_again("worker", 0, job(1, "cpu", 1, "cuda"), left, left[0].id) == Place("worker", 0, left[0].id, "a", 3)


def test_cuda_takes_one_gpu_each_and_only_where_they_are() -> None:
    plan = place(job(3, "cuda"), [machine("a", 8), machine("b", 4, gpus=2), machine("c", 1, gpus=2)])
    assert workers(plan) == [("b", 0, 0), ("b", 1, 1), ("c", 0, 0)]


def test_auto_prefers_gpus_and_goes_on_without() -> None:
    assert workers(place(job(3, "auto"), [machine("a", 8), machine("b", 2, gpus=1)])) == [
        ("b", 0, 0),
        ("b", 1, None),
        ("a", 0, None),
    ]
    assert workers(place(job(1, "auto"), [machine("a", 1)])) == [("a", 0, None)]


def test_cpu_leaves_gpus_alone() -> None:
    assert workers(place(job(1, "cpu"), [machine("b", 2, gpus=2)])) == [("b", 0, None)]


def test_a_respawn_stays_where_it_was_if_a_slot_is_free() -> None:
    machines = [machine("a", 4), machine("b", 1, slots=4)]
    assert place_again("worker", 3, job(4), machines, UUID(int=ord("b"))) == Place("worker", 3, UUID(int=ord("b")), "b", 3)
    full = [machine("a", 4), machine("b", 0, slots=4)]
    assert place_again("worker", 3, job(4), full, UUID(int=ord("b"))) == Place("worker", 3, UUID(int=ord("a")), "a", 0)
    assert place_again("worker", 3, job(4), [machine("b", 0, slots=4)], UUID(int=ord("b"))) is None
    assert place_again("evaluator", -1, job(4), full, UUID(int=ord("b"))) == Place("evaluator", -1, UUID(int=ord("b")), "b")


def test_nobody_overtakes_a_job_that_waits_for_slots_but_one_that_never_fits_holds_up_nobody() -> None:
    line = QueueLine([machine("a", 3, slots=4)])
    too_large, first, waiting, small = (line.next(job(count)) for count in (9, 1, 4, 1))
    assert not isinstance(first, Waits)
    assert workers(first) == [("a", 1, None)]
    assert [(turn.position, turn.shortage.reason) for turn in (too_large, waiting, small) if isinstance(turn, Waits)] == [
        (1, "too_large"),
        (2, "no_capacity"),
        (3, "behind"),
    ]


def test_places_that_were_given_are_taken() -> None:
    line = QueueLine([machine("a", 3, gpus=2)])
    first, second = line.next(job(1, "cuda")), line.next(job(2))
    assert not isinstance(first, Waits)
    assert not isinstance(second, Waits)
    assert workers(first) == [("a", 0, 0)]
    assert workers(second) == [("a", 1, None), ("a", 2, None)]
    assert isinstance(line.next(job(1, "cuda")), Waits)


def test_a_job_without_a_network_goes_where_network_can_be_isolated() -> None:
    isolated = job(2).model_copy(update={"network": "platform"})
    open_one, closed = machine("a", 4), replace(machine("b", 2), isolates_network=True)
    assert {each.node for each in placed(place(isolated, [open_one, closed]))} == {"b"}
    assert {each.node for each in placed(place(job(2), [open_one, closed]))} == {"a"}
    short = place(isolated, [open_one])
    assert isinstance(short, Shortage)
    assert (short.reason, short.passes_by_itself) == ("no_isolation", False)
    assert place_again("evaluator", -1, isolated, [open_one], UUID(int=ord("a"))) is None
    line = QueueLine([open_one])
    assert isinstance(line.next(isolated), Waits)
    assert not isinstance(line.next(job(2)), Waits), "another need has another plan"


def without_servers(workers: int, device: str = "cpu", collective: str = "auto", **more: object) -> JobSpec:
    roles = {"server": {"count": 0, "collective": collective}, "worker": {"count": workers, "device": device}}
    whole = job(workers).model_dump(mode="json") | {"strategy": {"name": "sync"}, "roles": roles} | more
    return JobSpec.model_validate(whole)


def test_the_workers_of_a_job_without_servers_lie_on_one_machine() -> None:
    plan = placed(place(without_servers(3), [machine("a", 2, slots=8), machine("b", 3)]))
    assert [(p.role, p.node) for p in plan] == [*[("worker", "b")] * 3, ("evaluator", "b")]
    with_gpus = placed(place(without_servers(2, "cuda"), [machine("a", 4, gpus=1), machine("b", 4, gpus=2)]))
    assert [(p.node, *p.gpus) for p in with_gpus] == [("b", 0), ("b", 1), ("b",)]


def test_without_servers_a_respawn_stays_where_the_model_lies() -> None:
    here, spec = UUID(int=ord("a")), without_servers(2)
    assert place_again("worker", 1, spec, [machine("a", 1), machine("b", 4)], here) == Place("worker", 1, here, "a", 0)
    assert place_again("worker", 1, spec, [machine("a", 0, slots=4), machine("b", 4)], here) is None


def test_over_gloo_a_respawn_goes_to_any_machine_with_a_network() -> None:
    here, there, spec = UUID(int=ord("a")), UUID(int=ord("b")), without_servers(2, collective="gloo", on_worker_loss="continue")
    full, other = machine("a", 0, slots=4), machine("b", 4)
    assert place_again("worker", 1, spec, [machine("a", 1), other], here) == Place("worker", 1, here, "a", 0)
    assert place_again("worker", 1, spec, [full, other], here) == Place("worker", 1, there, "b", 0)
    assert place_again("worker", 1, spec, [full, replace(other, cuts_network=True)], here) is None


def test_a_job_without_servers_waits_for_one_machine_that_has_room() -> None:
    full = place(without_servers(3, collective="shared"), [machine("a", 2, slots=4), machine("b", 2)])
    assert isinstance(full, Shortage)
    assert (full.reason, full.passes_by_itself) == ("no_capacity", True)
    assert full.message.startswith("Waits for 3 free slots on one machine")
    small = place(without_servers(3, collective="shared"), [machine("a", 2), machine("b", 2)])
    assert isinstance(small, Shortage)
    assert (small.reason, small.passes_by_itself) == ("too_large", False)
    assert small.message.endswith("Use fewer workers, or set roles.server.count: 1.")


def test_workers_without_servers_are_spread_where_no_machine_has_room_for_all() -> None:
    spec = without_servers(3)
    plan = placed(place(spec, [machine("a", 2), machine("b", 2)]))
    assert [(p.role, p.node) for p in plan] == [*[("worker", "a")] * 2, ("worker", "b"), ("evaluator", "a")]
    assert collective_of(spec, plan) == "gloo"
    assert collective_of(spec, placed(place(spec, [machine("a", 4), machine("b", 2)]))) == "shared"
    by_name = without_servers(3, collective="gloo")
    assert collective_of(by_name, placed(place(by_name, [machine("a", 4)]))) == "gloo"


def test_workers_with_a_gpu_each_combine_pushes_by_nccl() -> None:
    alone, both = [machine("a", 4, gpus=2)], [machine("a", 2, gpus=2), machine("b", 2, gpus=2)]
    for device in ("cuda", "auto"):
        for count, machines in ((2, alone), (4, both)):
            spec = without_servers(count, device)
            assert collective_of(spec, placed(place(spec, machines))) == "nccl"
    three = without_servers(3, "auto")
    assert collective_of(three, placed(place(three, alone))) == "shared", "one of them computes on the CPU"
    kept = without_servers(2, "cuda", network="platform")
    assert collective_of(kept, placed(place(kept, [replace(alone[0], isolates_network=True)]))) == "shared"
    apart = without_servers(2, "cuda")
    assert collective_of(apart, placed(place(apart, [replace(alone[0], cuts_network=True)]))) == "shared"


@pytest.mark.parametrize(
    "more", [{"on_worker_loss": "continue"}, {"codec": {"name": "bf16"}}, {"strategy": {"name": "easgd"}, "gate": "bsp"}], ids=str
)
def test_workers_that_nccl_cannot_serve_share_memory(more: dict[str, object]) -> None:
    spec = without_servers(2, "cuda", **more)
    assert collective_of(spec, placed(place(spec, [machine("a", 4, gpus=2)]))) == "shared"


def test_workers_by_nccl_lie_where_they_can_connect() -> None:
    spec = without_servers(2, "cuda", collective="nccl")
    assert collective_of(spec, placed(place(spec, [machine("a", 4, gpus=2)]))) == "nccl"
    short = place(spec, [replace(machine("a", 4, gpus=2), cuts_network=True)])
    assert isinstance(short, Shortage)
    assert "on machines that let jobs use their network" in short.message


@pytest.mark.parametrize("more", [{"strategy": {"name": "easgd"}, "gate": "bsp"}, {"codec": {"name": "bf16"}}])
def test_workers_that_gloo_cannot_serve_stay_on_one_machine(more: dict[str, object]) -> None:
    short = place(without_servers(3, **more), [machine("a", 2), machine("b", 2)])
    assert isinstance(short, Shortage)
    assert "on one machine" in short.message


def test_workers_that_connect_by_gloo_need_machines_with_a_network() -> None:
    spec, cut = without_servers(3), replace(machine("b", 2), cuts_network=True)
    short = place(spec, [machine("a", 2), cut])
    assert isinstance(short, Shortage)
    assert (short.reason, short.passes_by_itself) == ("too_large", False)
    assert "--job-network internet" in short.message
    assert isinstance(place(spec, [machine("a", 2, slots=4), cut]), Shortage)
    assert isinstance(place(without_servers(2, collective="gloo"), [cut]), Shortage)
    plan = placed(place(without_servers(2), [cut]))
    assert collective_of(spec, plan) == "shared", "shared memory needs no network"


def test_a_queue_tells_jobs_apart_that_may_be_spread() -> None:
    line = QueueLine([machine("a", 2), machine("b", 2)])
    assert isinstance(line.next(without_servers(3, collective="shared")), Waits)
    assert not isinstance(line.next(without_servers(3)), Waits)


@pytest.mark.parametrize(
    "never",
    [without_servers(3, collective="shared"), job(2, on="cuda", servers=2), without_servers(3, "cuda", "shared")],
)
def test_a_job_that_could_never_fit_says_so_also_while_places_are_taken(never: JobSpec) -> None:
    taken = [machine("a", 1, slots=2, gpus=1), machine("b", 0, slots=2)]
    short = place(never, taken)
    assert isinstance(short, Shortage)
    assert short.reason == "too_large"
