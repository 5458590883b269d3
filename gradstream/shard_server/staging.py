"""Between the host's memory, where vectors travel, and the device on which a shard computes with them.

    in     registered shared memory                  ->  the vector of this incarnation on the device
           other shared memory, or parts from Redis  ->  a chunk of pinned memory  ->  that vector
    out    theta                                     ->  the shared memory of each worker on this host that gets it
           theta, or a response's own vector         ->  pinned memory, once for all others who get it

Two chunks are used in turn: one is filled while the other one is on its way. All copies and all computations of a shard are in one
stream of its device, so each sees what was ordered before it; the host waits for an event where it uses memory again, and before
it reads. On the CPU, where nothing has to be waited for, the same code runs in tests.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from msgspec.structs import replace
from torch import Tensor

from gradstream.center.entries import Payload, Response
from gradstream.shard_server.response_messages import Incarnation

CHUNK = 1 << 23
"""Bytes."""


class Staging:
    def __init__(
        self, device: torch.device, chunk: int = CHUNK, is_registered: Callable[[Tensor], bool] = Tensor.is_pinned
    ) -> None:
        """`chunk`: bytes of pinned memory that a vector goes through; a multiple of 8. `is_registered(x)`: the device can copy
        from `x` by itself."""
        self._device, self._chunk, self._is_registered = device, chunk, is_registered
        self._pinned = device.type == "cuda"
        self._chunks = [self._host(chunk, torch.uint8) for _ in range(2)]
        self._left = [_Mark(device) for _ in self._chunks]
        """Marks after which the copy of each chunk is on the device."""
        self._vectors: dict[Incarnation, Tensor] = {}
        self._given: dict[int, Tensor] = {}
        self._taken, self._all_given = _Mark(device), _Mark(device)

    def take(self, payload: Payload, incarnation: Incarnation) -> Payload:
        """The payload with its vector on the device, valid until this incarnation's next one is taken. The vector in the host's
        memory may change as soon as this returns."""
        x = payload.x
        there = self._vectors.get(incarnation)
        if there is None or (there.shape, there.dtype) != (x.shape, x.dtype):
            there = self._vectors[incarnation] = torch.empty_like(x, device=self._device)
        if self._is_registered(x):
            there.copy_(x, non_blocking=True)
            self._taken.set()
            self._taken.wait()
        else:
            self._take_in_chunks(x.view(torch.uint8), there.view(torch.uint8))
        return payload._replace(x=there)

    def _take_in_chunks(self, source: Tensor, target: Tensor) -> None:
        for number, start in enumerate(range(0, len(source), self._chunk)):
            chunk, left = self._chunks[number % 2], self._left[number % 2]
            part = source[start : start + self._chunk]
            left.wait()
            on_its_way = chunk[: len(part)]
            on_its_way.copy_(part)
            target[start : start + len(part)].copy_(on_its_way, non_blocking=True)
            left.set()

    def give(self, responses: list[Response], is_under_way: Callable[[Response], bool]) -> list[Response]:
        """The responses with their vectors in the host's memory, complete, and valid until this is called again.

        `is_under_way(response)`: a copy of its vector to where it belongs was ordered. It is complete when this returns."""
        copies: dict[int, Tensor] = {}
        given = []
        for response in responses:
            if response.payload is not None and not is_under_way(response):
                x = response.payload.x
                if x.data_ptr() not in copies:
                    copies[x.data_ptr()] = self._pinned_copy(len(copies), x).copy_(x, non_blocking=True)
                response = replace(response, payload=response.payload._replace(x=copies[x.data_ptr()]))
            given.append(response)
        if any(response.payload is not None for response in responses):
            self._all_given.set()
            self._all_given.wait()
        return given

    def drop_incarnation(self, incarnation: Incarnation) -> None:
        """Drop an incarnation, which pushes nothing any more. The rounds keep the pushes that wait for them."""
        self._vectors.pop(incarnation, None)

    def _pinned_copy(self, number: int, x: Tensor) -> Tensor:
        """Pinned memory for the copy of this number, the same one each time: to pin new pages takes long."""
        memory = self._given.get(number)
        if memory is None or (memory.shape, memory.dtype) != (x.shape, x.dtype):
            memory = self._given[number] = self._host(x.numel(), x.dtype)
        return memory

    def _host(self, count: int, dtype: torch.dtype) -> Tensor:
        return torch.empty(count, dtype=dtype, pin_memory=self._pinned)


class _Mark:
    """A place in the device's stream that the host can wait for. On the CPU everything is done when it returns."""

    def __init__(self, device: torch.device) -> None:
        self._event = torch.cuda.Event() if device.type == "cuda" else None  # type: ignore[no-untyped-call]

    def set(self) -> None:
        """Behind all that was ordered so far."""
        if self._event:
            self._event.record()

    def wait(self) -> None:
        """At once, if it was never set."""
        if self._event:
            self._event.synchronize()
