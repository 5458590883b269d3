"""Requests of the lead of a group to its peers, and the answer to one that makes them compute."""

from __future__ import annotations

from typing import Any, NamedTuple

from torch import Tensor

from gradstream.model.parts import MicroBatch
from gradstream.user_logging.scalars import Taken


class Train(NamedTuple):
    """Compute the gradient of these parts of a mini-batch."""

    position: int
    epoch: int
    """Number of the pass over the data."""
    shares: list[MicroBatch]
    scale: float | None
    """Factor on the loss in float16; None: another precision."""


class Check(NamedTuple):
    """Return the loss of a part, computed in stages without training, in the last stage; else 0."""

    part: Any


class TakeBuffers(NamedTuple):
    """Return the model's buffers."""


class LoadBuffers(NamedTuple):
    floats: Tensor
    ints: Tensor


class TakeState(NamedTuple):
    """Return the state for a checkpoint."""


class LoadState(NamedTuple):
    state: dict[str, Any]


Request = Train | Check | TakeBuffers | LoadBuffers | TakeState | LoadState


class Trained(NamedTuple):
    loss: float
    """The sum of the parts' losses, each times its share."""
    observed: str
    """Packed observations; empty: none."""
    logged: dict[str, Taken]
    """The values that the workload has logged, as `LoggedScalars.take_weighted` gives them."""
    reached: list[int] | None = None
    """The parameters that have a gradient here, by index; None: all, so the peer has left a whole vector."""
