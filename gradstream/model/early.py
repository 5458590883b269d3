"""Gradients that leave while backward still runs: each is put where it travels from as soon as it is there.

Backward goes from the last layer to the first, and parameters stand in the vector from the first to the last: so what is there
grows from the end, and everything from some place on may go. Only where vectors travel through Redis or by gloo; in shared memory
there is nothing to wait for, and one copy of all is cheaper than one of each.

Source: Li et al. 2020, "PyTorch Distributed: Experiences on Accelerating Data Parallel Training" (buckets by hooks).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from torch import Tensor, nn


class EarlyGradients:
    def __init__(
        self, parameters: Sequence[nn.Parameter], out: Tensor, wait_for_push: Callable[[], None], send_ahead: Callable[[int], None]
    ) -> None:
        """`out`: shape (size,), the gradients in the order of `parameters`. See `gradstream.training.problem.Gathers`."""
        self._parameters, self._wait_for_push, self._send_ahead = list(parameters), wait_for_push, send_ahead
        self._out, self._starts, self._places = out, [0], list[Tensor]()
        for p in self._parameters:
            start = self._starts[-1]
            self._places.append(out[start : start + p.numel()].view(p.shape))
            self._starts.append(start + p.numel())
        self._runs = False
        self._missing, self._final = set(range(len(self._parameters))), len(self._parameters)
        """Parameters whose gradients are not there yet; the one from which on none is missing."""
        for i, p in enumerate(self._parameters):
            p.register_post_accumulate_grad_hook(partial(self._came, i))  # type: ignore[no-untyped-call]

    def during(self, backward: Callable[[Tensor], None]) -> Callable[[Tensor], None]:
        """This backward, in which gradients leave. One that a loss makes for itself only adds to them."""

        def watched(loss: Tensor) -> None:
            self._runs = True
            try:
                backward(loss)
            finally:
                self._runs = False

        return watched

    def gathered(self) -> Tensor:
        """All of them, when backward is over. A missing gradient is 0, or came by another way."""
        self._begin()
        for index in sorted(self._missing):
            self._put(index)
        self._missing, self._final = set(range(len(self._parameters))), len(self._parameters)
        self._send_ahead(0)
        return self._out

    def _begin(self) -> None:
        """Before the first one of a mini-batch: an earlier gradient may have gone that was never pushed."""
        if len(self._missing) == len(self._parameters):
            self._wait_for_push()
            self._send_ahead(-1)

    def _came(self, index: int, p: Tensor) -> None:
        if not self._runs:
            return
        if index not in self._missing:  # of a part of the model that is computed in pieces, by a backward of its own for each
            self._places[index].add_(self._gradient(index))
            self._parameters[index].grad = None
            self._send_ahead(-1)
            return
        self._begin()
        self._put(index)
        self._missing.discard(index)
        before = self._final
        while self._final and self._final - 1 not in self._missing:
            self._final -= 1
        if self._final < before:
            self._send_ahead(self._starts[self._final])

    def _put(self, index: int) -> None:
        if self._parameters[index].grad is None:
            self._places[index].zero_()
        else:
            self._places[index].copy_(self._gradient(index))
        self._parameters[index].grad = None

    def _gradient(self, index: int) -> Tensor:
        grad = self._parameters[index].grad
        assert grad is not None, "it has just come"
        return grad.to_dense() if grad.is_sparse else grad
