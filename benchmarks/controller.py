"""What the controller costs while nothing happens: `python -m benchmarks.controller`.

The real program, on an embedded Postgres and Redis: without a job, and with a queue of jobs that wait for a machine. CPU seconds of
the controller and of Postgres, of each second and of each pass.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import psutil
from sqlalchemy import text

from backend.scheduler.controller import Controller
from benchmarks import common, storing
from benchmarks.rows import insert_jobs

_SETTLED_AFTER = 3.0
"""Seconds after its start in which it makes its connections and first tells each job why it waits."""


@contextmanager
def _controller(at: storing.Place) -> Iterator[int]:
    command = [sys.executable, "-m", "backend", "controller"]
    program = subprocess.Popen(command, env=storing.environment(at.settings), stdout=subprocess.PIPE, text=True)
    try:
        assert program.stdout is not None, "it is a pipe"
        assert "the controller runs" in program.stdout.readline(), "it did not start"
        time.sleep(_SETTLED_AFTER)
        yield program.pid
    finally:
        program.terminate()
        program.wait(30)


def measure_program(at: storing.Place, seconds: float) -> dict[str, float]:
    """Shares of a core."""
    assert at.postgres.child.pid is not None, "it was started"
    with _controller(at) as pid:
        postgres = psutil.Process(at.postgres.child.pid).children(recursive=True)
        before = common.cpu([pid]), _cpu_of(postgres)
        time.sleep(seconds)
        return {"controller": (common.cpu([pid]) - before[0]) / seconds, "postgres": (_cpu_of(postgres) - before[1]) / seconds}


def _cpu_of(processes: Sequence[psutil.Process]) -> float:
    """Seconds, in steps of 10 ms: they run as another user, whose clocks nobody else reads."""
    return sum(sum(each.cpu_times()[:2]) for each in processes if each.is_running())


def measure_passes(at: storing.Place, passes: int) -> dict[str, float]:
    """CPU milliseconds of a pass in this process; the first, which tells each job why it waits, is not counted."""
    controller = Controller(at.platform)
    controller.run_once()
    taken = []
    for _ in range(passes):
        began = time.process_time()
        controller.run_once()
        taken.append(time.process_time() - began)
    controller.close()
    return common.spread(taken, 1000)


def run(jobs: int, seconds: float, passes: int) -> dict[str, Any]:
    with storing.place() as at:
        idle = {"program": measure_program(at, seconds), "pass_ms": measure_passes(at, passes)}
        with at.platform.database.transaction() as session:
            insert_jobs(session, jobs, statuses=("queued",))
            session.execute(text("UPDATE jobs SET attempt = 0"))
        queue = {"pass_ms": measure_passes(at, passes), "program": measure_program(at, seconds)}
    return {**common.about(jobs=jobs, seconds=seconds, passes=passes), "idle": idle, "queue": queue}


def document(result: dict[str, Any]) -> list[str]:
    jobs = result["settings"]["jobs"]
    rows = [
        (
            name,
            f"{100 * found['program']['controller']:.1f} %",
            f"{100 * found['program']['postgres']:.1f} %",
            common.said(found["pass_ms"], 1),
        )
        for name, found in (("no job", result["idle"]), (f"{jobs:,} jobs wait", result["queue"]))
    ]
    header = ("", "controller, of a core", "Postgres, of a core", "a pass, CPU ms")
    return ["# The controller at rest", "", *common.head(result), *common.table(header, rows)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=4000)
    parser.add_argument("--seconds", type=float, default=20.0, help="for which the program is watched")
    parser.add_argument("--passes", type=int, default=20)
    parser.add_argument("--json", action="store_true", help="one object on stdout")
    options = parser.parse_args()
    result = run(options.jobs, options.seconds, options.passes)
    print(json.dumps(result) if options.json else "\n".join(document(result)))
    return 0


if __name__ == "__main__":
    raise SystemExit(common.interruptible(main))
