"""The values of parameters in the host's memory, and memory on a device for some of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

_LINE = 512
"""Bytes: a parameter begins at the same place within such a line as it does in theta. The bits of a product may depend on it."""


class HostValues(NamedTuple):
    """The values of parameters in the host's memory."""

    theta: Tensor
    places: Mapping[int, slice]
    """In theta, by the id of a trained parameter."""

    def of(self, p: nn.Parameter) -> Tensor:
        """Return them in the shape of the parameter. One that does not train has them itself, until it moves."""
        return self.theta[self.places[id(p)]].view(p.shape) if id(p) in self.places else p.data

    def runs(self, parameters: Iterable[nn.Parameter]) -> tuple[list[list[nn.Parameter]], list[nn.Parameter]]:
        """Return those that stand one behind another in theta, and those of another dtype or that do not train."""
        runs, apart, end = list[list[nn.Parameter]](), list[nn.Parameter](), -1
        for p in parameters:
            place = self.places.get(id(p))
            if place is None or p.dtype != self.theta.dtype:
                apart.append(p)
                continue
            if place.start != end:
                runs.append([])
            runs[-1].append(p)
            end = place.stop
        return runs, apart

    def place_of(self, run: Sequence[nn.Parameter]) -> slice:
        """Return the place in theta of parameters that stand one behind another."""
        return slice(self.places[id(run[0])].start, self.places[id(run[-1])].stop)


def empty_like_part(theta: Tensor, place: slice, device: torch.device) -> Tensor:
    """Return a vector for this part of theta, which begins at the same place within a line."""
    shift = place.start * theta.element_size() % _LINE // theta.element_size()
    return torch.empty(shift + place.stop - place.start, dtype=theta.dtype, device=device)[shift:]


def hollow(p: Tensor, device: torch.device, value: float = 0) -> Tensor:
    """Return a tensor of this shape and dtype on the device that has memory for one element."""
    return torch.full((), value, dtype=p.dtype, device=device).expand(p.shape)
