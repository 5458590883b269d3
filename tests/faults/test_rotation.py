"""The credential of a node changes while a job runs there: the real API, a real agent and real processes."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradstream.process.machine import credential_of
from tests.platforms import Lab, slow_until
from tests.support import eventually


@pytest.mark.more
def test_a_job_goes_on_while_its_node_changes_its_credential(lab: Lab, tmp_path: Path) -> None:
    go, folder = tmp_path / "go", lab.platform.folder.agent
    job = lab.submit(args=slow_until(go))
    lab.trains(job)
    [node] = lab.client.nodes()
    old = credential_of(folder)
    assert lab.client.rotate_node(node.name).rotating_since
    eventually(lambda: lab.client.nodes()[0].rotating_since is None, "the new credential")
    assert credential_of(folder) != old
    assert not (folder / "credential.next").exists()
    [after] = lab.client.nodes()
    assert (after.id, after.registered_at) == (node.id, node.registered_at), "the agent has not registered again"
    go.touch()
    ended = lab.ended(job)
    assert (ended.status, ended.attempt) == ("succeeded", 1), lab.messages(job)
    assert {process.incarnation for process in lab.client.processes(job.id)} == {0}
    [agent] = [program for program in [lab.program("worker_agent")] if program.is_running()]
    agent.kill()
    eventually(lambda: lab.client.nodes()[0].registered_at > node.registered_at, "a registration with the new credential")
