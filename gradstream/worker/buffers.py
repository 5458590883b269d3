"""The buffers of a model: what it keeps beside its parameters and has in its state_dict, such as BatchNorm's means."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from gradstream.center.entries import Buffers
from gradstream.errors import InvalidWorkload


@dataclass(frozen=True)
class _Place:
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
        self._floats: list[_Place] = []
        self._ints: list[_Place] = []
        seen: set[int] = set()
        for prefix, module in model.named_modules():
            for key, b in module._buffers.items():
                if b is None or id(b) in seen or key in module._non_persistent_buffers_set:
                    continue
                seen.add(id(b))
                places = self._floats if b.is_floating_point() or b.is_complex() else self._ints
                places.append(_Place(module, key, plain_name(f"{prefix}.{key}" if prefix else key), b.shape))

    def copied(self, dtype: torch.dtype) -> Buffers | None:
        """On the CPU: floats in this dtype, integers as int64; None, if there are none."""
        if not self._floats and not self._ints:
            return None
        return Buffers(_joined(self._floats, dtype), _joined(self._ints, torch.int64))

    def places(self) -> dict[int, tuple[str, int]]:
        """By the `id` of a buffer: which vector of `copied` has it (`floats`, `ints`), and where its values begin there."""
        found: dict[int, tuple[str, int]] = {}
        for vector, places in (("floats", self._floats), ("ints", self._ints)):
            start = 0
            for place in places:
                found[id(place.module._buffers[place.key])] = vector, start
                start += place.now().numel()
        return found

    def load(self, buffers: Buffers) -> None:
        """Of longer vectors, as many values as the model has."""
        for flat, places in ((buffers.floats, self._floats), (buffers.ints, self._ints)):
            start = 0
            for b in (place.now() for place in places):
                b.copy_(flat[start : start + b.numel()].view(b.shape))
                start += b.numel()


def plain_name(name: str) -> str:
    """Of a tensor in the state_dict, as if nothing was compiled: torch.compile puts a module into another one."""
    return ".".join(part for part in name.split(".") if part != "_orig_mod")


def _joined(places: list[_Place], dtype: torch.dtype) -> Tensor:
    parts = [place.now().reshape(-1).to("cpu", dtype) for place in places]
    return torch.cat(parts) if parts else torch.empty(0, dtype=dtype)
