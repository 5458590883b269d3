"""Output of processes, shipped to the control plane beside the heartbeat, which waits for none of it.

Each turn takes one chunk of each process, so that one that prints much delays no other's output. The rest of an ended process's
output follows its exit, also when the control plane has taken note of that."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Iterable

import structlog

from gradstream.errors import GradstreamError, NotFound
from gradstream.programs.log_limit import LogLimit
from worker_agent.api import ControlPlane
from worker_agent.folders import remove_folder
from worker_agent.processes import AgentProcess

log = structlog.get_logger(__name__)

POLL_INTERVAL = 0.25
"""Seconds between turns while nothing is left of ended processes."""
LINGER = 120.0
"""Seconds for which output of a forgotten process is still shipped; it is 64 MiB at most."""
_RETRY_INTERVAL = 2.0
"""Seconds after the control plane did not answer."""


class Shipping:
    def __init__(self, api: ControlPlane, processes: Iterable[AgentProcess], *, on_complete: Callable[[], None]) -> None:
        """`on_complete`: all output of an ended process is stored."""
        self._api, self._processes, self._on_complete = api, processes, on_complete
        self._left: list[tuple[AgentProcess, float]] = []
        """Forgotten processes, and until when their output is shipped, on the monotonic clock."""
        self._wake = asyncio.Event()
        self._limit = LogLimit()
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        self._tasks = [asyncio.create_task(self._repeat(work)) for work in (self._ship_all, self._bound_all)]
        """One beside the other: while the control plane does not answer, the disk still fills."""

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def wake(self) -> None:
        """A process has ended."""
        self._wake.set()

    def forget(self, process: AgentProcess) -> None:
        """The control plane has taken note of its end: its folder goes when its output is stored, or cannot be."""
        self._left.append((process, time.monotonic() + LINGER))
        self._tidy()

    async def ship_rest(self, within: float) -> None:
        """Ship the rest of all processes' output, as far as it can be stored in time. Call it after `stop`."""
        try:
            async with asyncio.timeout(within):
                while self._api.registered and await self._turn(self._everyone()):
                    pass
        except (GradstreamError, TimeoutError) as error:
            log.info("the last output is not stored", why=str(error))

    async def _repeat(self, work: Callable[[], Awaitable[float]]) -> None:
        """For ever: no output, and no file of user code, may end this."""
        while True:
            try:
                pause = await work()
            except GradstreamError:
                pause = _RETRY_INTERVAL  # the heartbeat says so, and registers again if need be
            except Exception as error:
                await asyncio.sleep(pause := POLL_INTERVAL)
                if self._limit.take(type(error).__name__) is not None:
                    log.error("output could not be shipped or bounded; the next turn follows", exc_info=error)
            await self._wait(pause)

    async def _wait(self, pause: float) -> None:
        try:
            await asyncio.wait_for(self._wake.wait(), pause)
        except TimeoutError:
            pass  # the next turn

    async def _ship_all(self) -> float:
        """A turn, and more of what ended processes have left until the next one is due. Returns the pause until then."""
        self._wake.clear()
        if not self._api.registered:
            return POLL_INTERVAL
        next_turn = time.monotonic() + POLL_INTERVAL
        await self._turn(self._everyone())
        while time.monotonic() < next_turn and await self._turn([each for each in self._everyone() if _ended(each)]):
            pass
        self._tidy()
        return max(0.0, next_turn - time.monotonic())

    async def _turn(self, processes: Iterable[AgentProcess]) -> bool:
        """Ship one chunk of each; return whether there was any. A refused chunk of one process delays no other."""
        shipped = False
        for process in processes:
            shipped |= await self._ship_chunk(process)
        return shipped

    async def _ship_chunk(self, process: AgentProcess) -> bool:
        tail, ended = process.tail, _ended(process)
        chunk = tail.next(ended=ended)
        if chunk is None:
            return False
        try:
            reached = await self._api.post_log(process.order.id, chunk)
        except NotFound:
            tail.unwanted = True
        else:
            if ended and reached <= tail.offset:
                log.warning("the control plane refuses output of a process", process=str(process.order.id), offset=chunk.offset)
                tail.unwanted = True
            tail.offset = reached
        if ended and tail.complete:
            self._on_complete()
        return True

    async def _bound_all(self) -> float:
        for process in self._everyone():
            process.tail.bound()
        await asyncio.sleep(POLL_INTERVAL)
        return 0.0

    def _everyone(self) -> list[AgentProcess]:
        return [*self._processes, *(process for process, _ in self._left)]

    def _tidy(self) -> None:
        for process, until in [*self._left]:
            if not process.tail.complete and time.monotonic() < until:
                continue
            if not process.tail.complete:
                log.warning("the last output of a process is given up", process=str(process.order.id), label=process.order.label)
            self._left.remove((process, until))
            threading.Thread(target=remove_folder, args=(process.folder,), name="removal", daemon=True).start()


def _ended(process: AgentProcess) -> bool:
    return process.state == "exited"
