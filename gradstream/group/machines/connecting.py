"""The connections between the lead of a group and the first process on each other machine, which find each other over the plane.

    all of them       say in Redis where they are
    the lead          listens, and says in Redis at which port, with a key that it has drawn
    the others        connect; both sides prove that they know the key before either reads what the other sends

Redis lets only this attempt's account read the key.
"""

from __future__ import annotations

import json
import logging
import secrets
import socket
import struct
import time
from collections.abc import Callable
from contextlib import suppress
from ipaddress import ip_address
from multiprocessing import AuthenticationError
from multiprocessing.connection import Connection, answer_challenge, deliver_challenge

from gradstream.process.exits import UserError
from gradstream.process.order import PlaneAccess, ProcessOrder
from gradstream.serverless.collective.meeting import MeetingFor, RedisStore, meet
from gradstream.wire.redis.client import connect
from gradstream.wire.redis.routes import Routes

log = logging.getLogger(__name__)

_REASON = MeetingFor(
    "roles.worker.group.machines", "the machines of a group connect to each other", "set roles.worker.group.machines: 1"
)
_CONNECT_TIMEOUT = 60.0
"""Seconds for connecting processes, all of which are there."""
_RETRY_INTERVAL = 0.5
_STRANGER_TIMEOUT = 5
"""Seconds in which whoever connects must have proved that it knows the key."""
_LOG_INTERVAL = 30.0
"""Seconds between two lines of the log about a wait."""
_PROBES = {"TCP_KEEPIDLE": 5, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 4, "TCP_USER_TIMEOUT": 30_000}
"""A connection is lost 30 s (in ms) after the other machine has gone silent, or has taken the last bytes. Linux does not count the
probes beside that time."""
_NUMBER = struct.Struct("<I")
_LEAD = "lead"


def connect_machines(order: ProcessOrder) -> list[Connection]:
    """Return the lead's connections to the other machines, in their order. Waits for all of them.

    Raises: UserError: they cannot reach this one. PlaneLost: the attempt is over."""
    access, machines = Routes(order.plane, order.plane_id).home, order.spec.roles.worker.group.machines
    store = _store(order, access)
    address = meet(store, access, 0, machines, _REASON)
    family = socket.AF_INET6 if ip_address(address).version == 6 else socket.AF_INET
    key, found = secrets.token_bytes(32), dict[int, Connection]()
    with socket.create_server((address, 0), family=family) as server:
        store.set(_LEAD, json.dumps([address, server.getsockname()[1], key.hex()]))
        deadline = time.monotonic() + _CONNECT_TIMEOUT
        while len(found) < machines - 1:
            server.settimeout(max(0.01, deadline - time.monotonic()))
            try:
                connected, _ = server.accept()
            except TimeoutError:
                raise UserError(
                    f"{_REASON.setting}: the other machines of {order.label} did not connect to it at {address} within "
                    f"{_CONNECT_TIMEOUT:g} s; let machines connect to each other at any port, or {_REASON.remedy}"
                ) from None
            with suppress(OSError, EOFError, AuthenticationError, struct.error):
                machine, pipe = _admit(connected, key)
                found[machine] = pipe
    return [found[machine] for machine in range(1, machines)]


def _admit(connected: socket.socket, key: bytes) -> tuple[int, Connection]:
    """Raises: OSError, EOFError, AuthenticationError, struct.error: it is a stranger."""
    _limit_reads(connected, _STRANGER_TIMEOUT)
    pipe = as_pipe(connected)
    deliver_challenge(pipe, key)
    answer_challenge(pipe, key)
    [machine] = _NUMBER.unpack(pipe.recv_bytes(_NUMBER.size))
    again = socket.socket(fileno=pipe.fileno())
    _limit_reads(again, 0)
    again.detach()
    return machine, pipe


def connect_to_lead(order: ProcessOrder) -> Connection:
    """Return the connection of another machine to the lead. Waits for all of them.

    Raises: UserError: the lead is out of reach. PlaneLost: the attempt is over."""
    access = Routes(order.plane, order.plane_id).home
    store = _store(order, access)
    meet(store, access, order.machine, order.spec.roles.worker.group.machines, _REASON)
    address, port, key = json.loads(store.get(_LEAD))
    deadline = time.monotonic() + _CONNECT_TIMEOUT
    while True:
        try:
            pipe = as_pipe(socket.create_connection((address, port), timeout=_CONNECT_TIMEOUT))
            answer_challenge(pipe, bytes.fromhex(key))
            deliver_challenge(pipe, bytes.fromhex(key))
            pipe.send_bytes(_NUMBER.pack(order.machine))
            return pipe
        except (OSError, EOFError, AuthenticationError) as error:  # the lead may also have ended: so does this process soon
            if time.monotonic() > deadline:
                raise UserError(
                    f"{_REASON.setting}: {order.label} could not connect to the group's lead at {address} ({error}); let machines "
                    f"connect to each other at any port, or {_REASON.remedy}"
                ) from error
        time.sleep(_RETRY_INTERVAL)


def _store(order: ProcessOrder, access: PlaneAccess) -> RedisStore:
    redis = connect(access.url, user=access.user, password=access.password)
    return RedisStore(redis, order.plane_id, _log_waits(order), prefix=f"group-{order.worker}.{order.incarnation}/")


def _log_waits(order: ProcessOrder) -> Callable[[float], None]:
    said = 0.0

    def look(seconds: float) -> None:
        nonlocal said
        if seconds > said + _LOG_INTERVAL:
            said = seconds
            log.warning("waiting for the other machines of worker-%d for %.0f s", order.worker, seconds)

    return look


def as_pipe(connected: socket.socket) -> Connection:
    """Return a connection between machines as a pipe, which ends if the other one goes silent."""
    connected.settimeout(None)
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _PROBES.items():
        if hasattr(socket, name):  # macOS has not all of them
            connected.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
    return Connection(connected.detach())


def _limit_reads(connected: socket.socket, seconds: int) -> None:
    """Let reads fail that wait longer; 0: they wait without an end."""
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", seconds, 0))
