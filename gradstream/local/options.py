"""What a platform on one machine is told, and the words for how its start goes on. Light to import, for the command line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

STEPS = ("redis", "database", "tables", "controller", "api", "account", "node")
"""What starting consists of, in the order in which the steps usually end."""


LOOPBACK = ("127.0.0.1", "::1", "localhost")


class StepState(StrEnum):
    WORKING = "working"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class Options:
    data_dir: Path
    host: str = "127.0.0.1"
    port: int = 8000
    join: bool | None = None
    """Whether both Redis listen on `host`, too, so that other machines can join; None: unless `host` is a loopback address."""
    live_port: int | None = None
    plane_port: int | None = None
    """Of the two Redis then; None: the two ports after `port`."""
    slots: int | None = None
    """Workers that this machine takes at once; None: the agent's default."""
    user: str = "admin"
    plane_memory: str = "2gb"
    """Of the gradient plane's Redis, which refuses writes above it."""

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
        """Of the live Redis and of the gradient plane's, where other machines can join."""
        return self.live_port or self.port + 1, self.plane_port or self.port + 2
