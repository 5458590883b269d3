"""The gradient of a group as one vector that all peers share, in which parts add up while backward runs.

    bucket b:   gradient[b] <- gradient of part 0; then + part 1, + part 2, ...      each when the part before has been added

So the sum has the bits of `accumulate`, which adds the parts in one process. A bucket is some parameters that stand one behind
another. It is added when all of them have a gradient, and these are freed then. So a process holds the gradients of a few
buckets, and not of the whole model. With m peers, part j is of peer j mod m, which says to the next one what it has added.

Source: Rajbhandari et al. 2020, "ZeRO: Memory Optimizations Toward Training Trillion Parameter Models" (gradients are reduced in
buckets, each to one place, and freed).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial

from torch import Tensor

from gradstream.group.neighbour_pipe import NeighbourPipe
from gradstream.model.ensemble import members
from gradstream.model.flat_model import FlatModel

LEAST = 2**20
"""Bytes of a bucket, at least, but for the last one."""
MOST = 256
"""Buckets of a model are larger than `LEAST` if there were more than this."""
_WAITING = 4
"""A process keeps the gradients of as many buckets as it waits for its turn to add; then backward waits, too."""


class BucketChain:
    """The buckets of one process. It adds the gradients of its parts in turn with the other peers."""

    def __init__(self, flat: FlatModel, gradient: Tensor, before: NeighbourPipe, after: NeighbourPipe) -> None:
        """`gradient`: shape (size,), shared by all peers. `before`, `after`: to the peers whose parts come before and after."""
        self._parameters, self._places = flat.trained, flat.views_of(gradient)
        self._before, self._after = before, after
        least = max(LEAST, gradient.nbytes // MOST)
        self._buckets, self._of_member = buckets_of_members(flat, least)
        self._bucket_of = [number for number, bucket in enumerate(self._buckets) for _ in bucket]
        self._nbytes = [sum(self._places[index].nbytes for index in bucket) for bucket in self._buckets]
        self._may_wait = _WAITING * least
        self._runs = False
        self._part, self._is_last = 0, True
        self._missing: dict[int, set[int]] = {}
        """The buckets that this part has not added yet, and which of their parameters have no gradient yet."""
        self._turns = Counter[int]()
        """Buckets that the part before has added, and this one has not. If this one has, it is the turn of one's next part."""
        self._waiting = set[int]()
        """Those that have all gradients, and wait for their turn."""
        for index, p in enumerate(self._parameters):
            p.register_post_accumulate_grad_hook(partial(self._came, index))  # type: ignore[no-untyped-call]

    def adding(self, backward: Callable[[Tensor], None], own: range, parts: int) -> Callable[[Tensor], None]:
        """Return this backward, in which gradients are added. It is called for each of one's own parts, once for each member of
        the model in turn. `own`: their numbers. `parts`: of the whole mini-batch."""
        turns = iter([(buckets, part) for buckets in self._of_member for part in own])

        def added(loss: Tensor) -> None:
            buckets, self._part = next(turns)
            self._is_last = self._part == parts - 1
            self._missing = {bucket: set(self._buckets[bucket]) for bucket in buckets}
            self._runs = True
            try:
                backward(loss)
            finally:
                self._runs = False
            self._waiting = set(self._missing)
            self._add_due(may_wait=-1)

        return added

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
            self._waiting.add(bucket)
            self._add_due(self._may_wait)

    def _add_due(self, may_wait: int) -> None:
        """Add what waits and has its turn; then wait for turns, until at most so many bytes are left; -1: until nothing is."""
        while self._part and self._before.has_come():
            self._turns[self._before.receive()] += 1
        for bucket in sorted(self._waiting, reverse=True):
            if not self._part or self._turns[bucket]:
                self._add(bucket)
        while self._waiting and sum(self._nbytes[bucket] for bucket in self._waiting) > may_wait:
            self._turns[bucket := self._before.receive()] += 1
            if bucket in self._waiting:
                self._add(bucket)

    def _add(self, bucket: int) -> None:
        for index in self._buckets[bucket]:
            p, place = self._parameters[index], self._places[index]
            if p.grad is None:
                if self._part == 0:
                    place.zero_()
                continue
            gradient = (p.grad.to_dense() if p.grad.is_sparse else p.grad).detach()
            if self._part == 0:
                place.copy_(gradient)
            else:
                place.add_(gradient)
            p.grad = None
        self._waiting.discard(bucket)
        del self._missing[bucket]
        if self._part:
            self._turns[bucket] -= 1
        if not self._is_last:
            self._after.send(bucket)


def buckets_of_members(flat: FlatModel, least: int) -> tuple[list[range], list[range]]:
    """Return the parameters of each bucket, by index, and the buckets of each member of the model, by number."""
    buckets, of_member = list[range](), list[range]()
    begin = 0
    for member in members(flat.model):
        sizes = [p.numel() * flat.theta.element_size() for p in member.parameters() if p.requires_grad]
        first = len(buckets)
        buckets += (range(begin + bucket.start, begin + bucket.stop) for bucket in buckets_of(sizes, least))
        of_member.append(range(first, len(buckets)))
        begin += len(sizes)
    return buckets, of_member


def buckets_of(sizes: Sequence[int], least: int) -> list[range]:
    """Return the items of each bucket: as many in a row as have at least so many bytes; the last one may have fewer."""
    buckets, begin, held = list[range](), 0, 0
    for index, size in enumerate(sizes, 1):
        held += size
        if held >= least or index == len(sizes):
            buckets.append(range(begin, index))
            begin, held = index, 0
    return buckets
