"""The lead's connections to other machines: vectors travel while it computes, to all of them at once."""

from __future__ import annotations

import multiprocessing
import select
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from multiprocessing.connection import Connection

import pytest
import torch
from torch import Tensor

from gradstream.group.machines.machine_link import MachineLink
from gradstream.group.requests import EndMachine, TrainOnMachine
from gradstream.input import tensor_pipe
from tests.support import TIMEOUT

SIZE = 3 << 20
"""More bytes than a pipe holds, and several pieces."""
REQUEST = TrainOnMachine(0, 0, [], None)
MakeLink = Callable[[], tuple[MachineLink, Connection]]


def wait_for(file: int, event: int) -> None:
    """As `Peers` waits for a machine. Raises: AssertionError: it is too slow."""
    ready = select.poll()
    ready.register(file, event)
    assert ready.poll(1000 * TIMEOUT), "the other end neither reads nor writes"


@pytest.fixture
def linked() -> Iterator[MakeLink]:
    """Makes a link, and the machine's end of it."""
    made: list[tuple[MachineLink, Connection]] = []

    def make() -> tuple[MachineLink, Connection]:
        of_lead, of_machine = multiprocessing.Pipe()
        made.append((MachineLink(of_lead, "machine", wait_for), of_machine))
        return made[-1]

    yield make
    for link, of_machine in made:
        of_machine.close()
        with suppress(OSError):
            link.close()


def take_request(pipe: Connection) -> Tensor:
    """Return the theta of a request to train."""
    theta = torch.empty(SIZE)
    assert tensor_pipe.receive(pipe) == REQUEST
    tensor_pipe.receive_vector(pipe, theta)
    return theta


def serve(pipe: Connection, factor: float, done: threading.Event) -> None:
    """Answer one request with a gradient: theta times a factor."""
    theta = take_request(pipe)
    tensor_pipe.send(pipe, "trained")
    tensor_pipe.send_vector(pipe, factor * theta)
    done.set()


def begin(pipe: Connection, factor: float = 2.0) -> threading.Event:
    done = threading.Event()
    threading.Thread(target=serve, args=(pipe, factor, done), daemon=True).start()
    return done


def gradient_of(link: MachineLink) -> Tensor:
    total = torch.zeros(SIZE)
    assert link.take_answer() == "trained"
    for piece, gradient in link.take_pieces():
        total[piece] += gradient
    return total


def test_theta_and_the_gradient_travel_while_the_lead_does_something_else(linked: MakeLink) -> None:
    link, of_machine = linked()
    for round in range(2):
        theta = torch.randn(SIZE)
        link.ask(REQUEST, theta)
        assert begin(of_machine).wait(TIMEOUT), "the machine is rid of all bytes, and the lead has taken none yet"
        assert torch.equal(gradient_of(link), 2 * theta), f"round {round}"


def test_a_machine_that_takes_no_theta_yet_keeps_no_other_from_it(linked: MakeLink) -> None:
    (slow, of_slow), (quick, of_quick) = linked(), linked()
    theta = torch.randn(SIZE)
    slow.ask(REQUEST, theta)
    quick.ask(REQUEST, theta)
    assert begin(of_quick, 3.0).wait(TIMEOUT)
    begin(of_slow)
    assert torch.equal(gradient_of(slow), 2 * theta)
    assert torch.equal(gradient_of(quick), 3 * theta)


def test_a_connection_that_breaks_within_a_gradient_ends_the_wait_for_its_pieces(linked: MakeLink) -> None:
    link, of_machine = linked()
    link.ask(REQUEST, torch.zeros(SIZE))
    take_request(of_machine)
    tensor_pipe.send(of_machine, "trained")
    tensor_pipe.send_vector(of_machine, torch.zeros(SIZE // 2))
    of_machine.close()
    assert link.take_answer() == "trained"
    with pytest.raises(EOFError):
        list(link.take_pieces())


def test_an_idle_machine_is_asked_to_end_and_a_busy_one_loses_its_lead(linked: MakeLink) -> None:
    (idle, of_idle), (busy, of_busy) = linked(), linked()
    busy.ask(REQUEST, torch.zeros(SIZE))
    for link in (idle, busy):
        link.close()
    assert tensor_pipe.receive(of_idle) == EndMachine()
    with pytest.raises(EOFError):
        take_request(of_busy)
