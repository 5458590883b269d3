"""Backfill: a job goes ahead on places without use for those before it, and never delays the first one that waits."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

import pytest

from backend.scheduler.placing.backfill import Reservation, reservations
from backend.scheduler.placing.line import QueueLine, Waits
from backend.scheduler.placing.machines import Machine
from backend.scheduler.placing.placement import Place, without_places
from gradstream.spec import JobSpec
from tests.unit.backend.test_group_placement import job as group
from tests.unit.backend.test_placement import job, machine, without_servers, workers


def reasons(line: QueueLine, *queue: JobSpec) -> list[str]:
    turns = [line.next(spec) for spec in queue]
    return [turn.shortage.reason if isinstance(turn, Waits) else "starts" for turn in turns]


def test_jobs_without_gpus_go_ahead_of_one_that_waits_for_gpus() -> None:
    line = QueueLine([machine("a", 5, slots=6, gpus=2, free_gpus=1)])
    assert reasons(line, job(2, "cuda"), job(2), job(2), job(1)) == ["no_gpu", "starts", "behind", "behind"]
    line = QueueLine([machine("a", 5, slots=6, gpus=2, free_gpus=1)])
    assert reasons(line, job(2, "cuda"), job(1, "cuda"), job(1, "auto"), job(3)) == ["no_gpu", "behind", "starts", "behind"]


def test_a_gpu_keeps_a_slot_for_the_job_that_waits_for_it() -> None:
    line = QueueLine([machine("a", 3, slots=4, gpus=2, free_gpus=0)])
    turn = [line.next(job(1, "cuda")), line.next(job(1)), line.next(job(1))]
    assert isinstance(turn[0], Waits)
    assert not isinstance(turn[1], Waits)
    assert workers(turn[1]) == [("a", 1, None)]
    assert isinstance(turn[2], Waits)
    assert (turn[2].position, turn[2].shortage.reason) == (2, "behind")


def test_machines_that_a_waiting_job_can_never_be_on_serve_others() -> None:
    small, large = machine("a", 2), machine("b", 1, slots=4)
    on_one = without_servers(3, collective="shared")
    assert reasons(QueueLine([small, large]), on_one, job(1), job(1), job(1)) == ["no_capacity", "starts", "starts", "behind"]
    isolated = job(3).model_copy(update={"network": "platform"})
    closed = replace(machine("b", 1, slots=4), isolates_network=True)
    assert reasons(QueueLine([small, closed]), isolated, job(3), job(2)) == ["no_capacity", "behind", "behind"]
    assert reasons(QueueLine([small, closed]), isolated, job(2), job(1)) == ["no_capacity", "starts", "behind"]


def test_what_a_job_could_use_of_a_machine() -> None:
    plain, cut = machine("a", 1, slots=4, gpus=2), replace(machine("b", 3), cuts_network=True)
    nothing = Reservation()
    assert reservations(job(1), [plain, cut]) == [Reservation(4, 0), Reservation(3, 0)]
    assert reservations(job(9, "cuda"), [plain, cut]) == [Reservation(2, True), nothing]
    assert reservations(job(1, "auto"), [plain]) == reservations(job(1, on="cuda"), [plain]) == [Reservation(4, True)]
    assert reservations(with_share(job(9, "cuda"), 0.5), [plain]) == [Reservation(4, True)]
    assert reservations(with_share(job(9, "cuda"), 0.5), [machine("a", 1, slots=8, gpus=2)]) == [Reservation(4, True)]
    assert reservations(group(1, 2), [plain, cut]) == [Reservation(4, True), nothing]
    assert reservations(without_servers(2, collective="gloo"), [plain, cut]) == [Reservation(4, 0), nothing]
    assert reservations(without_servers(4), [plain, cut]) == [Reservation(4, 0), nothing], "spread, it needs a network"
    assert reservations(without_servers(3, "cuda", "shared"), [plain]) == [nothing], "too few GPUs for all of its workers"


@dataclass(frozen=True)
class World:
    """Machines, processes that run there with their ends, and jobs that wait in order."""

    machines: list[Machine]
    running: list[tuple[int, Place]]
    queue: list[JobSpec]

    def starts(self, waiting: int) -> dict[int, int]:
        """Return when each of the first jobs starts. Each process that starts ends by itself, at a drawn moment."""
        running, found = list(self.running), dict[int, int]()
        for moment in range(30):
            running = [(end, place) for end, place in running if end > moment]
            line = QueueLine(without_places(self.machines, [place for _, place in running]))
            for number in [number for number in range(waiting) if number not in found]:
                turn = line.next(self.queue[number])
                if isinstance(turn, Waits):
                    continue
                found[number] = moment
                ends = random.Random(number)
                running += [(moment + ends.randint(1, 12), place) for place in turn]
        return found


def draw_world(draw: random.Random) -> World:
    machines = [draw_machine(draw, name) for name in "abc"[: draw.randint(1, 3)]]
    line, running = QueueLine(machines), list[tuple[int, Place]]()
    for _ in range(draw.randint(1, 4)):
        turn = line.next(draw_job(draw))
        if not isinstance(turn, Waits):
            running += [(draw.randint(1, 12), place) for place in turn]
    return World(machines, running, [draw_job(draw) for _ in range(6)])


def draw_machine(draw: random.Random, name: str) -> Machine:
    gpus = draw.choice([0, 0, 1, 2, 3])
    return replace(
        machine(name, draw.randint(1, 6), gpus=gpus), isolates_network=draw.random() < 0.5, cuts_network=draw.random() < 0.2
    )


def draw_job(draw: random.Random) -> JobSpec:
    kind = draw.random()
    if kind < 0.3:
        return without_servers(draw.randint(1, 4), draw.choice(["cpu", "cuda"]), draw.choice(["auto", "shared"]))
    if kind < 0.4:
        return group(draw.randint(1, 2), 2)
    device, on = draw.choice(["cpu", "cpu", "cuda", "auto"]), draw.choice(["cpu", "cpu", "auto", "cuda"])
    network = draw.choice(["internet", "internet", "platform"])
    drawn = job(draw.randint(1, 6), device, draw.randint(1, 2), on).model_copy(update={"network": network})
    drawn = with_share(drawn, draw.choice([1, 1, 0.5, 0.25])) if device != "cpu" else drawn
    return with_share(drawn, draw.choice([1, 0.5, 0.333, 0.25]), "server") if on != "cpu" and draw.random() < 0.5 else drawn


def with_share(spec: JobSpec, gpu: float, role: str = "worker") -> JobSpec:
    changed = getattr(spec.roles, role).model_copy(update={"gpu": gpu})
    return spec.model_copy(update={"roles": spec.roles.model_copy(update={role: changed})})


def overtaken(world: World) -> tuple[int | None, int]:
    """Return which job is the first that waits for others to end, and how many go ahead of it."""
    starts = world.starts(len(world.queue))
    first = next((number for number in range(len(world.queue)) if starts.get(number, 0) > 0), None)
    return first, sum(starts[number] < starts[first] for number in starts if first is not None and number > first)


@pytest.mark.few(2)
@pytest.mark.parametrize("seed", range(10))
def test_the_first_job_starts_as_if_those_behind_it_did_not_exist(seed: int) -> None:
    draw, went_ahead = random.Random(seed), 0
    for _ in range(60):
        world = draw_world(draw)
        first, ahead = overtaken(world)
        if first is not None:
            went_ahead += ahead
            assert world.starts(first + 1)[first] == world.starts(len(world.queue))[first], world
    assert went_ahead, "worlds in which jobs go ahead"
