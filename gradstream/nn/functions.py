"""Differentiable gathers of rows: compiled loops on CPUs, torch's own operations elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.autograd.function import once_differentiable

from gradstream.nn import kernels
from gradstream.nn.ids import as_array


class GatherRows(torch.autograd.Function):
    """The row of each number; 0 where the number is below 0."""

    @staticmethod
    def forward(ctx: Any, rows: torch.Tensor, numbers: NDArray[np.int64]) -> torch.Tensor:
        ctx.numbers, ctx.count = numbers, len(rows)
        return torch.from_numpy(kernels.gather(as_array(rows), numbers))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradients: torch.Tensor) -> tuple[torch.Tensor, None]:
        return torch.from_numpy(kernels.scatter_add(as_array(gradients.float()), ctx.numbers, ctx.count)), None


class SumBags(torch.autograd.Function):
    """Weighted sums of the rows of each bag."""

    @staticmethod
    def forward(
        ctx: Any, rows: torch.Tensor, weights: torch.Tensor, numbers: NDArray[np.int64], bags: NDArray[np.int64], count: int
    ) -> torch.Tensor:
        ctx.save_for_backward(rows, weights)
        ctx.numbers, ctx.bags = numbers, bags
        return torch.from_numpy(kernels.bag_sums(as_array(rows), numbers, bags, as_array(weights), count))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradients: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor | None, None, None, None]:
        rows, weights = (as_array(saved) for saved in ctx.saved_tensors)
        given, of_weights = as_array(gradients.float()), None
        if ctx.needs_input_grad[1]:
            of_weights = torch.from_numpy(kernels.bag_weights_backward(given, rows, ctx.numbers, ctx.bags))
        of_rows = kernels.bag_sums_backward(given, ctx.numbers, ctx.bags, weights, len(rows))
        return torch.from_numpy(of_rows), of_weights, None, None, None


class LargestOfBags(torch.autograd.Function):
    """The largest value of each column in each bag."""

    @staticmethod
    def forward(ctx: Any, rows: torch.Tensor, numbers: NDArray[np.int64], bags: NDArray[np.int64], count: int) -> torch.Tensor:
        out, ctx.winners = kernels.bag_largest(as_array(rows), numbers, bags, count)
        ctx.count = len(rows)
        return torch.from_numpy(out)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradients: torch.Tensor) -> tuple[torch.Tensor, None, None, None]:
        return torch.from_numpy(kernels.bag_largest_backward(as_array(gradients.float()), ctx.winners, ctx.count)), None, None, None


def gather_rows(rows: torch.Tensor, numbers: NDArray[np.int64]) -> torch.Tensor:
    """One row for each number; 0 where the number is below 0."""
    if rows.device.type == "cpu":
        return GatherRows.apply(rows, numbers)  # type: ignore[no-any-return, no-untyped-call]
    return _with_padding(rows)[_on(rows, numbers)]


def sum_bags(
    rows: torch.Tensor, weights: torch.Tensor, numbers: NDArray[np.int64], bags: NDArray[np.int64], count: int
) -> torch.Tensor:
    """One weighted sum for each of `count` bags. `weights`, `bags`: of each number."""
    if rows.device.type == "cpu":
        return SumBags.apply(rows, weights, numbers, bags, count)  # type: ignore[no-any-return, no-untyped-call]
    held = _with_padding(rows)[_on(rows, numbers)] * weights[:, None]
    return rows.new_zeros(count, rows.shape[1]).index_add(0, _on(rows, bags), held)


def largest_of_bags(rows: torch.Tensor, numbers: NDArray[np.int64], bags: NDArray[np.int64], count: int) -> torch.Tensor:
    """The largest value of each column in each of `count` bags; 0 in an empty one."""
    if rows.device.type == "cpu":
        return LargestOfBags.apply(rows, numbers, bags, count)  # type: ignore[no-any-return, no-untyped-call]
    real = numbers >= 0
    held, where = rows[_on(rows, numbers[real])], _on(rows, bags[real])[:, None].expand(-1, rows.shape[1])
    return rows.new_zeros(count, rows.shape[1]).scatter_reduce(0, where, held, "amax", include_self=False)


def _with_padding(rows: torch.Tensor) -> torch.Tensor:
    """The rows, with zeros behind them for number -1."""
    return torch.cat([rows, rows.new_zeros(1, rows.shape[1])])


def _on(rows: torch.Tensor, numbers: NDArray[np.int64]) -> torch.Tensor:
    return torch.from_numpy(numbers).to(rows.device)
