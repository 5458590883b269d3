"""The lead of a group and the other machines find each other over the data plane, and strangers are sent away."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from multiprocessing.connection import Connection
from typing import Any

import pytest

from gradstream.group.machines import connecting
from gradstream.group.machines.connecting import connect_machines, connect_to_lead
from gradstream.input import tensor_pipe
from gradstream.process.exits import UserError
from gradstream.process.order import ProcessOrder, Role
from gradstream.serverless.collective.meeting import host_id
from gradstream.sim.toys import Bowl, job
from gradstream.spec import JobSpec
from gradstream.wire.redis import keys
from tests.integration.plane.cluster import Cluster
from tests.support import TIMEOUT, eventually


def spec_of(machines: int, workers: int = 1) -> JobSpec:
    worker = {"count": workers, "device": "cpu", "group": {"replicate": machines, "machines": machines}}
    return JobSpec.model_validate(job({"name": "sync", "lr": 0.1}).model_dump(mode="json") | {"roles": {"worker": worker}})


class Connecting:
    """Threads that each are a process of a group."""

    def __init__(self, attempt: Cluster) -> None:
        self.attempt = attempt
        self.pipes: dict[str, list[Connection]] = {}
        self.errors: list[BaseException] = []
        self._threads: list[threading.Thread] = []

    def start(self, *orders: ProcessOrder) -> None:
        for order in orders:
            self._threads.append(threading.Thread(target=self._connect, args=(order,), daemon=True))
            self._threads[-1].start()

    def _connect(self, order: ProcessOrder) -> None:
        try:
            self.pipes[order.full_label] = connect_machines(order) if order.role == "worker" else [connect_to_lead(order)]
        except BaseException as error:
            self.errors.append(error)

    def finish(self) -> None:
        for thread in self._threads:
            thread.join(TIMEOUT)
            assert not thread.is_alive()

    def say(self, order: ProcessOrder, key: str, value: str) -> None:
        """Say something at the meeting of this process's group."""
        self.attempt.admin.set(self._name(order, key), value)

    def read(self, order: ProcessOrder, key: str) -> Any:
        return self.attempt.admin.get(self._name(order, key))

    @staticmethod
    def _name(order: ProcessOrder, key: str) -> str:
        return keys.meeting(order.plane_id, f"group-{order.worker}.{order.incarnation}/{key}")


@pytest.fixture
def connecting_group(cluster: Callable[..., Cluster]) -> Iterator[Callable[..., Connecting]]:
    with ExitStack() as cleanup:

        def make(spec: JobSpec) -> Connecting:
            made = Connecting(cluster(spec, Bowl))
            cleanup.callback(lambda: [pipe.close() for pipes in made.pipes.values() for pipe in pipes])
            return made

        yield make


def test_each_machine_of_each_group_comes_to_its_own_lead(connecting_group: Callable[..., Connecting]) -> None:
    group = connecting_group(spec_of(3, workers=2))
    order = group.attempt.order
    group.start(*(order("peers", rank) for rank in range(4)), *(order("worker", rank) for rank in range(2)))
    group.finish()
    assert not group.errors
    for worker in range(2):
        for machine, pipe in enumerate(group.pipes[f"worker-{worker}.0"], 1):
            tensor_pipe.send(pipe, (worker, machine))
    for rank in range(4):
        assert tensor_pipe.receive(group.pipes[f"peers-{rank}.0"][0]) == (rank // 2, 1 + rank % 2)


def test_an_incarnation_meets_only_processes_of_the_same_one(connecting_group: Callable[..., Connecting]) -> None:
    group = connecting_group(spec_of(2))
    order = group.attempt.order
    group.start(order("worker", 0), order("peers", 0, 1), order("worker", 0, 1))
    eventually(lambda: "worker-0.1" in group.pipes and "peers-0.1" in group.pipes, "the second incarnation")
    assert "worker-0.0" not in group.pipes
    group.start(order("peers", 0))
    group.finish()
    assert not group.errors


def test_a_stranger_at_the_port_is_sent_away_and_holds_up_no_machine(
    connecting_group: Callable[..., Connecting], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connecting, "_STRANGER_TIMEOUT", 2)
    group = connecting_group(spec_of(3))
    lead = group.attempt.order("worker", 0)
    group.say(lead, "worker-2", f"{host_id()} 127.0.0.1")  # it is there, and connects last
    group.start(lead, group.attempt.order("peers", 0))
    address, port, _ = json.loads(eventually(lambda: group.read(lead, "lead"), "the address of the lead"))
    with ExitStack() as strangers:
        for said in (b"", b"\0\0\0\4none", b"\xff" * 64):
            stranger = strangers.enter_context(socket.create_connection((address, port), timeout=TIMEOUT))
            stranger.sendall(said)
        group.start(group.attempt.order("peers", 1))
        group.finish()
    assert not group.errors
    tensor_pipe.send(group.pipes["worker-0.0"][1], "to machine 2")
    assert tensor_pipe.receive(group.pipes["peers-1.0"][0]) == "to machine 2"


@pytest.mark.parametrize("role", ["worker", "peers"])
def test_a_machine_out_of_reach_is_an_error_with_a_remedy(
    role: Role, connecting_group: Callable[..., Connecting], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connecting, "_CONNECT_TIMEOUT", 0.5)
    group = connecting_group(spec_of(2))
    order = group.attempt.order(role, 0)
    group.say(order, f"worker-{1 - order.machine}", f"{host_id()} 127.0.0.1")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    if role == "peers":
        group.say(order, "lead", json.dumps(["127.0.0.1", port, "00"]))
    group.start(order)
    group.finish()
    [error] = group.errors
    assert isinstance(error, UserError)
    assert str(error).startswith("roles.worker.group.machines: ")
    assert str(error).endswith("let machines connect to each other at any port, or set roles.worker.group.machines: 1")
