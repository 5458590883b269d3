"""A whole platform for the tests of its clients, started once."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gradstream import jobfile
from gradstream.cli.main import app
from gradstream.client import Client, Credentials, Job
from gradstream.local.platform import LocalPlatform, Options
from tests.integration.cli.shared import COMMAND, LINE, Gradstream, free_port
from tests.platforms import writable_beside
from tests.support import JOB_TIMEOUT


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Those that need the platform run in one process, since each process would start one of its own (10 s of CPU time)."""
    for item in items:
        if item.path.parent == Path(__file__).parent and "platform" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("cli"))


@pytest.fixture(scope="session")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalPlatform]:
    folder = tmp_path_factory.mktemp("platform")
    with LocalPlatform(Options(data_dir=folder, port=free_port(), slots=8, isolate=writable_beside(folder))) as running:
        yield running


@pytest.fixture(scope="session")
def credentials(platform: LocalPlatform) -> Credentials:
    found = Credentials.load(platform.folder.client_file)
    assert found
    return found


@pytest.fixture
def client(credentials: Credentials) -> Iterator[Client]:
    with Client(credentials, timeout=60) as made:
        yield made


@pytest.fixture
def submit(client: Client) -> Iterator[Callable[..., Job]]:
    """Submits the line example with some overrides, and stops the job at the end of the test."""
    made: list[Job] = []

    def one(*overrides: str, **options: str) -> Job:
        made.append(client.submit(jobfile.load(LINE / "job.yaml", overrides), code=LINE, **options))
        return made[-1]

    yield one
    for job in made:
        client.stop(job.id)
    for job in made:
        client.wait(job.id, timeout=JOB_TIMEOUT)


@pytest.fixture(scope="session")
def succeeded(credentials: Credentials) -> Job:
    """A job that has run to its end."""
    with Client(credentials) as client:
        job = client.submit(jobfile.load(LINE / "job.yaml", ["name=succeeded"]), code=LINE)
        return client.wait(job.id, timeout=JOB_TIMEOUT)


@pytest.fixture(scope="session")
def environment(platform: LocalPlatform, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Of a user at the machine of the platform."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("GRADSTREAM_")}
    config = str(tmp_path_factory.mktemp("config"))
    return {**inherited, "GRADSTREAM_DATA_DIR": str(platform.folder.path), "GRADSTREAM_CONFIG_DIR": config, "NO_COLOR": "1"}


OWN_PROCESS = {"train", "run", "advise", "sim"}
"""Commands that train in their process, or import torch."""


@pytest.fixture
def gradstream(environment: dict[str, str], tmp_path: Path) -> Gradstream:
    """Runs the command in an empty folder and returns how it ended. Most run in this process, which saves 1 s."""
    only = {**dict.fromkeys(os.environ), **environment}

    def run(*args: str | Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
        words = [*map(str, args)]
        if words[0] in OWN_PROCESS:
            command = [*COMMAND, *words]
            return subprocess.run(command, cwd=tmp_path, env=environment, input=stdin, capture_output=True, text=True, timeout=120)
        with contextlib.chdir(tmp_path):
            done = CliRunner().invoke(app, words, input=stdin, env=only, prog_name="gradstream")
        if done.exception and not isinstance(done.exception, SystemExit):
            raise done.exception
        return subprocess.CompletedProcess(words, done.exit_code, done.stdout, done.stderr)

    return run
