"""The options of a platform on one machine, and the words for how its start goes on. Light to import, for the command line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from gradstream.hostnames import LOOPBACK

STEPS = ("redis", "database", "tables", "controller", "api", "account", "node")
"""Steps of the start, in the order in which they usually end."""


class StepState(StrEnum):
    WORKING = "working"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class Isolate:
    """How this machine's agent separates jobs from the platform and from each other."""

    level: str = "auto"
    """A level of `gradstream.sandbox.sandbox.Level`, or the best that this machine offers."""
    network: str = "internet"
    """The most that jobs may reach: the platform only, or all that this machine reaches (`internet`)."""
    writable: tuple[Path, ...] = ()
    """Folders that jobs may write to, beside their own."""

    def settings(self) -> dict[str, object]:
        """For the agent."""
        writable = ",".join(str(path.resolve()) for path in self.writable)
        return {"ISOLATION": self.level, "NETWORK": self.network, **({"WRITABLE": writable} if writable else {})}


@dataclass(frozen=True, slots=True)
class Options:
    data_dir: Path
    host: str = "127.0.0.1"
    port: int = 8000
    join: bool | None = None
    """True if both Redis listen on `host`, too, so that other machines can join; None: unless `host` is a loopback address."""
    live_port: int | None = None
    plane_port: int | None = None
    """Ports of the two Redis then; None: the two ports after `port`."""
    allowed_hosts: tuple[str, ...] = ()
    """Further names under which browsers open the page."""
    slots: int | None = None
    """Workers that this machine takes at once; None: the agent's default."""
    user: str = "admin"
    plane_memory: str = "2gb"
    """Memory limit of the data plane's Redis, which refuses writes above it."""
    isolate: Isolate = Isolate()
    mps: bool = False
    """The agent runs MPS for processes that share a GPU."""

    @property
    def open_to_machines(self) -> bool:
        return self.host not in LOOPBACK if self.join is None else self.join

    def check_ports(self, refuse_if_taken: Callable[[str, int, str], None]) -> None:
        """Call it with the address of each port that is listened on, and the option that chooses it. Raises: what it raises."""
        refuse_if_taken(self.host, self.port, "--port")
        if self.open_to_machines:
            for port, option in zip(self.redis_ports, ("--live-port", "--plane-port"), strict=True):
                refuse_if_taken(self.host, port, option)

    @property
    def redis_ports(self) -> tuple[int, int]:
        """Return the ports of the live Redis and of the data plane's, where other machines can join."""
        return self.live_port or self.port + 1, self.plane_port or self.port + 2
