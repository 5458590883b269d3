"""Connections of clients to one instance of the data plane: how many there are, whose they are, and which belong to no account."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from redis import Redis

SIGN_IN_TIMEOUT = 5
"""Seconds that a connection has for signing in, while an instance has many."""
_SHARED_ACCOUNT = "default"
"""Account of the control plane's programs, and of connections that have not signed in."""


@dataclass(frozen=True, slots=True)
class ConnectionCount:
    connected: int
    capacity: int
    """Connections that the instance accepts at most (`maxclients`)."""


@dataclass(frozen=True, slots=True)
class ClientConnection:
    id: int
    account: str
    name: str
    age: int
    """Seconds."""

    @property
    def is_stranger(self) -> bool:
        """True if it has not signed in in time. Programs of the control plane name their connections (`client.options`), and only
        who has signed in can name one."""
        return self.account == _SHARED_ACCOUNT and not self.name and self.age >= SIGN_IN_TIMEOUT


def read_connection_count(redis: Redis) -> ConnectionCount:
    """Return the count without a look at each connection. An instance that names no capacity has one without end."""
    told: Any = redis.info("clients")
    return ConnectionCount(int(told["connected_clients"]), int(told.get("maxclients") or 2**63))


def read_connections(redis: Redis) -> list[ClientConnection]:
    """Return the connections of clients; those of replicas are none of them."""
    told: Any = redis.client_list(_type="normal")
    return [ClientConnection(int(each["id"]), each["user"], each["name"], int(each["age"])) for each in told]


def count_by_account(connections: Sequence[ClientConnection]) -> Counter[str]:
    return Counter(each.account for each in connections)


def close_strangers(redis: Redis, connections: Sequence[ClientConnection]) -> None:
    pipe = redis.pipeline(transaction=False)
    for each in connections:
        if each.is_stranger:
            pipe.client_kill_filter(_id=str(each.id))
    pipe.execute()
