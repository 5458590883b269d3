"""Processes share the code of their job on a node, also where the agent does not separate them."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradstream.local.options import Isolate
from tests.platforms import lab

pytestmark = pytest.mark.more


def test_processes_leave_no_bytecode_in_shared_code(tmp_path: Path) -> None:
    """The agent would take it for a change of the code, and move the code away while others import it."""
    with lab(tmp_path, isolate=Isolate("none")) as found:
        roles = {"worker": {"count": 3, "device": "cpu"}, "server": {"count": 1}}
        jobs = [found.submit(name, roles=roles) for name in ("one", "other")]
        ended = [found.ended(job) for job in jobs]
        assert [(job.status, job.attempt) for job in ended] == [("succeeded", 1)] * 2, [job.message for job in ended]
        folder = found.platform.folder.agent
        assert list(folder.rglob("steady.py")), "the code lies here"
        assert not list(folder.rglob("__pycache__"))
