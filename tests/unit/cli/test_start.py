"""The command line starts fast: what only some commands need is imported by those."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from gradstream.cli.main import COMMANDS

HEAVY = ("torch", "numpy", "sqlalchemy", "fastapi", "celery", "psycopg", "redis", "sklearn", "pyarrow", "httpx")
ARGUMENTS = [["--help"], ["--version"], ["schema"], ["strategies"], *([name, "--help"] for name in COMMANDS)]

EACH_IN_A_FORK = """
import json, os, sys
from gradstream.cli.main import app

lists, heavy = json.loads(sys.argv[1])
for arguments in lists:
    read, write = os.pipe()
    if pid := os.fork():
        os.close(write)
        with open(read) as pipe:
            print(json.dumps([arguments, pipe.read().split(), os.waitpid(pid, 0)[1]]), flush=True)
        continue
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    try:
        app(arguments)
    except SystemExit as end:
        os.write(write, " ".join(name for name in heavy if name in sys.modules).encode())
        os._exit(end.code or 0)
    os._exit(99)
"""


@pytest.fixture(scope="module")
def runs() -> dict[tuple[str, ...], tuple[list[str], int]]:
    """For each list of arguments the heavy modules that its process has imported at its end, and its wait status."""
    given = json.dumps([ARGUMENTS, HEAVY])
    done = subprocess.run([sys.executable, "-c", EACH_IN_A_FORK, given], capture_output=True, text=True, timeout=240, check=True)
    return {tuple(arguments): (imported, status) for arguments, imported, status in map(json.loads, done.stdout.splitlines())}


@pytest.mark.few(5)
@pytest.mark.parametrize("arguments", ARGUMENTS)
def test_commands_that_do_not_train_import_nothing_heavy(
    arguments: list[str], runs: dict[tuple[str, ...], tuple[list[str], int]]
) -> None:
    assert runs[tuple(arguments)] == ([], 0)
