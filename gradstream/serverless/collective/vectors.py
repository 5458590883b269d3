"""The vectors of a turn. Each worker holds its own push; the mean of all exists only as the result of an allreduce."""

from __future__ import annotations

import torch
from torch import Tensor

from gradstream.center.entries import Buffers, Init, Payload, Push
from gradstream.center.gate import Pending
from gradstream.center.parameters.updates import PushUpdates
from gradstream.serverless.collective.group import GlooGroup
from gradstream.wire.transport.layout import Layout


class TurnVectors:
    def __init__(self, group: GlooGroup, rank: int, layout: Layout) -> None:
        self._group, self._rank, self._layout = group, rank, layout
        self.out = torch.zeros(layout.size, dtype=layout.torch_dtype)
        """This worker's push; after the round, the weighted mean of all. Shape (size,)."""
        self._nowhere = self.out[:0]
        """Stands for the push of another worker."""
        self._buffers: dict[int, bytes] = {}
        """The packed buffers that each worker has handed over in this turn."""
        self._whole: dict[int, Push] = {}
        """Pending pushes whose vector every worker holds."""

    def begin_turn(self, buffers: dict[int, bytes]) -> None:
        self._buffers = buffers

    def payload_of(self, entry: Init | Push) -> Payload:
        """Return what this worker has of an entry's payload: the vector of an `Init`, which its writer sends to all, or of its own
        push."""
        if isinstance(entry, Init):
            self._group.broadcast(self.out, entry.rank)
        x = self.out if isinstance(entry, Init) or entry.rank == self._rank else self._nowhere
        packed = self._buffers.get(entry.rank, b"")
        return Payload(x, self._layout.buffers(bytearray(packed), 0) if packed else None)

    def find_mean(self, us: PushUpdates) -> Tensor:
        """Return the mean of updates, which every worker asks for. Overwrites `out`. A `FindMean`."""
        mine = [(u.x, weight) for u, weight in zip(us, us.weights(), strict=True) if u.rank == self._rank]
        if mine:
            [(x, weight)] = mine
            torch.mul(x, weight, out=self.out)
        else:
            self.out.zero_()
        self._group.add_up(self.out)
        return self.out

    def complete(self, pending: Pending) -> None:
        """Give every worker the vectors of pushes whose round stays open after the turn. That happens while a worker waits for
        data; a checkpoint holds such pushes."""
        for rank, (push, x) in pending.items():
            if self._whole.get(rank) != push:
                whole = x.clone() if rank == self._rank else torch.empty_like(self.out)
                self._group.broadcast(whole, rank)
                pending[rank] = (push, whole)
        self.note_whole(pending)

    def note_whole(self, pending: Pending) -> None:
        """Note that every worker holds the vectors of these pushes, as after a checkpoint that has them."""
        self._whole = {rank: push for rank, (push, _) in pending.items()}


def pack_buffers(buffers: Buffers | None) -> bytes:
    """Return the bytes from which `Layout.buffers` reads them."""
    return b"".join(values.contiguous().view(torch.uint8).numpy().tobytes() for values in buffers or ())
