"""The weights in a checkpoint, by name. Shards save slices of one vector, without names and without frozen parameters. So
worker 0 stores beside the checkpoints the place of each tensor of the model, and the values of tensors that have none."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from gradstream.center.entries import Buffers
from gradstream.center.parameters.buffers import CenterBuffers
from gradstream.model.buffers import plain_name
from gradstream.model.flat_model import FlatModel
from gradstream.process.exits import UserError
from gradstream.process.saving.checkpoint_names import STATE_SUFFIXES, shard_part
from gradstream.process.saving.state_file import read_state
from gradstream.process.store import TENSORS

Fetch = Callable[[str], Path | None]
"""Returns a copy of a checkpoint's file (`shard-0.safetensors`), which the reader removes; None: there is no such file."""

_DTYPES = {str(dtype): dtype for dtype in vars(torch).values() if isinstance(dtype, torch.dtype)}


class _Place(NamedTuple):
    """The place of a tensor's values."""

    vector: str
    """`theta`, `floats` or `ints`: the center, or one of the vectors of its buffers."""
    start: int
    shape: tuple[int, ...]
    dtype: torch.dtype
    """The tensor's dtype; the vector may have a wider one."""

    @classmethod
    def load(cls, saved: tuple[Any, ...]) -> _Place:
        vector, start, shape, dtype = saved
        return cls(vector, start, shape, _DTYPES[str(dtype)])

    def saved(self) -> tuple[Any, ...]:
        """Return it as plain values."""
        return (*self[:-1], str(self.dtype))

    def read(self, vector: Tensor) -> Tensor:
        """Return the tensor; the vector holds a complex value as two."""
        shape = (*self.shape, 2) if self.dtype.is_complex else self.shape
        values = vector[self.start : self.start + torch.Size(shape).numel()].view(shape)
        return torch.view_as_complex(values.to(self.dtype.to_real())) if self.dtype.is_complex else values.to(self.dtype)


def describe_tensors(flat: FlatModel) -> dict[str, Any]:
    """Return the description that `read_weights` needs beside a checkpoint: tensors (not copied if on the CPU) and plain values."""
    starts = accumulate((p.numel() for p in flat.trained), initial=0)
    where = {id(p): ("theta", start) for p, start in zip(flat.trained, starts, strict=False)} | flat.buffer_places()
    placed: dict[str, tuple[Any, ...]] = {}
    kept: dict[str, Tensor] = {}
    for name, tensor in flat.model.state_dict(keep_vars=True).items():
        if id(tensor) in where:
            placed[plain_name(name)] = _Place(*where[id(tensor)], tuple(tensor.shape), tensor.dtype).saved()
        else:
            kept[plain_name(name)] = _alone(tensor.detach().cpu())
    return {"placed": placed, "kept": kept}


def read_weights(fetch: Fetch) -> dict[str, Tensor]:
    """Return the state_dict of a checkpoint's center, on the CPU; of its average, if the job evaluates that.

    Raises: UserError: a file of it is missing."""
    described = _load(fetch, Path(TENSORS).stem)
    first = _load(fetch, shard_part(0))
    states = [first["shard"]["center"]]
    states += [_load(fetch, shard_part(k))["shard"]["center"] for k in range(1, first["layout"]["servers"])]
    theta = torch.cat([state["theta"] if state["average"] is None else state["average"] for state in states])
    saved = states[0]["buffers"]
    return name_tensors(described, theta, CenterBuffers.load(saved).value() if saved else None)


def name_tensors(described: dict[str, Any], theta: Tensor, buffers: Buffers | None) -> dict[str, Tensor]:
    """Return the state_dict of a model. `described`: of `describe_tensors`. `theta`: the slices of all shards, joined."""
    buffers = buffers or Buffers(theta.new_empty(0), torch.empty(0, dtype=torch.int64))
    vectors = {"theta": theta, "floats": buffers.floats, "ints": buffers.ints}
    places = {name: _Place.load(place) for name, place in described["placed"].items()}
    kept: dict[str, Tensor] = described["kept"]
    return {name: place.read(vectors[place.vector]) for name, place in places.items()} | kept


def _load(fetch: Fetch, name: str) -> dict[str, Any]:
    """Map the file, so that only the values in use are read: a shard's file also holds the optimizer's state and more."""
    file = next((file for suffix in STATE_SUFFIXES if (file := fetch(name + suffix))), None)
    if file is None:
        raise UserError(
            f"start_from: the checkpoint that this job starts from has no file {name}{STATE_SUFFIXES[0]}; submit the job again"
        )
    found: dict[str, Any] = read_state(file)
    file.unlink()
    return found


def _alone(tensor: Tensor) -> Tensor:
    """Return the tensor, copied if it is a view: torch would save a view with the whole memory under it."""
    return tensor if tensor.untyped_storage().nbytes() == tensor.nbytes else tensor.clone()
