"""The gradient of a group as one vector that all peers share, in which parts add up while backward runs.

    bucket b:   gradient[b] <- gradient of part 0; then + part 1, + part 2, ...      each when the part before has been added

So the sum has the bits of `accumulate`, which adds the parts in one process. A bucket is some parameters that stand one behind
another. It is added when all of them have a gradient, and these are freed then. So a process holds the gradients of a few
buckets, and not of the whole model. With m peers, part j is of peer j mod m, which says to the next one what it has added.
With stages, the peers that are the same stage of m pipelines do so.

Source: Rajbhandari et al. 2020, "ZeRO: Memory Optimizations Toward Training Trillion Parameter Models" (gradients are reduced in
buckets, each to one place, and freed).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial

from torch import Tensor, nn

from gradstream.group.devices.to_host import ComingGradient, ToHost
from gradstream.group.memory import leave_gradient
from gradstream.group.neighbour_pipe import NeighbourPipe
from gradstream.model.ensemble import members
from gradstream.model.flat_model import FlatModel

LEAST = 2**20
"""Bytes of a bucket, at least, but for the last one."""
MOST = 256
"""Buckets of a model are larger than `LEAST` if there were more than this."""
_WAITING = 4
"""A process keeps the gradients of as many buckets as it waits for its turn to add; then backward waits, too."""


Buckets = Sequence[Sequence[int]]
"""The parameters of each bucket, by index."""


class BucketChain:
    """The buckets of one process. It adds the gradients of its parts in turn with the other peers."""

    def __init__(
        self,
        trained: Sequence[nn.Parameter],
        places: Sequence[Tensor],
        of_members: Sequence[Buckets],
        before: NeighbourPipe,
        after: NeighbourPipe,
        to_host: ToHost | None = None,
    ) -> None:
        """`places`: for the gradient of each parameter, shared by all peers. `of_members`: the buckets of each member of the model.
        `before`, `after`: to the peers whose parts come before and after. `to_host`: brings gradients from a device while backward
        runs; None: they are in the host's memory."""
        self._parameters, self._places = trained, places
        self._before, self._after, self._to_host = before, after, to_host
        self._buckets: Buckets = [bucket for buckets in of_members for bucket in buckets]
        ends = [sum(map(len, of_members[: number + 1])) for number in range(len(of_members))]
        self._of_member = [range(end - len(buckets), end) for buckets, end in zip(of_members, ends, strict=True)]
        self._bucket_of = {index: number for number, bucket in enumerate(self._buckets) for index in bucket}
        self._nbytes = [sum(places[index].nbytes for index in bucket) for bucket in self._buckets]
        self._may_wait = _WAITING * least_bytes(places)
        self._runs = False
        self._part, self._is_last = 0, True
        self._missing: dict[int, set[int]] = {}
        """The buckets that this part has not added yet, and which of their parameters have no gradient yet."""
        self._turns: dict[int, set[int]] = {}
        """Buckets that the part before has added, and this one has not, with the parameters whose places have a gradient. If this
        one has added a bucket, it is the turn of one's next part."""
        self._waiting = set[int]()
        """Those that have all gradients, and wait for their turn."""
        self._coming = dict[int, ComingGradient]()
        """Gradients of complete buckets, by parameter, on their way to the host."""
        self._reached = set[int]()
        for index in self._bucket_of:
            trained[index].register_post_accumulate_grad_hook(partial(self._came, index))  # type: ignore[no-untyped-call]

    def wrapping(self, backward: Callable[[Tensor], None], own: range, parts: int) -> Callable[[Tensor], None]:
        """Return this backward, in which gradients are added. It is called for each of one's own parts, once for each member of
        the model in turn. `own`: their numbers. `parts`: of the whole mini-batch."""
        turns = iter([(part, buckets) for buckets in self._of_member for part in own])

        def added(loss: Tensor) -> None:
            part, buckets = next(turns)
            with self.adding(part, parts, buckets):
                backward(loss)

        return added

    @contextmanager
    def adding(self, part: int, parts: int, buckets: range | None = None) -> Iterator[None]:
        """Inside, the backward of this part runs, and its gradients are added. Then wait until all are. `parts`: of the whole
        mini-batch. `buckets`: None: all."""
        self._part, self._is_last = part, part == parts - 1
        wanted = range(len(self._buckets)) if buckets is None else buckets
        self._missing = {bucket: set(self._buckets[bucket]) for bucket in wanted}
        self._runs = True
        try:
            yield
        finally:
            self._runs = False
        self._waiting = set(self._missing)
        self._add_due(may_wait=-1)

    def close(self) -> None:
        """End the threads of its pipes."""
        self._before.close()
        self._after.close()

    def take_reached(self) -> list[int]:
        """Return and forget the parameters, by index, of which this process has added a gradient. The places of those that none
        reached are as they were."""
        reached, self._reached = sorted(self._reached), set()
        return reached

    def take_late(self) -> dict[int, Tensor]:
        """Return and forget the gradients of parameters, by index, that came after their bucket had been added. A parameter has
        such ones if a model runs parts of itself backward by itself."""
        late = {index: p.grad for index, p in enumerate(self._parameters) if p.grad is not None}
        for index in late:
            self._parameters[index].grad = None
        return late

    def _came(self, index: int, p: Tensor) -> None:
        bucket = self._bucket_of[index]
        if not self._runs or bucket not in self._missing:
            return
        self._missing[bucket].discard(index)
        if not self._missing[bucket]:
            if self._to_host and bucket not in self._waiting:
                self._bring(bucket, self._to_host)
            self._waiting.add(bucket)
            self._add_due(self._may_wait)

    def _add_due(self, may_wait: int) -> None:
        """Add what waits and has its turn; then wait for turns, until at most so many bytes are left; -1: until nothing is."""
        while self._part and self._before.has_come():
            self._take_turn()
        for bucket in sorted(self._waiting, reverse=True):
            if not self._part or bucket in self._turns:
                self._add(bucket)
        while self._waiting and sum(self._nbytes[bucket] for bucket in self._waiting) > may_wait:
            bucket = self._take_turn()
            if bucket in self._waiting:
                self._add(bucket)

    def _take_turn(self) -> int:
        """Wait until the part before has added a bucket, and return which."""
        bucket, reached = self._before.receive()
        self._turns[bucket] = set(reached)
        return int(bucket)

    def _bring(self, bucket: int, to_host: ToHost) -> None:
        """Begin to copy the gradients of a complete bucket. A gradient that comes to its parameters later is late."""
        for index in self._buckets[bucket]:
            p = self._parameters[index]
            if p.grad is not None:
                self._coming[index], p.grad = to_host.start(p.grad), None

    def _take(self, index: int) -> Tensor | None:
        """Return the gradient of a parameter, in the host's memory if it was brought there; None: it has none."""
        if coming := self._coming.pop(index, None):
            return coming.wait()
        p = self._parameters[index]
        gradient, p.grad = p.grad, None
        return gradient

    def _add(self, bucket: int) -> None:
        reached = self._turns.pop(bucket) if self._part else set[int]()
        for index in self._buckets[bucket]:
            gradient = self._take(index)
            if gradient is None:
                continue
            leave_gradient(gradient, self._places[index], add=index in reached)
            reached.add(index)
            self._reached.add(index)
        self._waiting.discard(bucket)
        del self._missing[bucket]
        if not self._is_last:
            self._after.send((bucket, sorted(reached)))


def buckets_of_members(flat: FlatModel) -> list[Buckets]:
    """Return the buckets of each member of the model."""
    found, begin = list[Buckets](), 0
    for member in members(flat.model):
        count = sum(p.requires_grad for p in member.parameters())
        found.append(buckets_of(flat, range(begin, begin + count)))
        begin += count
    return found


def buckets_of(flat: FlatModel, indices: Sequence[int]) -> Buckets:
    """Return these parameters in buckets."""
    places = flat.views_of(flat.theta)
    shared_out = in_rows([places[index].nbytes for index in indices], least_bytes(places))
    return [[indices[number] for number in row] for row in shared_out]


def least_bytes(places: Sequence[Tensor]) -> int:
    """Return the bytes of a bucket, at least. `places`: of all parameters."""
    return max(LEAST, sum(place.nbytes for place in places) // MOST)


def in_rows(sizes: Sequence[int], least: int) -> list[range]:
    """Return items in rows: as many one behind another as have at least so many bytes; the last row may have fewer."""
    rows, begin, held = list[range](), 0, 0
    for index, size in enumerate(sizes, 1):
        held += size
        if held >= least or index == len(sizes):
            rows.append(range(begin, index))
            begin, held = index, 0
    return rows


def add_late(late: Mapping[int, Tensor], places: Sequence[Tensor]) -> None:
    """Add what `BucketChain.take_late` returned to the places of a gradient."""
    for index, value in late.items():
        leave_gradient(value, places[index], add=True)
