"""Where observations of user code go: into those of the innermost `recording`. Outside of one they are checked only.

A context variable holds them, as each greenlet of the simulator has a context of its own.
"""

from __future__ import annotations

from contextvars import ContextVar, Token
from types import TracebackType

import numpy as np
import torch
from torch import Tensor

from gradstream.accuracy import described
from gradstream.errors import InvalidWorkload
from gradstream.observations.histograms import Floats, Observations

_current: ContextVar[Observations | None] = ContextVar("observations", default=None)


class recording:
    """Inside, observations are added to `into`. A class, since each mini-batch passes one."""

    def __init__(self, into: Observations) -> None:
        self._into = into

    def __enter__(self) -> None:
        self._token: Token[Observations | None] = _current.set(self._into)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        _current.reset(self._token)


def record(logits: object, labels: object, weights: object) -> None:
    """See `Workload.observe`. Raises: InvalidWorkload."""
    shape = _tensor(logits, "logits").shape
    if _tensor(labels, "labels").shape != shape:
        raise InvalidWorkload(
            f"observe: labels are {described(labels)} and logits {described(logits)}; give one label for each logit, such as "
            "observe(logits.squeeze(-1), labels)"
        )
    if isinstance(weights, Tensor) and weights.ndim and weights.shape != shape:
        raise InvalidWorkload(
            f"observe: weights are {described(weights)} and logits {described(logits)}; give one weight for each logit, or a number"
        )
    at, of = _values(logits, "logits"), _values(labels, "labels")
    if not np.isfinite(at).all():
        raise InvalidWorkload("observe: the logits hold a NaN or an infinity; lower the learning rate, or look at the inputs")
    if not ((of >= 0) & (of <= 1)).all():
        raise InvalidWorkload("observe: the labels hold a value outside of 0 to 1; give the class, or the share that is positive")
    by = np.broadcast_to(_values(weights, "weights"), at.shape)
    if not ((by >= 0) & (by < np.inf)).all():
        raise InvalidWorkload("observe: the weights hold a value that is negative or not finite; leave out what counts nothing")
    if into := _current.get():
        into.observe(at, of, by)


def _tensor(value: object, name: str) -> Tensor:
    if not isinstance(value, Tensor) or value.is_complex():
        raise InvalidWorkload(f"observe: {name} must be a tensor of real numbers, not {described(value)}")
    return value


def _values(value: object, name: str) -> Floats:
    """Return the values as a vector, in float64."""
    if isinstance(value, int | float):
        return np.full(1, float(value))
    return _tensor(value, name).detach().to("cpu", torch.float64).reshape(-1).numpy()
