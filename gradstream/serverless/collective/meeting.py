"""The meeting of the workers of an attempt, before gloo connects them: each says in Redis where it is. Gloo's own addresses lie
there, too.

Nothing listens for it, and Redis lets only this attempt's account in."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from datetime import timedelta
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from redis import Redis
from torch._C._distributed_c10d import Store

from gradstream.process.exits import UserError
from gradstream.process.order import PlaneAccess
from gradstream.serverless.barrier import LOOK_INTERVAL
from gradstream.wire.redis import keys
from gradstream.wire.redis.client import retry

_POLL_INTERVAL = 0.02
"""Seconds between two looks for what another worker writes."""
_REMEDY = "or set roles.server.count: 1"
_BOOT_ID, _NETWORK = Path("/proc/sys/kernel/random/boot_id"), Path("/proc/self/ns/net")


class RedisStore(Store):
    """The store by which gloo's processes find each other. Its waits end with the attempt."""

    def __init__(self, redis: Redis, j: str, look: Callable[[float], None]) -> None:
        """`look(seconds)` is called once in each `LOOK_INTERVAL`, with the time waited so far. It raises when the attempt is
        over."""
        super().__init__()
        self._redis, self._j, self._look = redis, j, look

    def set(self, key: str, value: str | bytes) -> None:
        retry(lambda: self._redis.set(keys.meeting(self._j, key), value), what="telling the other workers where this one is")

    def get(self, key: str) -> bytes:
        """Return the value once there is one. Raises: what `look` raises."""
        began = looked = time.monotonic()
        while (found := self._find(key)) is None:
            time.sleep(_POLL_INTERVAL)
            if time.monotonic() - looked > LOOK_INTERVAL:
                looked = time.monotonic()
                self._look(looked - began)
        return found

    def wait(self, names: list[str], timeout: timedelta | None = None) -> None:
        for name in names:
            self.get(name)

    def check(self, names: list[str]) -> bool:
        return all(self._find(name) is not None for name in names)

    def _find(self, key: str) -> bytes | None:
        found: bytes | None = retry(lambda: self._redis.get(keys.meeting(self._j, key)), what="looking for the other workers")  # type: ignore[assignment]
        return found


def meet(store: RedisStore, plane: PlaneAccess, rank: int, count: int) -> str:
    """Wait until every worker is there, and return the address at which the others reach this one.

    Raises: UserError: they cannot reach it. PlaneLost: the attempt is over."""
    mine = _address_towards_plane(plane)
    store.set(f"worker-{rank}", f"{host_id()} {mine}")
    found = [store.get(f"worker-{other}").decode().split() for other in range(count)]
    if not ip_address(mine).is_loopback or len({host for host, _ in found}) == 1:
        return mine
    elsewhere = [address for _, address in found if not ip_address(address).is_loopback]
    if not elsewhere:
        raise UserError(
            "roles.server.collective: each machine of this job reaches the data plane at a loopback address, so no worker knows "
            f"where the others are; give them an address of the data plane that all machines have, {_REMEDY}"
        )
    return _address_towards(elsewhere[0], 1)


def host_id() -> str:
    """Return what tells this network from others: two containers on one machine may have networks of their own."""
    machine = _BOOT_ID.read_text().strip() if _BOOT_ID.exists() else socket.gethostname()
    return f"{machine}-{_NETWORK.stat().st_ino if _NETWORK.exists() else 0}"


def _address_towards_plane(plane: PlaneAccess) -> str:
    where = urlsplit(plane.url)
    return "127.0.0.1" if where.scheme == "unix" or not where.hostname else _address_towards(where.hostname, where.port or 6379)


def _address_towards(host: str, port: int) -> str:
    """Return the address of this machine on its way to another. Sends nothing. Raises: UserError: there is no way."""
    family, kind, _, _, target = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
    try:
        with socket.socket(family, kind) as unsent:
            unsent.connect(target)
            address: str = unsent.getsockname()[0]
    except OSError as error:
        raise UserError(
            f"roles.server.collective: gloo connects the workers, and {host} is out of reach: {error}; free the way, {_REMEDY}"
        ) from None
    return address
