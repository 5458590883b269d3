"""The last entry in the log of an attempt, on behalf of a worker or evaluator that has exited."""

from __future__ import annotations

import asyncio
import time
from typing import Literal

import structlog
from redis.exceptions import AuthenticationError, NoPermissionError

from gradstream.errors import PlaneLost
from gradstream.process.exits import ExitReason
from gradstream.process.order import ProcessOrder
from gradstream.wire import plane
from gradstream.wire.redis import client
from gradstream.wire.redis.routes import Routes

log = structlog.get_logger(__name__)

BOUND = 60.0
"""Seconds that a Redis may be away; an attempt whose plane is gone for longer does not go on anyway."""
_RETRY_INTERVAL = 0.5
"""Seconds."""
_WHY: dict[ExitReason, Literal["done", "stopped"]] = {ExitReason.DONE: "done", ExitReason.STOPPED: "stopped"}


async def post(order: ProcessOrder, reason: ExitReason) -> None:
    """With the rights of the process itself. Harmless after its own `leave`, twice, or after the attempt's end."""
    deadline = time.monotonic() + BOUND
    while True:
        try:
            return await asyncio.to_thread(_post, order, _WHY.get(reason, "lost"))
        except (AuthenticationError, NoPermissionError, PlaneLost):
            return  # the attempt is over: its account is closed
        except client.AWAY as error:
            if time.monotonic() > deadline:
                log.warning("gave up telling the others of its end", label=order.label, why=str(error))
                return
            await asyncio.sleep(_RETRY_INTERVAL)


def _post(order: ProcessOrder, why: Literal["done", "stopped", "lost"]) -> None:
    access = Routes(order.plane, order.plane_id).home
    redis = client.connect(access.url, user=access.user, password=access.password, block=0)
    try:
        plane.post_leave(redis, order.plane_id, order.rank, order.incarnation, why)
    finally:
        redis.close()
