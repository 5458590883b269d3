"""The port of a worker whose vectors go to worker 0, which holds the shard: see `gradstream.serverless.holder.port`."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

from msgspec.structs import replace
from torch import Tensor

from gradstream.center.entries import Entry, Payload, Response
from gradstream.codecs.coding import Residual
from gradstream.errors import PlaneLost
from gradstream.process.order import ProcessOrder
from gradstream.serverless.barrier import LOOK_INTERVAL
from gradstream.serverless.holder.doorbell import Doorbell, DoorbellWriter, Ring
from gradstream.serverless.holder.memory import Messages, doorbell_file, holders_doorbell_file, messages_file, over_file
from gradstream.serverless.outgoing import OutgoingEntries
from gradstream.serverless.shared_folder import shared_folder, shared_memory_named
from gradstream.wire.redis import keys
from gradstream.wire.redis.client import connect, retry
from gradstream.wire.redis.routes import Routes
from gradstream.wire.transport.layout import Layout
from gradstream.wire.transport.messages import ResponseMessage
from gradstream.wire.transport.shm import Shared, SharedMemoryError

_POLL_INTERVAL = 0.02
"""Seconds between two looks for the doorbell of worker 0, which may be starting."""
_MEMORY_TIMEOUT = 60.0
"""Seconds for which another incarnation of a worker waits for shared memory."""


class ClientPort:
    """A `gradstream.training.port.Port`."""

    can_send_ahead = False
    shares = True

    def __init__(self, order: ProcessOrder, layout: Layout, on_wait: Callable[[float], None] = lambda seconds: None) -> None:
        """Wait until worker 0 has built its model.

        Raises: UserError: the node has no shared memory for it. PlaneLost: the attempt is over."""
        self._layout, self._on_wait, spec = layout, on_wait, order.spec
        self._rank, self._incarnation, self._j = order.rank, order.incarnation, order.plane_id
        self._workers, self._leaves_theta = spec.roles.worker.count, spec.strategy.leaves_theta
        self._inbox = deque[Response]()
        self._written = self._taken = 0
        """Messages of this worker, and messages of worker 0 that this one has taken."""
        self._written_taken = self._taken_rung = 0
        """The first, as far as worker 0 has taken them; the second, as far as this worker has rung so."""
        self._there = 0
        """Messages that worker 0 has written."""
        self._is_over = False
        """The job is over, and worker 0 takes no more."""
        home = Routes(order.plane, order.plane_id).home
        self._redis = connect(home.url, user=home.user, password=home.password)
        self._shared, responses = shared_folder(order), int(spec.strategy.responds)
        mine = self._shared, order.rank, order.incarnation
        with shared_memory_named():
            self._vectors = self._make_vectors(responses)
            self._messages = Messages.make(messages_file(*mine))
            self._doorbell = Doorbell(doorbell_file(*mine))
            self._holder = self._find_holder()
            self._holders_vectors = Shared.open(self._shared, 0, 0, layout, 1 + responses)
        assert self._vectors.out is not None, "a worker has a vector to push from"
        self._outgoing = OutgoingEntries(order.rank, spec.codec, layout, self._vectors.out, self._vectors.put_out)

    def _make_vectors(self, responses: int) -> Shared:
        """Wait for the memory of the incarnation before this one, which worker 0 frees when it hears of its end.

        Raises: SharedMemoryError."""
        began = time.monotonic()
        while True:
            try:
                return Shared.make(self._shared, self._rank, self._incarnation, self._layout, responses)
            except SharedMemoryError:
                waited = time.monotonic() - began
                if waited > (_MEMORY_TIMEOUT if self._incarnation else 0.0):
                    raise
            time.sleep(LOOK_INTERVAL)
            self._look(waited)

    def _find_holder(self) -> DoorbellWriter | None:
        """None: the job is over."""
        began = looked = time.monotonic()
        while not (found := DoorbellWriter.find(holders_doorbell_file(self._shared))) and not self._is_over:
            time.sleep(_POLL_INTERVAL)
            if time.monotonic() - looked > LOOK_INTERVAL:
                looked = time.monotonic()
                self._look(looked - began)
        return found

    @property
    def out(self) -> Tensor | None:
        return self._vectors.out

    @property
    def centers(self) -> list[Tensor]:
        """The center of all, where no worker changes it; else each has its own theta."""
        return self._holders_vectors.centers[:1] if self._leaves_theta else []

    def send(self, entry: Entry, payload: Payload | None = None, residual: Residual | None = None) -> None:
        """Keep an entry until this worker waits for a response."""
        self._outgoing.add(entry, payload, residual)

    def send_ahead(self, seq: int, x: Tensor, start: int) -> None:
        """Nothing travels here."""

    def receive(self) -> Response:
        self._exchange_until(lambda: bool(self._inbox))
        return self._inbox.popleft()

    def receive_within(self, seconds: float) -> Response | None:
        deadline = time.monotonic() + seconds
        while not self._inbox and (left := deadline - time.monotonic()) > 0:
            self._exchange(min(left, LOOK_INTERVAL))
        return self._inbox.popleft() if self._inbox else None

    def serve(self) -> None:
        """Return when worker 0 has taken all entries of this worker. It serves nothing itself. Raises: PlaneLost."""
        self._exchange_until(lambda: self._is_over or (not self._outgoing and self._written_taken == self._written))

    def _exchange_until(self, condition: Callable[[], bool]) -> None:
        began = time.monotonic()
        while not condition():
            if not self._exchange(LOOK_INTERVAL):
                self._look(time.monotonic() - began)

    def _exchange(self, seconds: float) -> bool:
        """Hand over what worker 0 can take, and take what it has written, waiting up to `seconds`. False: it did not ring."""
        self._hand_over()
        rings = self._doorbell.wait(seconds)
        for ring in rings:
            self._there, self._written_taken = max(self._there, ring.written), max(self._written_taken, ring.taken)
        if self._there > self._taken:
            self._taken = self._there
            self._inbox.extend(map(self._unpack, self._messages.read()))
        return bool(rings)

    def _hand_over(self) -> None:
        if self._is_over:
            self._outgoing.take()
            return
        if self._outgoing and self._written_taken == self._written:
            self._messages.write(self._outgoing.take())
            self._written += 1
        elif self._taken_rung == self._taken:
            return
        self._taken_rung = self._taken
        if self._holder:
            self._holder.ring(Ring(self._rank, self._incarnation, self._written, self._taken))  # if it is gone, `_look` hears why

    def _unpack(self, packed: bytes) -> Response:
        message = ResponseMessage.unpack(packed)
        response = message.response
        if not message.where:
            return response
        mine = response.brings == "response"
        vectors = self._vectors if mine else self._holders_vectors
        return replace(response, payload=Payload(vectors.centers[0], vectors.center_buffers(0)))

    def _look(self, waited: float) -> None:
        """Leave if the job is over: an earlier incarnation of this rank has trained to the end. Raises: PlaneLost: the attempt is
        over."""
        if over_file(self._shared).exists() and not self._is_over:
            self._is_over = True
            self._inbox.append(Response(self._rank, self._incarnation, 0, "stop", version=0, samples=0, members=self._workers))
        if not retry(lambda: self._redis.exists(keys.log(self._j)), what="looking for the log"):
            raise PlaneLost("the log of this attempt is gone")
        self._on_wait(waited)

    @property
    def nbytes(self) -> int:
        """Bytes of a whole vector with its buffers."""
        return self._layout.nbytes(0)

    def take_traffic(self) -> tuple[int, int, int]:
        """Return the bytes that have travelled: none."""
        return 0, 0, 0
