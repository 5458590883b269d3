"""The weights in a checkpoint, by name. Shards save slices of one vector, which has neither names nor what is not trained. So
worker 0 stores beside the checkpoints where each tensor of the model lies, and the values of those that lie nowhere."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from gradstream.center.buffers import CenterBuffers
from gradstream.center.entries import Buffers
from gradstream.process.exits import UserError
from gradstream.process.store import TENSORS
from gradstream.worker.buffers import plain_name
from gradstream.worker.model import FlatModel

Fetch = Callable[[str], Path | None]
"""Gives a copy of a checkpoint's file (`shard-0.pt`), which is removed after reading."""


class _Place(NamedTuple):
    """Where the values of a tensor lie; saved as a plain tuple."""

    vector: str
    """`theta`, `floats` or `ints`: the center, or one of the vectors of its buffers."""
    start: int
    shape: tuple[int, ...]
    dtype: torch.dtype
    """Of the tensor; the vector may have a wider one."""

    def read(self, vector: Tensor) -> Tensor:
        """Complex values stand as two."""
        shape = (*self.shape, 2) if self.dtype.is_complex else self.shape
        values = vector[self.start : self.start + torch.Size(shape).numel()].view(shape)
        return torch.view_as_complex(values.to(self.dtype.to_real())) if self.dtype.is_complex else values.to(self.dtype)


def describe_tensors(flat: FlatModel) -> dict[str, Any]:
    """What `read_weights` has to know beside a checkpoint: tensors and plain values. Tensors of the CPU are not copied."""
    starts = accumulate((p.numel() for p in flat.trained), initial=0)
    where = {id(p): ("theta", start) for p, start in zip(flat.trained, starts, strict=False)} | flat.buffer_places()
    placed: dict[str, tuple[Any, ...]] = {}
    kept: dict[str, Tensor] = {}
    for name, tensor in flat.model.state_dict(keep_vars=True).items():
        if id(tensor) in where:
            placed[plain_name(name)] = tuple(_Place(*where[id(tensor)], tuple(tensor.shape), tensor.dtype))
        else:
            kept[plain_name(name)] = _alone(tensor.detach().cpu())
    return {"placed": placed, "kept": kept}


def read_weights(fetch: Fetch) -> dict[str, Tensor]:
    """The state_dict that the center of a checkpoint stands for, on the CPU: of its average, if the job evaluates that.

    Raises: UserError: a file of it is missing."""
    described = _load(fetch, TENSORS)
    first = _load(fetch, "shard-0.pt")
    states = [first["shard"]["center"]]
    states += [_load(fetch, f"shard-{k}.pt")["shard"]["center"] for k in range(1, first["layout"]["servers"])]
    theta = torch.cat([state["theta"] if state["average"] is None else state["average"] for state in states])
    saved = states[0]["buffers"]
    buffers = CenterBuffers.load(saved).value() if saved else Buffers(theta.new_empty(0), torch.empty(0, dtype=torch.int64))
    vectors = {"theta": theta, "floats": buffers.floats, "ints": buffers.ints}
    places = {name: _Place(*place) for name, place in described["placed"].items()}
    kept: dict[str, Tensor] = described["kept"]
    return {name: place.read(vectors[place.vector]) for name, place in places.items()} | kept


def _load(fetch: Fetch, name: str) -> dict[str, Any]:
    """Read as far as it is used: beside the center, a shard's file holds the optimizer's state and more."""
    file = fetch(name)
    if file is None:
        raise UserError(f"start_from: the checkpoint that this job starts from has no file {name}; submit the job again")
    found: dict[str, Any] = torch.load(file, map_location="cpu", mmap=True, weights_only=True)
    file.unlink()
    return found


def _alone(tensor: Tensor) -> Tensor:
    """The same, if it has memory of its own: a view is saved with all of what it is a view of."""
    return tensor if tensor.untyped_storage().nbytes() == tensor.nbytes else tensor.clone()
