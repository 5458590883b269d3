"""What a platform on one machine is told, and the words for how its start goes on. Light to import, for the command line."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

STEPS = ("redis", "database", "tables", "controller", "api", "account", "node")
"""What starting consists of, in the order in which the steps usually end."""


class StepState(StrEnum):
    WORKING = "working"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class Options:
    data_dir: Path
    host: str = "127.0.0.1"
    port: int = 8000
    slots: int | None = None
    """Workers that this machine takes at once; None: the agent's default."""
    user: str = "admin"
    plane_memory: str = "2gb"
    """Of the gradient plane's Redis, which refuses writes above it."""
