"""The vectors of a turn. Each worker holds its own push; the mean of all exists only as the result of an allreduce."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import torch
from torch import Tensor

from gradstream.center.entries import Buffers, Init, Payload, Push, Response
from gradstream.center.gate import Pending
from gradstream.center.parameters.updates import PushUpdates
from gradstream.serverless.collective.buckets import BucketSums
from gradstream.serverless.collective.expected import ExpectedRound
from gradstream.serverless.collective.group import GlooGroup
from gradstream.wire.transport.layout import Layout


class TurnVectors:
    """Buckets of a push go before its header where the workers expect all to push: see `ExpectedRound`. Else, and where it comes
    otherwise, they go when the machine has decided which pushes count. The mean has the same bits either way."""

    def __init__(self, group: GlooGroup, rank: int, layout: Layout, device: torch.device | None = None) -> None:
        """`device`: that of all vectors; None: the CPU."""
        self._rank, self._layout = rank, layout
        self.out = torch.zeros(layout.size, dtype=layout.torch_dtype, device=device)
        """This worker's push, shape (size,)."""
        self._nowhere = self.out[:0]
        """Stands for the push of another worker."""
        self.theta_0: Tensor | None = None
        """The vector of an `Init` that all have already; None: its writer sends it."""
        self._goes_early = True
        """Buckets go during backward: no gradient has changed after some had gone."""
        self._buffers: dict[int, bytes] = {}
        """The packed buffers that each worker has handed over in this turn."""
        self._whole: dict[int, Push] = {}
        """Pending pushes whose vector every worker holds."""
        self.enter(group, range(group.count))

    def enter(self, group: GlooGroup, ranks: Collection[int]) -> None:
        """Go on in this group, which has these ranks of the job."""
        self._group, self._ranks = group, ranks
        self._sums, self._expected = BucketSums(group, self._layout, self.out.device), ExpectedRound(group.count)
        self._is_final = True
        """The buckets that have gone hold what this worker pushes."""
        self._hold_round = False
        """The buckets of all workers hold their pushes of this turn."""

    def send_ahead(self, x: Tensor, start: int) -> None:
        """Send buckets of `x`, the next push, if the workers expect it. See `gradstream.training.port.Port`."""
        weights = self._expected.weights
        if start < 0 and self._sums.has_begun:
            self._is_final = self._goes_early = False
        elif start >= 0 and weights and self._goes_early:
            self._sums.send(x, weights[self._group.rank], start)

    def end_sending(self, *, pushes: bool) -> bool:
        """Send the other buckets of an expected round, before the headers of a turn. A worker that `pushes` nothing adds zeros.

        Return whether the buckets hold this worker's push."""
        weights = self._expected.weights
        if not weights:
            return False
        self._sums.send(self.out if pushes else None, weights[self._group.rank])
        return pushes and self._is_final

    def begin_turn(self, buffers: dict[int, bytes], *, hold_round: bool) -> None:
        """`hold_round`: `end_sending` was True for every worker."""
        self._buffers, self._hold_round = buffers, hold_round

    def note_responses(self, responses: list[Response]) -> None:
        """Note responses of this turn, to whichever worker."""
        self._expected.note_responses(responses)

    def end_turn(self) -> None:
        """Wait for buckets that went in vain. Raises: what `GlooGroup` raises."""
        self._sums.finish()
        self._is_final = True
        self._expected.end_turn()

    def payload_of(self, entry: Init | Push) -> Payload:
        """Return what this worker has of an entry's payload: the vector of an `Init`, which its writer sends to all, or of its own
        push."""
        if isinstance(entry, Init):
            x = self._theta_0_of(entry)
        else:
            self._expected.note_push(entry.rank)
            x = self.out if entry.rank == self._rank else self._nowhere
        packed = self._buffers.get(entry.rank, b"")
        return Payload(x, self._layout.buffers(bytearray(packed), 0) if packed else None)

    def _theta_0_of(self, init: Init) -> Tensor:
        if self.theta_0 is None:
            self._group.broadcast(self.out, init.rank)
        return self.out if self.theta_0 is None else self.theta_0

    def find_mean(self, us: PushUpdates) -> Tensor:
        """Return the mean of updates, which every worker asks for. It is valid until the turn ends. A `FindMean`."""
        if self._group.count == 1:
            return us.mean()
        is_there = self._expected.note_round(us) and self._hold_round
        self._sums.finish()
        if not is_there:
            self._sums.send(*self._part_of(us))
            self._sums.finish()
        self._hold_round = False
        return self._sums.x

    def _part_of(self, us: PushUpdates) -> tuple[Tensor | None, float]:
        """Return what this worker adds to the mean, and its weight. The first of the group adds pushes of workers that are lost."""
        mine = {self._rank} | ({u.rank for u in us if u.rank not in self._ranks} if self._group.rank == 0 else set())
        parts = [(u.x, weight) for u, weight in zip(us, us.weights(), strict=True) if u.rank in mine]
        if len(parts) < 2:
            return parts[0] if parts else (None, 0.0)
        return sum((x * weight for x, weight in parts), torch.zeros_like(self.out)), 1.0

    def finish_sums(self) -> None:
        """Wait for buckets that went in vain. Raises: what `GlooGroup` raises."""
        self._sums.finish()

    def keep_mean(self) -> None:
        """Keep the mean valid while the sums of the next turn begin."""
        self._sums.replace_memory()

    def complete(self, pending: Pending) -> None:
        """Give every worker the vectors of pushes whose round stays open after the turn. That happens while a worker waits for
        data; a checkpoint holds such pushes."""
        self.put_whole(pending, self.send_pending(pending))

    def send_pending(self, pending: Pending) -> dict[int, Tensor]:
        """Return the vectors of those pushes, by rank, that every worker has now and had not before."""
        found = dict[int, Tensor]()
        for rank, (push, x) in pending.items():
            if self._whole.get(rank) != push:
                found[rank] = self.send_whole(x, rank)
        return found

    def send_whole(self, x: Tensor, rank: int) -> Tensor:
        """Return the vector that the worker `rank` has as `x`."""
        whole = x.clone() if rank == self._rank else torch.empty_like(self.out)
        self._group.broadcast(whole, list(self._ranks).index(rank))
        return whole

    def put_whole(self, pending: Pending, found: Mapping[int, Tensor]) -> None:
        for rank, whole in found.items():
            pending[rank] = (pending[rank][0], whole)
        self.note_whole(pending)

    def note_whole(self, pending: Pending) -> None:
        """Note that every worker holds the vectors of these pushes, as after a checkpoint that has them."""
        self._whole = {rank: push for rank, (push, _) in pending.items()}


def pack_buffers(buffers: Buffers | None) -> bytes:
    """Return the bytes from which `Layout.buffers` reads them."""
    return b"".join(values.contiguous().view(torch.uint8).numpy().tobytes() for values in buffers or ())
