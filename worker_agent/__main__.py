"""python -m worker_agent: the agent of this machine. It takes no arguments; `--help` lists its settings, GRADSTREAM_*."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable

import structlog

from gradstream.process.machine import REMOVED_EXIT_CODE
from gradstream.programs import jsonlog
from gradstream.sandbox.probe import Lacking, find_isolation
from gradstream.sandbox.sandbox import Isolation
from worker_agent.agent import Agent
from worker_agent.arguments import read_settings
from worker_agent.consumer import Consumer
from worker_agent.machine.mps import Mps
from worker_agent.settings import AgentSettings

log = structlog.get_logger(__name__)

_STOP_BOUND = 15.0
_QUIET = ("httpx", "httpcore", "kombu", "celery.worker.strategy", "celery.app.trace")


class Supervisor(threading.Thread):
    """Runs the agent's loop beside Celery, which wants the main thread. Job processes die with this thread."""

    def __init__(self, settings: AgentSettings, isolation: Isolation, mps: Mps | None) -> None:
        super().__init__(name="supervisor", daemon=True)
        self._consumer = Consumer(settings, lambda: self._call(self._agent.wake))
        self._agent = Agent(settings, isolation, self._consumer.open, mps=mps)
        self._loop = asyncio.new_event_loop()
        self._failed = False

    def run(self) -> None:
        try:
            with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
                runner.run(self._agent.run())
        except Exception:
            self._failed = True
            log.exception("the agent's loop failed")
        finally:
            self._consumer.stop()

    def serve(self) -> int:
        """Until a signal or a failure. Returns the exit code."""
        self.start()
        self._consumer.run()
        self._call(self._agent.stop)
        self.join(_STOP_BOUND)
        if self.is_alive():
            log.error("the agent's loop did not end", within=_STOP_BOUND)
        return REMOVED_EXIT_CODE if self._agent.removed else int(self._failed or self.is_alive())

    def _call(self, function: Callable[[], None]) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(function)


def main(arguments: list[str] | None = None) -> int:
    settings = read_settings(sys.argv[1:] if arguments is None else arguments)
    jsonlog.configure(sys.stderr, quiet=_QUIET)
    try:
        isolation = find_isolation(settings.isolation, settings.network, settings.work_dir / "processes", settings.writable)
        mps = Mps(settings.work_dir, isolation) if settings.mps else None
    except Lacking as error:
        log.error(str(error))
        return 2
    log.info(isolation.sentence)
    return Supervisor(settings, isolation, mps).serve()


if __name__ == "__main__":
    sys.exit(main())
