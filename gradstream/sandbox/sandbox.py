"""The isolation that a node offers, and the sandbox of one process there. Both travel as JSON: the one to the control plane, the
other from the agent through the zygote to the process."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any


class Level(StrEnum):
    NAMESPACE = "namespace"
    """Own mounts, processes, network and users: the process sees nothing of the platform but its own."""
    USER = "user"
    """An account of its own, which cannot read or signal what belongs to others."""
    NONE = "none"
    """The agent's account, with all that it may do."""


class Network(StrEnum):
    PLATFORM = "platform"
    """The data plane and the API of the platform, nothing else."""
    INTERNET = "internet"
    """The network of the machine."""


@dataclass(frozen=True)
class Isolation:
    """The isolation of all job processes of a node."""

    level: Level = Level.NONE
    account: bool = False
    """Each has a user id of its own."""
    note: str = ""
    """Why it is not more; empty: it is the most there is."""
    network: Network = Network.INTERNET

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, told: dict[str, Any]) -> Isolation:
        return cls(Level(told["level"]), told["account"], told["note"], Network(told["network"]))

    @property
    def sentence(self) -> str:
        what = {
            Level.NAMESPACE: "each job process has namespaces of its own"
            + (" and an account of its own" if self.account else "")
            + (", and no network but the platform's" if self.network is Network.PLATFORM else ""),
            Level.USER: "each job process has an account of its own",
            Level.NONE: "job processes have the rights of the agent",
        }[self.level]
        return f"isolation: {self.level} ({what}){'. ' + self.note if self.note else ''}"


@dataclass(frozen=True)
class Sandbox:
    """Paths are absolute and without links."""

    level: Level
    account: bool = False
    """True if the process gets a user id of its own; only root can give one."""
    network: Network = Network.INTERNET
    hidden: tuple[str, ...] = ()
    """Files and folders that the process does not see. A missing one is no mistake."""
    readable: tuple[str, ...] = ()
    """Files and folders that it sees although they lie below a hidden folder or /tmp."""
    writable: tuple[str, ...] = ()
    """Folders that it may write to, beside its own."""
    door: str | None = None
    """The socket of its door; None: the process connects by itself."""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, told: dict[str, Any]) -> Sandbox:
        return cls(
            Level(told["level"]),
            told["account"],
            Network(told["network"]),
            tuple(told["hidden"]),
            tuple(told["readable"]),
            tuple(told["writable"]),
            told["door"],
        )
