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
from gradstream.sandbox import door
from gradstream.serverless.barrier import LOOK_INTERVAL
from gradstream.wire.redis import keys
from gradstream.wire.redis.client import retry

_POLL_INTERVAL = 0.02
"""Seconds between two looks for what another worker writes."""
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


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
    if door.is_used():
        raise UserError(
            "roles.server.collective: this machine lets jobs reach the platform only (--job-network platform), and gloo connects "
            "the workers; let them reach its network, or set roles.server.count: 1"
        )
    address = address_towards(plane)
    store.set(f"worker-{rank}", f"{host_id()} {address}")
    found = [store.get(f"worker-{other}").decode().split() for other in range(count)]
    alone = [other for other, (_, at) in enumerate(found) if ip_address(at).is_loopback]
    if alone and len({host for host, _ in found}) > 1:
        raise UserError(
            f"roles.server.collective: worker {alone[0]} reaches the data plane at a loopback address, where workers on other "
            "machines cannot reach it; give its machine an address of the data plane that all machines have, or set "
            "roles.server.count: 1"
        )
    return address


def host_id() -> str:
    """Return what tells this machine from others. Containers on one machine have one."""
    return _BOOT_ID.read_text().strip() if _BOOT_ID.exists() else socket.gethostname()


def address_towards(plane: PlaneAccess) -> str:
    """Return the address of this machine on its way to the data plane. Sends nothing."""
    where = urlsplit(plane.url)
    if where.scheme == "unix" or where.hostname is None:
        return "127.0.0.1"
    family, kind, _, _, target = socket.getaddrinfo(where.hostname, where.port or 6379, type=socket.SOCK_DGRAM)[0]
    with socket.socket(family, kind) as unsent:
        unsent.connect(target)
        address: str = unsent.getsockname()[0]
    return address
