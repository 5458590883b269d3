"""`python -m tests.userland.look_around LEVEL FOLDER`: enter a sandbox as a job process does, and print its findings as JSON.

FOLDER: a data folder that is hidden, with `code`, `own` and `secret` in it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from gradstream.sandbox.accounts import lease_account
from gradstream.sandbox.enter import enter
from gradstream.sandbox.pids import end_first, new_process_namespace
from gradstream.sandbox.sandbox import Level, Sandbox


def tried(what: Callable[[], object]) -> str:
    try:
        return str(what())
    except OSError as error:
        return type(error).__name__


def look(data: Path, own: Path) -> dict[str, str]:
    return {
        "own folder": tried(lambda: (own / "written").write_text("whole")),
        "temporary folder": tried(lambda: Path("/tmp/written").write_text("whole")),
        "code": tried((data / "code" / "body.py").read_text),
        "changes code": tried(lambda: (data / "code" / "body.py").write_text("changed")),
        "secret": tried((data / "secret").read_text),
        "processes": str(len([name for name in os.listdir("/proc") if name.isdigit()])),
        "capabilities": next(line.split()[1] for line in Path("/proc/self/status").read_text().splitlines() if "CapEff" in line),
    }


def main(level: Level, data: Path) -> None:
    own, account = data / "own", lease_account()
    sandbox = Sandbox(level, account=True, hidden=(str(data),), readable=(str(data / "code"),))
    with ExitStack() as stack:
        stack.callback(account.free)
        if level is Level.NAMESPACE:
            stack.callback(end_first, stack.enter_context(new_process_namespace()))
        readable, writable = os.pipe()
        if not (child := os.fork()):
            try:
                enter(sandbox, own, account.uid)
                os.write(writable, json.dumps(look(data, own)).encode())
            finally:
                os._exit(0)
        os.close(writable)
        sys.stdout.write(os.fdopen(readable).read())
        os.waitpid(child, 0)


if __name__ == "__main__":
    main(Level(sys.argv[1]), Path(sys.argv[2]))
