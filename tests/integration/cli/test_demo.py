"""`gradstream demo` from a checkout, which is how it runs for whoever changes the code; `test_wheel` runs it to its end."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import pytest

from gradstream.client import Credentials
from tests.integration.cli.shared import COMMAND, free_port, processes_of


def demo(tmp_path: Path, *options: str) -> subprocess.Popen[str]:
    command = [*COMMAND, "demo", "--data-dir", str(tmp_path / "data"), "--port", str(free_port()), *options]
    return subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.timeout(400)
def test_it_stays_until_it_is_told_to_end(tmp_path: Path) -> None:
    with demo(tmp_path) as process:
        assert process.stderr
        for line in process.stderr:
            if "stays up until Ctrl-C" in line:
                break
        kept = Credentials.load(tmp_path / "data" / "client.json")
        listed = subprocess.run(
            [*COMMAND, "jobs", "--json"],
            env={"GRADSTREAM_DATA_DIR": str(tmp_path / "data"), "HOME": str(tmp_path)},
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        process.send_signal(signal.SIGTERM)
        said = process.stderr.read()
        assert process.wait(60) == 130, said
    assert kept
    assert [job["status"] for job in json.loads(listed.stdout)["items"]] == ["succeeded"]
    assert processes_of(tmp_path / "data") == []
