"""The agent's own loop: it tells the control plane what runs here, hears what should, and makes it so.

    every beat:   heartbeat (all processes, exits)  ->  desired set  ->  start, kill, forget
    beside it:    output (`shipping`)

The agent reports an exit as soon as the last of its output is stored, or has had its time. While the control plane is away
everything goes on.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable
from uuid import UUID

import structlog

from gradstream.errors import GradstreamError, NodeRemoved, NotSignedIn
from gradstream.process.exits import Exit, ExitReason
from gradstream.process.machine import forget_credential
from gradstream.process.order import ProcessOrder
from gradstream.process.shared import SharedFolders
from gradstream.process.watchdogs.start import read_hang
from gradstream.process.zygote import orphans
from gradstream.process.zygote.zygote import PRELOAD, Zygote
from gradstream.sandbox.sandbox import Isolation
from worker_agent import aside, leave, reconcile
from worker_agent.api import ControlPlane, ProcessReport
from worker_agent.bundles import Bundles
from worker_agent.consumer import NodeQueue
from worker_agent.desired import Desired, reached_here
from worker_agent.isolation.sandboxes import Sandboxes
from worker_agent.machine import gpus
from worker_agent.machine.gpus import Gpu
from worker_agent.machine.kernels import KernelCompiler
from worker_agent.machine.mps import Mps
from worker_agent.machine.rotation import Rotation
from worker_agent.machine.usage import Measuring, Usage
from worker_agent.output.shipping import Shipping
from worker_agent.processes import AgentProcess, ProcessTable
from worker_agent.reconcile import State
from worker_agent.settings import AgentSettings

log = structlog.get_logger(__name__)

POLL_INTERVAL = 0.25
"""Seconds between looks at whether there is something to say."""
TAIL_BOUND = 1.5
"""An exit waits this long for its output to be stored; what is left then follows it."""
_SOON = 0.02
_MAX_POLL_INTERVAL = 2.0
"""Seconds, while the control plane is away."""
_GOODBYE = 3.0


class Agent:
    def __init__(
        self,
        settings: AgentSettings,
        isolation: Isolation,
        on_mailbox: Callable[[NodeQueue], None],
        zygote: Zygote | None = None,
        mps: Mps | None = None,
    ) -> None:
        self._settings, self._isolation, self._on_mailbox, self._mps = settings, isolation, on_mailbox, mps
        self._api = ControlPlane(settings)
        self._rotation = Rotation(self._api, settings.work_dir)
        self._mailbox: NodeQueue | None = None
        preload = (*PRELOAD, *(f"?{name}" for name in settings.preload))
        owner = orphans.owner_of(settings.work_dir)
        sandboxes = Sandboxes(settings, isolation, owner)
        bundles = Bundles(
            settings.work_dir / "bundles", self._api.bundle, verify=not sandboxes.protects_code, for_accounts=isolation.account
        )
        self._kernels = KernelCompiler()
        zygote = zygote or Zygote(preload=preload, owner=owner, isolation=isolation)
        self._processes = ProcessTable(
            settings.work_dir / "processes",
            zygote,
            bundles,
            owner=owner,
            on_exit=_leave,
            sandboxes=sandboxes,
            kernels=self._kernels,
        )
        self._shipping = Shipping(self._api, self._processes, on_complete=self._processes.changed.set)
        self._shared = SharedFolders(settings.shared_memory, for_accounts=isolation.account)
        self._measuring = Measuring()
        self._gpus: asyncio.Future[list[Gpu]] | None = None
        self._gpus_until = 0.0
        self._beat_every, self._next_beat = 2.0, 0.0
        self._away_since: float | None = None
        self._heard_since = 0.0
        """Since when the control plane has answered without a break, on the monotonic clock; infinity while it does not."""
        self._was_there = False
        self._unknown = ""
        """Why the control plane does not know this node."""
        self._refused = dict[UUID, str]()
        """Why orders that were never begun here cannot be carried out."""
        self._stopping = asyncio.Event()
        self.removed = False
        """A user has removed this node from the platform. `run` has returned, or is about to."""

    async def run(self) -> None:
        """Until `stop`, or until a user removes this node. Then everything is ended and, if possible, reported."""
        self._gpus, self._gpus_until = aside.begin(gpus.inventory, "gpus"), time.monotonic() + self._settings.gpus_within
        self._processes.open()
        self._measuring.start()
        self._kernels.start()
        self._shipping.start()
        pause = POLL_INTERVAL
        try:
            while not self._stopping.is_set():
                try:
                    await self._beat()
                except NodeRemoved as error:
                    self.removed = True
                    forget_credential(self._settings.work_dir)
                    log.error("this node was removed; its processes end", why=error.message, processes=len(self._processes.live))
                    break
                except GradstreamError as error:
                    self._note_away(error)
                    pause = min(pause * 2, _MAX_POLL_INTERVAL) if self._was_there else POLL_INTERVAL
                except Exception:  # whatever one message does here, the processes of the others go on
                    log.exception("a turn of the agent failed; the next one follows")
                    pause = _MAX_POLL_INTERVAL
                else:
                    self._note_back()
                    pause = _SOON if any(_untold(process) for process in self._processes) else POLL_INTERVAL
                await self._wait(pause)
        finally:
            await self._close()

    def wake(self) -> None:
        """There is news at the control plane: ask now. From the loop's thread."""
        self._next_beat = 0.0
        self._processes.changed.set()

    def stop(self) -> None:
        """From the loop's thread."""
        self._stopping.set()
        self._processes.changed.set()

    async def _beat(self) -> None:
        if not self._api.registered:
            if (found := await self._inventory()) is None:
                return
            registration = await self._api.register(found, self._isolation)
            self._beat_every = registration.heartbeat_every
            if self._mps:
                self._mps.start(found)
            self._open(registration.mailbox)
            self._next_beat = 0.0
            log.info("registered", node=self._settings.node_name, slots=self._settings.slots, isolation=self._isolation.level)
        if self._processes.changed.is_set():
            self._shipping.wake()
        urgent = self._processes.changed.is_set() or any(
            _untold(process) and self._tellable(process) for process in self._processes
        )
        if urgent or time.monotonic() >= self._next_beat:
            await self._report()

    async def _inventory(self) -> list[Gpu] | None:
        """The machine's GPUs; None: not known yet, ask again."""
        assert self._gpus
        done, _ = await asyncio.wait({self._gpus}, timeout=POLL_INTERVAL)
        if done and not (error := self._gpus.exception()):
            return self._gpus.result()
        if not done and time.monotonic() < self._gpus_until:
            return None
        why = repr(error) if done else f"their driver has not answered for {self._settings.gpus_within:g} s"
        log.warning("this node is used without its GPUs; start its agent again when `nvidia-smi` answers", why=why)
        return []

    async def _report(self) -> None:
        self._processes.changed.clear()
        self._next_beat = time.monotonic() + self._beat_every
        usage = self._measuring.take(self._processes)
        reports = [self._report_of(process, usage.get(process.order.id)) for process in self._processes]
        ours = {report.id for report in reports}
        refused = [ProcessReport(id, "exited", None, _refusal(why), 0, None) for id, why in self._refused.items()]
        try:
            answer = await self._api.heartbeat([*reports, *refused])
        except GradstreamError:
            self._next_beat = 0.0
            raise
        self._beat_every = answer.heartbeat_every
        self._processes.told(report.id for report in reports if report.exit)
        self._apply(answer, reports)
        self._refuse({id: why for id, why in answer.refused.items() if id not in ours})
        if self._mailbox:
            self._open(await self._rotation.step(self._mailbox, asked=answer.rotate))

    def _open(self, mailbox: NodeQueue) -> None:
        if mailbox != self._mailbox:
            self._mailbox = mailbox
            self._on_mailbox(mailbox)

    def _report_of(self, process: AgentProcess, usage: Usage | None) -> ProcessReport:
        state, exit = process.state, process.exit
        if state == "exited" and not self._tellable(process):
            state, exit = "running", None
        hang = read_hang(process.folder) if state == "running" and process.order.role != "server" else None
        return ProcessReport(process.order.id, state, process.pid, exit, process.tail.offset, usage, hang)

    def _tellable(self, process: AgentProcess) -> bool:
        """Return whether its end may be reported: its output is stored, or has had its time."""
        return process.tail.complete or time.monotonic() - max(process.ended_at, self._heard_since) > TAIL_BOUND

    def _refuse(self, refused: dict[UUID, str]) -> None:
        for id in refused.keys() - self._refused.keys():
            log.error("an order cannot be carried out", process=str(id), why=refused[id])
            self._next_beat = 0.0  # tell it at once
        self._refused = refused

    def _apply(self, answer: Desired, reports: list[ProcessReport]) -> None:
        """Compare what is desired with what was just reported: an end that was not reported yet is not forgotten."""
        orders = {order.id: reached_here(order, self._settings) for order in answer.orders}
        known: dict[UUID, State] = {report.id: report.state for report in reports}
        todo = reconcile.steps(orders.keys() | (answer.refused.keys() & known.keys()), known)
        for id in todo.forget:
            self._shipping.forget(self._processes.forget(id))
        for id in todo.kill:
            self._processes.kill(id)
        for order in sorted((orders[id] for id in todo.start), key=_servers_first):
            told = self._shared.told(order, orders.values())
            self._processes.start(self._mps.told(told) if self._mps else told)
        used = (*orders.values(), *(process.order for process in self._processes.live))
        self._shared.keep({order.plane_id for order in used})

    async def _wait(self, pause: float) -> None:
        try:
            await asyncio.wait_for(self._processes.changed.wait(), pause)
        except TimeoutError:
            pass  # time to look again

    def _note_away(self, error: GradstreamError) -> None:
        self._processes.changed.clear()  # else the wait before the next try would be none
        self._heard_since = math.inf
        if isinstance(error, NotSignedIn):
            if str(error) != self._unknown:
                log.warning("the control plane does not know this node; registering again", why=str(error))
            self._unknown = str(error)
        elif self._away_since is None:
            self._away_since = time.monotonic()
            log.warning(
                "the control plane is away; running processes continue", why=str(error), processes=len(self._processes.live)
            )

    def _note_back(self) -> None:
        self._was_there, self._unknown = True, ""
        if math.isinf(self._heard_since):
            self._heard_since = time.monotonic()
            self._shipping.wake()
        if self._away_since is not None:
            log.info("the control plane is back", after=round(time.monotonic() - self._away_since, 1))
            self._away_since = None

    async def _close(self) -> None:
        self._measuring.close()
        self._kernels.close()
        await self._processes.close()
        if self._mps:
            await asyncio.to_thread(self._mps.close)
        await self._shipping.stop()
        await self._shipping.ship_rest(TAIL_BOUND)
        self._shared.close()
        if self.removed:
            await self._api.close()
            return
        try:
            async with asyncio.timeout(_GOODBYE):
                await self._beat()
        except (GradstreamError, TimeoutError) as error:
            log.info("ended without a last report", why=str(error))
        await self._api.close()


async def _leave(process: AgentProcess) -> None:
    """Tell the attempt's other processes, so that no gate waits for this one."""
    if process.order.role in ("worker", "evaluator") and process.exit:
        await leave.post(process.order, process.exit.reason)


def _untold(process: AgentProcess) -> bool:
    return process.state == "exited" and not process.told


def _refusal(why: str) -> Exit:
    return Exit(reason=ExitReason.CANNOT_START, message=why, code=1)


def _servers_first(order: ProcessOrder) -> tuple[bool, int]:
    """Workers find their shards sooner."""
    return (order.role != "server", order.rank)
