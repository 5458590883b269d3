"""The sandbox of each job process of this node: what it sees, and what it may write to."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError
from pathlib import Path

from gradstream.center.tables import kernel_cache
from gradstream.process.order import ProcessOrder
from gradstream.sandbox.probe import Lacking
from gradstream.sandbox.sandbox import Isolation, Level, Network, Sandbox
from worker_agent.isolation.doors import Doors
from worker_agent.settings import AgentSettings


class Sandboxes:
    def __init__(self, settings: AgentSettings, isolation: Isolation, owner: str) -> None:
        self.isolation = isolation
        hidden = (settings.work_dir, settings.join_token_file, *settings.hidden)
        self._hidden = tuple(sorted({str(path.resolve()) for path in hidden if path}))
        self._writable = tuple(str(path.resolve()) for path in settings.writable)
        self._doors = Doors(owner) if isolation.level is not Level.NONE else None

    @property
    def protects_code(self) -> bool:
        """True if no job can change the code of another one."""
        return self.isolation.level is Level.NAMESPACE

    def open(self, order: ProcessOrder, code: Path | None) -> Sandbox | None:
        """The sandbox for a process; None: it runs as the agent. `close` ends what belongs to it.

        Raises: Lacking: the job asks for what this node does not offer; OSError."""
        asked = (self.isolation.network, Network(order.spec.network))
        network = Network.PLATFORM if Network.PLATFORM in asked else Network.INTERNET
        if network is Network.PLATFORM and self.isolation.level is not Level.NAMESPACE:
            raise Lacking(
                "no network but the platform's was asked for, which takes the isolation 'namespace', and this node has "
                f"'{self.isolation.level}'. {self.isolation.note}".strip()
            )
        if self.isolation.level is Level.NONE:
            return None
        shared = [order.shared.folder] if order.shared else []
        return Sandbox(
            self.isolation.level,
            account=self.isolation.account,
            network=network,
            hidden=self._hidden,
            readable=(*((str(code.resolve()),) if code else ()), *self._kernels()),
            writable=(*self._writable, *shared),
            door=self._doors.open(order) if self._doors else None,
        )

    def close(self, order: ProcessOrder) -> None:
        """Its process has ended. Harmless twice."""
        if self._doors:
            self._doors.close(order.id)

    def close_all(self) -> None:
        if self._doors:
            self._doors.close_all()

    def _kernels(self) -> tuple[str, ...]:
        """The kernels of embedding tables, if they are compiled."""
        try:
            return (str(kernel_cache.shared_folder().resolve()),) if kernel_cache.is_complete() else ()
        except PackageNotFoundError:
            return ()
