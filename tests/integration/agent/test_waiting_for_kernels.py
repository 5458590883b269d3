"""The first job with tables on a machine waits for their kernels, instead of compiling them in each of its processes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gradstream.center.tables import kernel_cache
from gradstream.local.servers.redis import Redis
from gradstream.spec import JobSpec
from tests.integration.agent.agent_process import SLEEPER, registered_node
from tests.orders import SPEC
from tests.support import eventually


@pytest.mark.more
def test_processes_of_a_job_with_tables_wait_and_say_so_while_others_start(
    redis_server: Callable[..., Redis], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    kernel_cache.shared_folder.cache_clear()
    with_tables = JobSpec.model_validate(SPEC | {"tables": {"user": {}}})
    with registered_node(tmp_path, redis_server()) as node:
        waits = node.run(SLEEPER, spec=with_tables)
        unwanted = node.run(SLEEPER, spec=with_tables, rank=1)
        other = node.run(SLEEPER, rank=2)
        node.state(other, "running")
        assert node.state(waits, "starting")["pid"] is None
        wait = "agent: worker-0 waits for the kernels of embedding tables to be compiled"
        eventually(lambda: wait in node.control.log(waits.id), "the wait in the log")
        node.control.desired = [order for order in node.control.desired if order != unwanted]
        node.hint()
        assert node.state(unwanted, "exited")["exit"]["reason"] == "killed"
        kernel_cache.shared_folder().mkdir(parents=True, exist_ok=True)
        kernel_cache.mark_complete()
        node.state(waits, "running")
        eventually(lambda: "here I am" in node.control.log(waits.id), "its own output")
        assert "agent: worker-0 waited for the kernels of embedding tables: they were compiled" in node.control.log(waits.id)
    kernel_cache.shared_folder.cache_clear()
