"""`precision` of a job: autocast around `loss` and `evaluate`, and the loss scale of float16. Parameters stay float32."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn

from gradstream.errors import InvalidWorkload
from gradstream.model.buffers import plain_name
from gradstream.spec import JobSpec

_NARROW = {"bf16": torch.bfloat16, "fp16": torch.float16}
FIRST_SCALE = 2.0**16
GOOD_STEPS = 2000
"""Steps without an overflow, after which the scale is doubled."""
LEAST_SCALE = 2.0**-24
"""The scale falls no further: overflows at this one are not its fault, and it has to come back after them."""


def check_precision(spec: JobSpec, model: nn.Module) -> None:
    """Raises: InvalidWorkload: autocast would leave a parameter as it is."""
    if spec.precision == "fp32":
        return
    for name, p in model.named_parameters():
        if p.requires_grad and p.dtype is not torch.float32:
            raise InvalidWorkload(
                f"precision: {spec.precision} computes with float32 parameters, and {plain_name(name)} is {p.dtype}; make it "
                "float32 in model(), or remove precision"
            )


def narrowed(spec: JobSpec, model: nn.Module) -> AbstractContextManager[Any]:
    """The context in which the model's forward runs, on the device of its parameters."""
    dtype = _NARROW.get(spec.precision)
    if dtype is None:
        return nullcontext()
    first = next(model.parameters(), None)
    return torch.autocast("cpu" if first is None else first.device.type, dtype)


class LossScale:
    """The factor on a loss that keeps small gradients above zero in float16. An overflow halves it."""

    def __init__(self) -> None:
        self.value = FIRST_SCALE
        self.overflows = 0
        """Mini-batches with a gradient that was not finite."""
        self._good = 0

    def scaling(self, backward: Callable[[Tensor], None]) -> Callable[[Tensor], None]:
        """This backward at the scaled loss."""
        return scaled(backward, self.value)

    def unscale(self, trained: Sequence[nn.Parameter]) -> bool:
        """Divide the parameters' gradients by the scale. See `unscale_gradients`."""
        return self.unscale_gradients([p.grad for p in trained if p.grad is not None])

    def unscale_gradients(self, gradients: list[Tensor]) -> bool:
        """Divide them by the scale, and change it for the next mini-batch. Returns whether all are finite."""
        values = [gradient._values() if gradient.is_sparse else gradient for gradient in gradients]
        if values:
            torch._foreach_mul_(values, 1 / self.value)  # a power of two: no bit of a finite one is lost
        finite = all(bool(each.isfinite().all()) for each in values)
        self._good = self._good + 1 if finite else 0
        if not finite:
            self.value, self.overflows = max(self.value / 2, LEAST_SCALE), self.overflows + 1
        elif self._good == GOOD_STEPS:
            self.value, self._good = self.value * 2, 0
        return finite

    def state(self) -> dict[str, Any]:
        return {"value": self.value, "overflows": self.overflows, "good": self._good}

    def load(self, state: dict[str, Any]) -> None:
        self.value, self.overflows, self._good = state["value"], state["overflows"], state["good"]


def scaled(backward: Callable[[Tensor], None], scale: float) -> Callable[[Tensor], None]:
    """Return this backward at the loss times `scale`."""
    return lambda loss: backward(loss.float() * scale)


def loss_scale(spec: JobSpec) -> LossScale | None:
    """None: the job does not compute in float16."""
    return LossScale() if spec.precision == "fp16" else None
