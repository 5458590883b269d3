"""A machine of a group that goes silent: its connections end without a word of it, for the lead and for the machine."""

from __future__ import annotations

import re
import select
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from multiprocessing import connection
from multiprocessing.connection import Connection

import pytest
import torch

from benchmarks.network import SERVER, WORKER, Forbidden, Hosts, two_hosts
from gradstream.group.machines import connecting
from gradstream.group.machines.machine_link import MachineLink
from gradstream.group.peers import MachineLost
from gradstream.group.requests import TrainOnMachine
from gradstream.input import tensor_pipe
from tests import nets
from tests.support import TIMEOUT
from tests.unit.group.conftest import make_group

pytestmark = pytest.mark.more
PROBES = {"TCP_KEEPIDLE": 1, "TCP_KEEPINTVL": 1, "TCP_KEEPCNT": 2, "TCP_USER_TIMEOUT": 2000}
"""As those of connections between machines, but quicker."""
MORE_THAN_IT_TAKES = 4 << 20


@pytest.fixture
def hosts() -> Iterator[Hosts]:
    with ExitStack() as cleanup:
        try:
            yield cleanup.enter_context(two_hosts())
        except Forbidden as error:
            pytest.skip(f"NO TEST OF TWO MACHINES: {error}")


@pytest.fixture
def pipes(hosts: Hosts, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Connection, Connection]]:
    """The lead's end of a connection, and the machine's."""
    monkeypatch.setattr(connecting, "_PROBES", PROBES)
    with socket.create_server((SERVER, 0)) as server:
        with hosts.workers():
            of_machine = connecting.as_pipe(socket.create_connection(server.getsockname()))
        of_lead = connecting.as_pipe(server.accept()[0])
    with of_lead, of_machine:
        yield of_lead, of_machine


def test_the_lead_names_a_machine_that_is_silent(hosts: Hosts, pipes: tuple[Connection, Connection]) -> None:
    worker = {"count": 1, "group": {"replicate": 2, "machines": 2}, "device": "cpu"}
    problem = make_group(nets.job("plain", {"name": "sync", "lr": 0.1}, roles={"worker": worker}), 0)
    try:
        problem.join_machines([pipes[0]])
        named = rf"^the connection to peer 1 of worker-0, on another machine \({re.escape(WORKER)}\), "
        with hosts.silent(), pytest.raises(MachineLost, match=named + r"was silent for too long \(.*timed out\)"):
            problem.gradient(0)
    finally:
        problem.close()


@pytest.mark.parametrize("size", [8, MORE_THAN_IT_TAKES], ids=["waits", "sends"])
def test_a_lead_learns_it_whether_it_waits_or_sends(size: int, hosts: Hosts, pipes: tuple[Connection, Connection]) -> None:
    link = MachineLink(pipes[0], "machine", lambda file, event: bool(select.select([file], [file], [file], TIMEOUT)))
    with hosts.silent():
        link.ask(TrainOnMachine(0, 0, [], None), torch.zeros(size))
        assert connection.wait([link.ready], TIMEOUT)
    with pytest.raises(TimeoutError):
        link.take_answer()
    link.close()


@pytest.mark.parametrize(
    "does",
    [tensor_pipe.receive, lambda pipe: tensor_pipe.send_vector(pipe, torch.zeros(MORE_THAN_IT_TAKES))],
    ids=["waits", "sends"],
)
def test_a_machine_learns_it_whether_it_waits_or_sends(
    does: Callable[[Connection], object], hosts: Hosts, pipes: tuple[Connection, Connection]
) -> None:
    with hosts.silent(), pytest.raises(TimeoutError):
        does(pipes[1])
