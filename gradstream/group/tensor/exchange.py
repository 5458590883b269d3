"""Tensors from each process of a group to all, through memory that they share: sums, and columns side by side. Tensors on a device
go through the host's memory, and the result comes back to it.

A process writes into its own slot, says so to the others through their inboxes, and reads their slots when they have said so, too.
It has two slots, which take turns: whoever says that the next one is written has read the one before. So an exchange has one wait.
"""

from __future__ import annotations

import multiprocessing
import os
import struct
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from math import prod
from multiprocessing.connection import Connection

import torch
from torch import Tensor

from gradstream.errors import InvalidWorkload
from gradstream.group.memory import shared_vector

SLOT_BYTES = 2**22
"""Longer tensors go in several turns."""

_MESSAGE = struct.Struct("=iiq")
"""The process that has written its slot, the kind of exchange, and how many numbers. A pipe keeps messages of this length whole."""
_SUM, _GATHER, _COMPARE = range(3)


class ExchangeBroken(BaseException):
    """Another process has ended, or failed. No `except Exception` of user code stops it, as it comes within `loss`."""

    def __init__(self, cause: Exception) -> None:
        super().__init__()
        self.cause = cause


class SharedSlots:
    """The slots and inboxes of the processes that exchange with one another. Made before they are forked."""

    def __init__(self, count: int) -> None:
        """Raises: OSError: there is no memory, or too many files are open."""
        self.slots = [[shared_vector(SLOT_BYTES, torch.uint8) for _ in range(2)] for _ in range(count)]
        self.inboxes = [multiprocessing.Pipe(duplex=False) for _ in range(count)]

    def ends_of(self, number: int) -> list[Connection]:
        """Return the ends of inboxes that this process keeps. It can write into its own inbox, which so has no end as long as it
        lives."""
        return [self.inboxes[number][0], *(writes for _, writes in self.inboxes)]


class PeerExchange:
    """The exchanges of one process. All processes make the same ones in the same order."""

    def __init__(self, shared: SharedSlots, number: int, wait_for: Callable[[int], None]) -> None:
        """Become process `number`. `wait_for`: waits until something can be read from this file. It raises if another process has
        ended or failed."""
        self.number, self.count = number, len(shared.slots)
        self.exchanged = 0
        """Exchanges so far, each of which waits for the others once."""
        self._slots, self._inboxes, self._wait_for = shared.slots, shared.inboxes, wait_for
        self._come: list[deque[tuple[int, int]]] = [deque() for _ in range(self.count)]
        """Messages of each of the others that this one has not asked for yet: a process may be one exchange ahead."""

    def sum(self, x: Tensor) -> Tensor:
        """Return the sum over all processes, the same bits in each: in their order, and in float32 at least."""
        flat = x.contiguous().view(-1)
        total, step = x.new_empty(x.shape, device="cpu", pin_memory=x.is_cuda), SLOT_BYTES // x.element_size()
        for own, out in zip(torch.split(flat, step), torch.split(total.view(-1), step), strict=True):
            parts = self._swap(own, [len(own)] * self.count, _SUM, len(own))
            if x.element_size() < 4:
                out.copy_(torch.stack([part.float() for part in parts]).sum(0))
                continue
            torch.add(parts[0], parts[1], out=out)
            for part in parts[2:]:
                out += part
        return total.to(x.device)

    def gather(self, columns: Tensor, widths: Sequence[int]) -> Tensor:
        """Return the columns of all processes side by side, shape (..., sum(widths)). `columns`: shape (..., own width)."""
        rows, widest, width = prod(columns.shape[:-1]), max(widths), sum(widths)
        whole = columns.new_empty((*columns.shape[:-1], width), device="cpu", pin_memory=columns.is_cuda)
        own, places = columns.reshape(rows, columns.shape[-1]), torch.split(whole.view(rows, width), list(widths), 1)
        across = min(widest, SLOT_BYTES // columns.element_size())
        down = max(1, SLOT_BYTES // (across * columns.element_size()))
        for left in range(0, widest, across):
            for top in range(0, rows, down):
                tiles = [place[top : top + down, left : left + across] for place in places]
                tile = own[top : top + down, left : left + across].contiguous()
                parts = self._swap(tile, [tile.numel() for tile in tiles], _GATHER, rows)
                for out, part in zip(tiles, parts, strict=True):
                    out.copy_(part.view(out.shape))
        return whole.to(columns.device)

    def compare(self, values: Tensor) -> list[Tensor]:
        """Return these values of each process, in their order. At most as many as fit into a slot are compared."""
        own = values[: SLOT_BYTES // values.element_size()]
        return [part.clone() for part in self._swap(own, [len(own)] * self.count, _COMPARE, len(own))]

    def _swap(self, own: Tensor, lengths: Sequence[int], kind: int, size: int) -> list[Tensor]:
        """Return the vector of each process, of its length: memory that is written again in the next exchange but one.
        `kind`, `size`: the same in all. Raises: InvalidWorkload: they are not."""
        turn = self.exchanged % 2
        self.exchanged += 1
        slots = [
            slots[turn][: length * own.element_size()].view(own.dtype) for slots, length in zip(self._slots, lengths, strict=True)
        ]
        slots[self.number].copy_(own.view(-1))
        message = _MESSAGE.pack(self.number, kind, size)
        others = [number for number in range(self.count) if number != self.number]
        for number in others:
            with suppress(BrokenPipeError):  # it has ended, which the wait for it finds out
                os.write(self._inboxes[number][1].fileno(), message)
        for number in others:
            if self._next_of(number) != (kind, size):
                raise InvalidWorkload(
                    "roles.worker.group.tensor: the processes of the worker came to different places of loss(), as if it went by "
                    "a clock or by something else that differs between them; let it compute the same for the same mini-batch"
                )
        return slots

    def _next_of(self, number: int) -> tuple[int, int]:
        """Return what this process says next. Waits for it. Raises: ExchangeBroken."""
        inbox = self._inboxes[self.number][0].fileno()
        while not self._come[number]:
            try:
                self._wait_for(inbox)
            except Exception as error:
                raise ExchangeBroken(error) from error
            for sender, kind, size in _MESSAGE.iter_unpack(os.read(inbox, 64 * _MESSAGE.size)):
                self._come[sender].append((kind, size))
        return self._come[number].popleft()
