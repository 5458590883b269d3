"""A real agent that changes its credential, with every answer lost once, and killed at each of its steps."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from gradstream.local.servers.redis import Redis
from gradstream.process.machine import credential_of
from tests.integration.agent.agent_process import SLEEPER, Node, registered_node
from tests.support import eventually


@pytest.fixture
def own_node(redis_server: Callable[..., Redis], tmp_path: Path) -> Iterator[Node]:
    with registered_node(tmp_path, redis_server()) as node:
        yield node


def folder_of(node: Node) -> Path:
    return node.folder / "work"


def check_changed(node: Node, old: str) -> None:
    control = node.control
    eventually(lambda: not control.rotating and control.announced is None and control.credential != old, "the change")
    eventually(lambda: credential_of(folder_of(node)) == control.credential, "the file")
    assert not (folder_of(node) / "credential.next").exists()
    assert (folder_of(node) / "credential").stat().st_mode & 0o777 == 0o600


@pytest.mark.more
def test_processes_go_on_while_the_credential_changes_and_answers_are_lost(own_node: Node) -> None:
    control = own_node.control
    order = own_node.run(SLEEPER)
    pid = own_node.state(order, "running")["pid"]
    old = credential_of(folder_of(own_node))
    control.die_at_rotation = [1, 3]
    control.rotating = True
    check_changed(own_node, old)
    eventually(lambda: len(control.rotations) >= 4, "a call after each answer that was lost")
    new = control.credential
    assert control.rotations == [(old, new), (old, new), (new, new), (new, new)]
    assert psutil.pid_exists(pid)
    assert len(control.registrations) == 1, "registering would end what runs"


@pytest.mark.more
@pytest.mark.parametrize("calls", [1, 2])
def test_an_agent_that_is_killed_after_a_call_comes_back_and_ends_with_one_credential(own_node: Node, calls: int) -> None:
    control = own_node.control
    old = credential_of(folder_of(own_node))
    control.die_at_rotation = [*range(calls, 100)]  # it stays at this call until it is killed
    control.rotating = True
    eventually(lambda: len(control.rotations) >= calls, "the call")
    own_node.end(signal.SIGKILL)
    control.die_at_rotation = []
    own_node.start()
    eventually(lambda: len(control.registrations) == 2, "the registration, without a join token")
    check_changed(own_node, old)
    own_node.end()
    own_node.start()
    eventually(lambda: len(control.registrations) == 3, "the next one")
