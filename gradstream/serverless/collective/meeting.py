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
from typing import NamedTuple, TypeVar
from urllib.parse import urlsplit

from redis import Redis
from torch._C._distributed_c10d import Store

from gradstream.process.exits import UserError
from gradstream.process.order import PlaneAccess
from gradstream.serverless.barrier import LOOK_INTERVAL
from gradstream.wire.redis import keys
from gradstream.wire.redis.client import retry

T = TypeVar("T")
_POLL_INTERVAL = 0.02
"""Seconds between two looks for what another worker writes."""
_BOOT_ID, _NETWORK = Path("/proc/sys/kernel/random/boot_id"), Path("/proc/self/ns/net")


class MeetingFor(NamedTuple):
    """The reason for a meeting, for errors."""

    setting: str
    """The key of the job file that wants it."""
    does: str
    """A sentence on its use of the processes."""
    remedy: str
    """The change of the job file that does without it."""


GLOO = MeetingFor("roles.server.collective", "gloo connects the workers", "set roles.server.count: 1")


class RedisStore(Store):
    """The store by which gloo's processes find each other. Its waits end with the attempt."""

    def __init__(self, redis: Redis, j: str, look: Callable[[float], None], prefix: str = "") -> None:
        """`look(seconds)` is called once in each `LOOK_INTERVAL`, with the time waited so far. It raises when the attempt is
        over. `prefix`: of all its keys, which tells this meeting from others of the attempt."""
        super().__init__()
        self._redis, self._j, self._look, self._prefix = redis, j, look, prefix

    def set(self, key: str, value: str | bytes) -> None:
        name = keys.meeting(self._j, self._prefix + key)
        retry(lambda: self._redis.set(name, value), what="telling the other processes where this one is")

    def get(self, key: str) -> bytes:
        """Return the value once there is one. Raises: what `look` raises."""
        return poll(lambda: self._find(key), self._look)

    def wait(self, names: list[str], timeout: timedelta | None = None) -> None:
        for name in names:
            self.get(name)

    def check(self, names: list[str]) -> bool:
        return all(self._find(name) is not None for name in names)

    def _find(self, key: str) -> bytes | None:
        name = keys.meeting(self._j, self._prefix + key)
        found: bytes | None = retry(lambda: self._redis.get(name), what="looking for the other processes")  # type: ignore[assignment]
        return found


def poll(find: Callable[[], T | None], look: Callable[[float], None]) -> T:
    """Return what `find` finds, once it does. `look`: see `RedisStore`. Raises: what `look` raises."""
    began = looked = time.monotonic()
    while (found := find()) is None:
        time.sleep(_POLL_INTERVAL)
        if time.monotonic() - looked > LOOK_INTERVAL:
            looked = time.monotonic()
            look(looked - began)
    return found


def meet(store: RedisStore, plane: PlaneAccess, rank: int, count: int, reason: MeetingFor = GLOO) -> str:
    """Wait until each of `count` processes is there, and return the address at which the others reach this one.

    Raises: UserError: they cannot reach it. PlaneLost: the attempt is over."""
    mine = _address_towards_plane(plane, reason)
    store.set(f"worker-{rank}", f"{host_id()} {mine}")
    found = [store.get(f"worker-{other}").decode().split() for other in range(count)]
    if not ip_address(mine).is_loopback or len({host for host, _ in found}) == 1:
        return mine
    elsewhere = [address for _, address in found if not ip_address(address).is_loopback]
    if not elsewhere:
        raise UserError(
            f"{reason.setting}: each machine of this job reaches the data plane at a loopback address, so no worker knows where "
            f"the others are; give them an address of the data plane that all machines have, or {reason.remedy}"
        )
    return _address_towards(elsewhere[0], 1, reason)


def host_id() -> str:
    """Return what tells this network from others: two containers on one machine may have networks of their own."""
    machine = _BOOT_ID.read_text().strip() if _BOOT_ID.exists() else socket.gethostname()
    return f"{machine}-{_NETWORK.stat().st_ino if _NETWORK.exists() else 0}"


def _address_towards_plane(plane: PlaneAccess, reason: MeetingFor) -> str:
    where = urlsplit(plane.url)
    if where.scheme == "unix" or not where.hostname:
        return "127.0.0.1"
    return _address_towards(where.hostname, where.port or 6379, reason)


def _address_towards(host: str, port: int, reason: MeetingFor) -> str:
    """Return the address of this machine on its way to another. Sends nothing. Raises: UserError: there is no way."""
    family, kind, _, _, target = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
    try:
        with socket.socket(family, kind) as unsent:
            unsent.connect(target)
            address: str = unsent.getsockname()[0]
    except OSError as error:
        raise UserError(
            f"{reason.setting}: {reason.does}, and {host} is out of reach: {error}; free the way, or {reason.remedy}"
        ) from None
    return address
