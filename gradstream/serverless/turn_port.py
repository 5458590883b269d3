"""The port of a worker in a job without servers whose workers take turns.

A turn takes place when every worker waits for a response. So the entries of all turns, one after the other, are the log of a job
with servers: the same machine decides the same.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence

from gradstream.center.entries import Entry, Payload, Response
from gradstream.codecs.coding import Residual
from gradstream.errors import PlaneLost
from gradstream.process.order import ProcessOrder
from gradstream.serverless.awaited import AwaitedWorkers, ReportAwaited, report_nothing
from gradstream.serverless.barrier import LOOK_INTERVAL
from gradstream.serverless.outgoing import OutgoingEntries
from gradstream.serverless.outside import OutsideEntries
from gradstream.wire.redis import keys
from gradstream.wire.redis.client import connect, retry
from gradstream.wire.redis.routes import Routes


class TurnPort(ABC):
    """The part of a `gradstream.training.port.Port` that does not depend on the way in which the workers exchange entries and
    vectors."""

    shares = True
    _outgoing: OutgoingEntries
    """The subclass makes it, when it has a vector to push from."""

    def __init__(self, order: ProcessOrder, on_wait: Callable[[float], None], on_awaited: ReportAwaited = report_nothing) -> None:
        """`on_awaited`: called when the others wait unusually long for a worker, and when they do no more."""
        self._on_wait = on_wait
        self._rank, self._incarnation = order.rank, order.incarnation
        self._j, self._count = order.plane_id, order.spec.roles.worker.count
        self._routes = Routes(order.plane, order.plane_id)
        home = self._routes.home
        self._redis = connect(home.url, user=home.user, password=home.password)
        self._inbox = deque[Response]()
        self._turn = 0
        """Number of the turn, from 1."""
        self._is_idle = False
        """The last turn had no entry."""
        self._outside: OutsideEntries | None = None
        """Worker 0 reads them."""
        self._awaited = AwaitedWorkers(self._redis, self._j, self._rank, on_awaited)

    def send(self, entry: Entry, payload: Payload | None = None, residual: Residual | None = None) -> None:
        """Keep an entry for the next turn."""
        self._outgoing.add(entry, payload, residual)

    def receive(self) -> Response:
        while not self._inbox:
            self._take_turn()
        return self._inbox.popleft()

    def receive_within(self, seconds: float) -> Response | None:
        """Return the next response; None if none came in so many seconds, or later if the others take longer for their turn."""
        began = time.monotonic()
        while not self._inbox and time.monotonic() - began < seconds:
            self._take_turn()
        return self._inbox.popleft() if self._inbox else None

    @abstractmethod
    def _take_turn(self) -> None:
        """Exchange entries with all workers, and handle those of all."""

    def _take_outside(self) -> list[bytes]:
        """Return the entries from outside for this turn. If nothing happens, wait a moment for some. Raises: PlaneLost."""
        self._awaited.end()
        if not self._outside:
            return []
        return self._outside.take(LOOK_INTERVAL if self._is_idle and not self._outgoing else 0.0)

    def _look(self, waited: float) -> None:
        """Raises: PlaneLost: the attempt is over."""
        if self._outside:
            self._outside.check()
        if not retry(lambda: self._redis.exists(keys.log(self._j)), what="looking for the log"):
            raise PlaneLost("the log of this attempt is gone")
        self._awaited.look(waited, self._turn, self._ranks)
        self._on_wait(waited)

    @property
    def _ranks(self) -> Sequence[int]:
        """The workers that come to each turn."""
        return range(self._count)
