"""A linear layer that several processes compute in part, as in Megatron-LM.

    colwise    y_k = f(x) A_k              A = [A_1, A_2, ...], in columns: each process has some outputs
    rowwise    y   = g(sum of x_k B_k)     B in rows, below one another: each process has some inputs

    f          forward: x as it is         backward: the sum over the processes
    g          forward: the sum            backward: the gradient as it is

Between the two, what works element by element needs no exchange. `nn.Linear` keeps its weight transposed: there columns
of A are rows.

Source: Shoeybi et al. 2019, "Megatron-LM: Training Multi-Billion Parameter Language Models Using Model Parallelism".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import Function, once_differentiable

from gradstream.group.tensor.exchange import PeerExchange


class CopyToPeers(Function):
    """f."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, exchange: PeerExchange) -> Tensor:
        ctx.exchange = exchange
        return x.view_as(x)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Any:
        return ctx.exchange.sum(gradient), None


class SumOverPeers(Function):
    """g."""

    @staticmethod
    def forward(_ctx: Any, x: Tensor, exchange: PeerExchange) -> Tensor:
        return exchange.sum(x)

    @staticmethod
    @once_differentiable
    def backward(_ctx: Any, gradient: Tensor) -> Any:
        return gradient, None


class GatherColumns(Function):
    """Forward: the columns of all processes. Backward: one's own columns."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, exchange: PeerExchange, widths: Sequence[int]) -> Tensor:
        ctx.number, ctx.widths = exchange.number, list(widths)
        return exchange.gather(x, widths)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Any:
        return torch.split(gradient, ctx.widths, -1)[ctx.number], None, None


class SplitColumns(Function):
    """Forward: one's own columns. Backward: the columns of all processes."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, exchange: PeerExchange, widths: Sequence[int]) -> Tensor:
        ctx.exchange, ctx.widths = exchange, list(widths)
        return torch.split(x, ctx.widths, -1)[exchange.number].clone()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Any:
        return ctx.exchange.gather(gradient, ctx.widths), None, None


class CopyOnce:
    """f, once for one tensor: modules that have the same input, as the projections of attention do, share its exchange."""

    def __init__(self, exchange: PeerExchange) -> None:
        self._exchange = exchange
        self._last: tuple[Tensor, int, bool, Tensor] | None = None
        """The last input, its version, whether gradients were recorded, and the copy."""

    def __call__(self, x: Tensor) -> Tensor:
        if not x.requires_grad:
            return x
        last, now = self._last, (x._version, torch.is_grad_enabled())
        if last and last[0] is x and last[1:3] == now:
            return last[3]
        copy: Tensor = CopyToPeers.apply(x, self._exchange)  # type: ignore[no-untyped-call]
        self._last = x, *now, copy
        return copy

    def forget(self) -> None:
        """Free the memory of the last input."""
        self._last = None


def widths_of(size: int, count: int) -> list[int]:
    """Return how many rows or columns each process has, as `torch.chunk` splits: the last ones may have fewer, or none."""
    widest = -(-size // count)
    return [max(0, min(widest, size - widest * number)) for number in range(count)]
