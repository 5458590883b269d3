"""`gradstream demo --exit` from a checkout, as whoever changes the code runs it; `test_wheel` runs the one that stays."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.integration.cli.shared import COMMAND, free_port, processes_of


@pytest.mark.long
@pytest.mark.timeout(400)
def test_it_ends_by_itself(tmp_path: Path) -> None:
    data = tmp_path / "data"
    command = [*COMMAND, "demo", "--exit", "--json", "--data-dir", str(data), "--port", str(free_port())]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["status"] == "succeeded"
    for link in ("/jobs/", "/sign-in"):
        assert link not in done.stderr, "the platform has ended by now"
    assert processes_of(data) == []
