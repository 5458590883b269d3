"""The job processes of this node: from an order to a folder, a fork, an exit, and an empty place again."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import structlog

from gradstream.errors import GradstreamError, InvalidBundle, NotFound, NotSignedIn
from gradstream.process import exits
from gradstream.process.exits import Exit, ExitReason
from gradstream.process.order import ProcessOrder
from gradstream.process.zygote import orphans
from gradstream.process.zygote.zygote import Event, Exited, Refused, Started, Zygote
from gradstream.sandbox.probe import Lacking
from worker_agent.bundles import Bundles
from worker_agent.folders import remove_folder
from worker_agent.isolation.sandboxes import Sandboxes
from worker_agent.machine.kernels import KernelCompiler
from worker_agent.output.logs import Tail
from worker_agent.reconcile import State

log = structlog.get_logger(__name__)

GRACE_PERIOD = 5.0
"""Seconds between SIGTERM and SIGKILL."""
_FETCH_RETRY_INTERVAL = 1.0
_POLL_INTERVAL = 0.05
"""Seconds."""


@dataclass(slots=True)
class AgentProcess:
    order: ProcessOrder
    folder: Path
    tail: Tail
    state: State = "starting"
    forked: bool = False
    pid: int | None = None
    exit: Exit | None = None
    ended_at: float = 0.0
    """On the monotonic clock."""
    killed_at: float | None = None
    """When it was asked to end."""
    told: bool = False
    """The control plane knows of its end."""


class ProcessTable:
    """Everything here runs in the event loop's thread, which the zygote's death signal is tied to."""

    def __init__(
        self,
        folder: Path,
        zygote: Zygote,
        bundles: Bundles,
        *,
        owner: str,
        on_exit: Callable[[AgentProcess], Coroutine[Any, Any, None]],
        sandboxes: Sandboxes,
        kernels: KernelCompiler,
    ) -> None:
        """`owner`: of the zygote's processes, see `orphans`."""
        self._sandboxes, self._kernels = sandboxes, kernels
        self._folder, self._zygote, self._bundles, self._on_exit = folder, zygote, bundles, on_exit
        self._owner = owner
        self._table: dict[UUID, AgentProcess] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self.changed = asyncio.Event()
        """Something started or ended since this was last cleared."""
        self._closing = False

    def __iter__(self) -> Iterator[AgentProcess]:
        return iter(list(self._table.values()))

    @property
    def live(self) -> list[AgentProcess]:
        return [process for process in self._table.values() if process.state != "exited"]

    def open(self) -> None:
        """Clean what a former agent left, and warm up a zygote. The processes of a former agent died with it, unless its zygote and
        that one's guard were killed together with it: then they end now."""
        if left := orphans.end_owned(self._owner):
            log.warning("ended what a former agent had left running", processes=left)
        remove_folder(self._folder)
        self._folder.mkdir(parents=True, exist_ok=True)
        self._folder.chmod(0o711)  # an account of a process finds its own folder there, and cannot list the others
        self._bundles.clean()
        self._warm_up()

    def start(self, order: ProcessOrder) -> None:
        folder = self._folder / str(order.id)
        process = self._table[order.id] = AgentProcess(order, folder, Tail(folder / "log"))
        log.info("starting", process=str(order.id), label=order.label, job=str(order.job_id))
        self._later(self._fetch_and_fork(process))

    def kill(self, id: UUID) -> None:
        """Ask it to end, and see to it that it does. Harmless when it has ended or is ending."""
        process = self._table[id]
        if process.state == "exited" or process.killed_at is not None:
            return
        process.killed_at = time.monotonic()
        if not process.forked:
            self._ended(process, Exit(reason=ExitReason.KILLED, message="no longer wanted before it had started"))
            return
        log.info("ending", process=str(id), label=process.order.label)
        self._zygote.signal(id, signal.SIGTERM)
        self._later(self._kill_after_grace(process))

    def told(self, ids: Iterable[UUID]) -> None:
        """Note that the control plane has received the exits of these."""
        for id in ids:
            self._table[id].told = True

    def forget(self, id: UUID) -> AgentProcess:
        """Its folder is the caller's to remove."""
        return self._table.pop(id)

    async def close(self) -> None:
        """End everything, within the grace time."""
        self._closing = True
        for process in self.live:
            self.kill(process.order.id)
        deadline = time.monotonic() + GRACE_PERIOD + 1
        while self.live and time.monotonic() < deadline:
            await asyncio.sleep(0.02)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._unwatch()
        await asyncio.to_thread(self._zygote.close)
        self._sandboxes.close_all()

    async def _fetch_and_fork(self, process: AgentProcess) -> None:
        sandbox = None
        try:
            process.folder.mkdir(mode=0o700)
            code = await self._code(process) if process.order.bundle is not None else None
            if code:
                (process.folder / "code").symlink_to(code)
                self._later(self._bundles.drop_unused({str(each.order.bundle) for each in self._table.values()}))
            await self._wait_for_kernels(process)
            if process.killed_at is not None:
                return
            sandbox = self._sandboxes.open(process.order, code)
        except OSError as error:
            self._ended(process, Exit(reason=ExitReason.NODE_UNFIT, message=f"its folder could not be made: {error}"))
        except Lacking as error:
            self._ended(process, Exit(reason=ExitReason.CANNOT_START, message=str(error)))
        except Exception as error:  # whatever an archive may be that nobody foresaw
            self._ended(process, Exit(reason=ExitReason.CANNOT_START, message=f"its code could not be unpacked: {error}"))
        while not self._zygote.alive:
            await asyncio.sleep(_POLL_INTERVAL)  # until its successor is there: 2 s at most
        if process.state == "exited" or process.killed_at is not None:
            return
        process.forked = True
        self._zygote.fork(process.order, process.folder, sandbox=sandbox)

    async def _code(self, process: AgentProcess) -> Path | None:
        """The folder with its user code, as soon as the API gives it; None when the process is no longer wanted."""
        assert process.order.bundle is not None
        while process.killed_at is None:
            try:
                return await self._bundles.folder_of(process.order.bundle)
            except (InvalidBundle, NotFound):
                raise
            except GradstreamError as error:  # the API is away, or wants us to register again: the heartbeat does
                log.warning("no user code yet", label=process.order.label, why=str(error), again=isinstance(error, NotSignedIn))
                await asyncio.sleep(_FETCH_RETRY_INTERVAL)
        return None

    async def _wait_for_kernels(self, process: AgentProcess) -> None:
        """Else each process of a job with tables compiles the same, while the job starts. Its log tells of the wait."""
        if not process.order.spec.tables or not self._kernels.busy:
            return
        _write_log(process, "waits for the kernels of embedding tables to be compiled, which happens once on a machine")
        follows = await self._kernels.wait()
        if process.killed_at is None:
            _write_log(process, f"waited for the kernels of embedding tables: {follows}")

    async def _kill_after_grace(self, process: AgentProcess) -> None:
        await asyncio.sleep(GRACE_PERIOD)
        if process.state != "exited":
            log.warning("still there after SIGTERM", process=str(process.order.id), label=process.order.label)
            self._zygote.signal(process.order.id, signal.SIGKILL)

    def _warm_up(self) -> None:
        self._zygote.start()
        asyncio.get_running_loop().add_reader(self._zygote.fileno(), self._hear)
        log.info("warming up")

    def _unwatch(self) -> None:
        if self._zygote.alive:
            asyncio.get_running_loop().remove_reader(self._zygote.fileno())

    def _hear(self) -> None:
        was_ready, fd = self._zygote.ready, self._zygote.fileno()
        for event in self._zygote.events(0):
            self._on_event(event)
        if self._zygote.ready and not was_ready:
            log.info("warm")
        if not self._zygote.alive:
            asyncio.get_running_loop().remove_reader(fd)
            log.error("the zygote died, and its processes with it")
            self._later(self._replace_zygote(pause=0.0 if was_ready else 2.0))

    async def _replace_zygote(self, pause: float) -> None:
        await asyncio.sleep(pause)
        self._warm_up()

    def _on_event(self, event: Event) -> None:
        process = self._table[event.id]
        match event:
            case Started(pid=pid):
                process.state, process.pid = "running", pid
                self.changed.set()
            case Refused(message=message):
                self._ended(process, Exit(reason=ExitReason.NODE_UNFIT, message=message))
            case Exited(code=code):
                self._ended(process, self._in_truth(exits.read(process.folder, code)))

    def _in_truth(self, exit: Exit) -> Exit:
        """A process that was killed because of us is not the job's fault, and costs it no retry."""
        why = "the agent of its node was stopped" if self._closing else "" if self._zygote.alive else "the zygote of its node died"
        return exit.model_copy(update={"reason": ExitReason.NODE_LOST, "message": why}) if why and exit.code < 0 else exit

    def _ended(self, process: AgentProcess, exit: Exit) -> None:
        process.state, process.exit, process.ended_at = "exited", exit, time.monotonic()
        self._sandboxes.close(process.order)
        log.info("ended", process=str(process.order.id), label=process.order.label, reason=exit.reason, code=exit.code)
        self.changed.set()
        if process.forked:
            self._later(self._on_exit(process))

    def _later(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._finished)

    def _finished(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()):
            log.error("a task of the agent failed", exc_info=error)


def _write_log(process: AgentProcess, sentence: str) -> None:
    """Before it has started, a line of the agent in its output. Raises: OSError."""
    log.info(sentence, process=str(process.order.id), label=process.order.label)
    with os.fdopen(os.open(process.tail.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "w", encoding="utf-8") as file:
        file.write(f"agent: {process.order.label} {sentence}\n")
