"""Groups over several machines: a slot on each, different machines, and all of a group again when one part is lost."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from backend.scheduler.decide import Fail, Respawn, Restart
from backend.scheduler.placing.machines import groups_fit
from backend.scheduler.placing.placement import Place, place, place_group_again
from backend.scheduler.placing.shortages import Shortage
from gradstream.process.exits import ExitReason
from gradstream.spec import JobSpec
from tests.unit.backend.test_decide import EVALUATOR, OTHER, RUNNING, SERVER, WORKER, ended, next_step, process, spec
from tests.unit.backend.test_placement import machine, placed


def job(workers: int, machines: int, **more: Any) -> JobSpec:
    worker = {"count": workers, "group": {"replicate": machines, "machines": machines}}
    return spec(roles={"worker": worker, "server": {"count": 1}}, **more)


def groups(plan: tuple[Place, ...] | list[Place], of: JobSpec) -> dict[int | None, list[str]]:
    """Return the machines of each group."""
    found: dict[int | None, list[str]] = {}
    for each in plan:
        if each.role in ("worker", "peers"):
            found.setdefault(of.roles.worker_of(each.role, each.rank), []).append(each.node)
    return found


def test_a_group_takes_a_slot_on_each_of_its_machines_and_the_fewest_machines_are_used() -> None:
    wanted = job(2, 2)
    plan = placed(place(wanted, [machine("a", 1), machine("b", 4), machine("c", 3)]))
    ranks = [("server", 0), ("worker", 0), ("worker", 1), ("peers", 0), ("peers", 1), ("evaluator", -1)]
    assert [(p.role, p.rank) for p in plan] == ranks
    assert {frozenset(nodes) for nodes in groups(plan, wanted).values()} == {frozenset("bc")}
    slots = [(p.node, p.slot) for p in plan if p.slot is not None]
    assert len(set(slots)) == len(slots) == 4
    lead = next(p.node for p in plan if p.role == "worker")
    assert [p.node for p in plan if p.role in ("server", "evaluator")] == [lead, lead], "beside the lead"


@given(st.integers(1, 4), st.integers(2, 4), st.lists(st.integers(0, 4), min_size=1, max_size=6))
def test_all_groups_are_placed_if_they_fit_at_all_and_never_twice_on_a_machine(count: int, each: int, free: list[int]) -> None:
    wanted = job(count, each)
    plan = place(wanted, [machine(chr(97 + number), slots, slots=8) for number, slots in enumerate(free)])
    assert isinstance(plan, tuple) == _fits_by_search(count, each, tuple(free))
    assert isinstance(plan, tuple) == groups_fit(count, each, free)
    if isinstance(plan, tuple):
        assert all(len(set(nodes)) == len(nodes) == each for nodes in groups(plan, wanted).values())
        assert len(groups(plan, wanted)) == count
        taken = Counter(p.node for p in plan if p.slot is not None)
        assert all(taken[chr(97 + number)] <= slots for number, slots in enumerate(free))


def _fits_by_search(count: int, each: int, free: tuple[int, ...]) -> bool:
    """Try the machines of the first group, one choice after the other."""
    from itertools import combinations

    if count == 0:
        return True
    choices = combinations([number for number, slots in enumerate(free) if slots], each)
    return any(
        _fits_by_search(count - 1, each, tuple(slots - (number in chosen) for number, slots in enumerate(free)))
        for chosen in choices
    )


def test_a_shortage_names_the_remedy() -> None:
    small = place(job(1, 3), [machine("a", 4), machine("b", 4)])
    assert small == Shortage(
        "too_large",
        "Needs 1 slot each on 3 machines that let jobs use their network, for its 1 worker (roles.worker.group.machines), and the "
        "2 connected machines of this kind have too few. Start agents on more machines, with --job-network internet, or set "
        "roles.worker.group.machines: 1.",
    )
    full = place(job(2, 2), [machine("a", 4), machine("b", 1, slots=2)])
    assert isinstance(full, Shortage)
    assert (full.reason, full.passes_by_itself) == ("no_capacity", True)
    cut = replace(machine("b", 4), cuts_network=True)
    assert isinstance(place(job(1, 2), [machine("a", 4), cut]), Shortage), "its jobs reach no other machine"


@pytest.mark.parametrize(
    ("group", "more", "remedy"),
    [
        ({"replicate": 3, "machines": 2}, {}, "set roles.worker.group.replicate: 4"),
        ({"machines": 2, "fsdp": 4}, {}, "set roles.worker.group.replicate: 2"),
        ({"replicate": 2, "machines": 2}, {"network": "platform"}, "set network: internet, or remove machines"),
        ({"replicate": 2, "machines": 2}, {"gate": "bsp", "servers": 0}, "set roles.server.count: 1, or remove machines"),
    ],
    ids=str,
)
def test_a_group_that_cannot_span_machines_is_refused_with_a_remedy(
    group: dict[str, int], more: dict[str, Any], remedy: str
) -> None:
    servers = more.pop("servers", 1)
    with pytest.raises(ValidationError, match=remedy):
        spec(roles={"worker": {"count": 1, "group": group}, "server": {"count": servers}}, **more)


def test_a_group_is_placed_again_as_one_and_where_it_was_if_it_fits() -> None:
    wanted, a, b = job(2, 2), UUID(int=ord("a")), UUID(int=ord("b"))
    again = place_group_again(1, wanted, [machine("a", 1), machine("b", 1), machine("c", 4)], {a: [], b: []})
    assert {p.node for p in again} == {"a", "b"}
    assert sorted((p.role, p.rank) for p in again) == [("peers", 1), ("worker", 1)]
    moved = place_group_again(0, wanted, [machine("a", 1), machine("b", 0, slots=1), machine("c", 4)], {a: [], b: []})
    assert {p.node for p in moved} == {"a", "c"}
    drained = replace(machine("c", 4), draining=True)
    assert place_group_again(0, wanted, [machine("a", 4), drained], {a: [], b: []}) == []


PEERS, OTHERS = process("peers"), process("peers", 1)
SPREAD = replace(RUNNING, spec=job(2, 2), processes=(SERVER, WORKER, OTHER, PEERS, OTHERS, EVALUATOR))


def test_a_group_is_respawned_when_all_of_it_has_ended() -> None:
    lost = ended(SPREAD, PEERS, ExitReason.KILLED, "killed by signal 9")
    assert next_step(lost) is None, "its lead is about to end"
    whole = ended(lost, WORKER, ExitReason.PEER_LOST)
    step = next_step(whole)
    assert isinstance(step, Respawn)
    assert step.process in (PEERS.id, WORKER.id)
    assert isinstance(next_step(ended(lost, OTHER, ExitReason.KILLED)), type(None)), "nor has the other group"
    assert isinstance(next_step(replace(whole, retries_used=2)), Fail)
    assert isinstance(next_step(replace(lost, spec=job(2, 2, gate="bsp"))), Restart)


def test_peers_whose_lead_is_done_are_not_needed() -> None:
    done = ended(SPREAD, WORKER, ExitReason.DONE)
    assert next_step(ended(done, PEERS, ExitReason.PEER_LOST)) is None
    assert isinstance(next_step(ended(ended(done, OTHERS, ExitReason.KILLED), OTHER, ExitReason.KILLED)), Respawn)
