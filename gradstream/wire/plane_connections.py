"""Connections to one instance of the data plane, counted by account. Those that have not signed in can be closed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from redis import Redis

SIGN_IN_TIMEOUT = 5
"""Seconds that a connection has for signing in, while an instance has many."""


@dataclass(frozen=True, slots=True)
class Crowd:
    connected: int
    capacity: int
    """Connections that the instance accepts at most (`maxclients`)."""


def read_crowd(redis: Redis) -> Crowd:
    told: Any = redis.info("clients")
    return Crowd(int(told["connected_clients"]), int(told["maxclients"]))


def count_connections(redis: Redis) -> Counter[str]:
    """Return the number of connections of each account, and close those that have not signed in.

    Programs of the control plane share the account `default` and name their connections (`client.options`); a connection without an
    account cannot name itself."""
    told: Any = redis.client_list()
    strangers = [c["id"] for c in told if c["user"] == "default" and not c["name"] and int(c["age"]) >= SIGN_IN_TIMEOUT]
    pipe = redis.pipeline(transaction=False)
    for number in strangers:
        pipe.client_kill_filter(_id=number)
    pipe.execute()
    return Counter(c["user"] for c in told)
