"""The command line starts fast: what only some commands need is imported by those."""

from __future__ import annotations

import subprocess
import sys

import pytest

from gradstream.cli.main import COMMANDS

HEAVY = ("torch", "numpy", "sqlalchemy", "fastapi", "celery", "psycopg", "redis", "sklearn", "pyarrow")


def modules_after(*args: str) -> set[str]:
    """The modules that a fresh process has imported once the command has run."""
    script = (
        "import sys\n"
        "from gradstream.cli.main import app\n"
        "try: app(sys.argv[1:])\n"
        "except SystemExit as end: assert not end.code, end.code\n"
        "sys.stderr.write('\\n'.join(['MODULES', *sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", script, *args], capture_output=True, text=True, timeout=60, check=True)
    return set(done.stderr.partition("MODULES\n")[2].splitlines())


@pytest.mark.parametrize("args", [["--help"], ["--version"], ["schema"], ["strategies"], *([name, "--help"] for name in COMMANDS)])
def test_commands_that_do_not_train_import_nothing_heavy(args: list[str]) -> None:
    assert modules_after(*args).isdisjoint({*HEAVY, "httpx"})
