"""The buffers of a model: what it keeps beside its parameters and has in its state_dict, such as BatchNorm's means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from gradstream.center.entries import Buffers
from gradstream.errors import InvalidWorkload


@dataclass(frozen=True)
class _BufferPlace:
    """Where a module keeps a buffer. It may put another tensor there."""

    module: nn.Module
    key: str
    name: str
    shape: torch.Size

    def now(self) -> Tensor:
        """Raises: InvalidWorkload, if it has changed its shape."""
        found = self.module._buffers[self.key]
        if found is None or found.shape != self.shape:
            shape = None if found is None else tuple(found.shape)
            raise InvalidWorkload(
                f"the buffer {self.name} of shape {tuple(self.shape)} became {shape}, and those of all workers are averaged; "
                "register it with persistent=False if each may have its own"
            )
        return torch.view_as_real(found.detach()) if found.is_complex() else found.detach()


class ModelBuffers:
    """Complex values count as two. Buffers that are not persistent are left out: they stay where they are."""

    def __init__(self, model: nn.Module) -> None:
        self._floats: list[_BufferPlace] = []
        self._ints: list[_BufferPlace] = []
        seen: set[int] = set()
        for prefix, module in model.named_modules():
            for key, b in module._buffers.items():
                if b is None or id(b) in seen or key in module._non_persistent_buffers_set:
                    continue
                seen.add(id(b))
                places = self._floats if b.is_floating_point() or b.is_complex() else self._ints
                places.append(_BufferPlace(module, key, plain_name(f"{prefix}.{key}" if prefix else key), b.shape))

    def copied(self, dtype: torch.dtype) -> Buffers | None:
        """Return copies on the CPU: floats in this dtype, integers as int64; None if the model has no buffers."""
        if not self._floats and not self._ints:
            return None
        return Buffers(_joined(self._floats, dtype), _joined(self._ints, torch.int64))

    def places(self) -> dict[int, tuple[str, int]]:
        """Return by the `id` of each buffer its vector in `copied` (`floats`, `ints`) and the index of its first value."""
        found: dict[int, tuple[str, int]] = {}
        for vector, places in (("floats", self._floats), ("ints", self._ints)):
            start = 0
            for place in places:
                found[id(place.module._buffers[place.key])] = vector, start
                start += place.now().numel()
        return found

    def load(self, buffers: Buffers) -> None:
        """Load the model's buffers from the first values of these vectors, which may be longer."""
        for flat, places in ((buffers.floats, self._floats), (buffers.ints, self._ints)):
            start = 0
            for b in (place.now() for place in places):
                b.copy_(flat[start : start + b.numel()].view(b.shape))
                start += b.numel()


def mean_of(found: Sequence[Buffers]) -> Buffers:
    """Return the mean of buffers; integers, such as counts of mini-batches, are rounded down."""
    floats, ints = (torch.stack(list(vectors)) for vectors in zip(*found, strict=True))
    return Buffers(floats.mean(0), ints.sum(0) // len(found))


def without_buffers(states: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the states of processes without their buffers."""
    return [{**state, "buffers": None} for state in states]


def plain_name(name: str) -> str:
    """Return a tensor's state_dict name without the wrapper modules of torch.compile."""
    return ".".join(part for part in name.split(".") if part != "_orig_mod")


def _joined(places: list[_BufferPlace], dtype: torch.dtype) -> Tensor:
    parts = [place.now().reshape(-1).to("cpu", dtype) for place in places]
    return torch.cat(parts) if parts else torch.empty(0, dtype=dtype)
