"""What a replica trains: something that gives gradients. A model with data (`gradstream.worker.model`), or a formula
(`gradstream.sim.toys`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, runtime_checkable

from torch import Tensor

from gradstream.center.entries import Buffers


class Gradient(NamedTuple):
    g: Tensor
    """Gradient of the mean loss, shape (size,). Overwritten by the next one."""
    loss: float
    examples: int


class Problem(Protocol):
    theta: Tensor
    """The parameters that gradients are taken at, shape (size,): theta_0 at first. May be set to another vector like it that
    holds the parameters already."""
    total: int
    """Mini-batches that this worker trains in all."""
    per_epoch: int
    """Mini-batches in one pass over this worker's share of the data."""
    total_samples: int
    """Examples that all workers train in all."""
    epoch_samples: int | None
    """Examples of one pass of all workers over the data; None: not known."""

    def gradient(self, position: int) -> Gradient:
        """At theta, over the mini-batch number `position`, from 0."""

    def buffers(self) -> Buffers | None:
        """The model's buffers as they are now; None if it has none."""

    def load_buffers(self, buffers: Buffers) -> None: ...
    def state(self) -> dict[str, Any]:
        """What else the next mini-batch depends on: generators of random numbers, buffers."""

    def load(self, state: dict[str, Any]) -> None: ...


@runtime_checkable
class Gathers(Protocol):
    """A problem that puts its gradients together, so it can do that where they travel from."""

    def gather_into(self, out: Tensor, settle: Callable[[], None], flow: Callable[[int], None] | None) -> None:
        """Leave gradients in `out`, shape (size,), after `settle()` each time. With a `flow`, `flow(-1)` is called
        before each gradient, `flow(start)` when everything from `start` on is there, and `flow(0)` when it is whole."""


@runtime_checkable
class InPieces(Protocol):
    """A problem whose gradient is in pieces before it is one vector: for a plain step the pieces are enough."""

    def differentiate(self, position: int) -> tuple[float, int]:
        """Leave the gradient at theta over the mini-batch number `position` in pieces. Returns (loss, examples)."""

    def descend(self, alpha: float) -> None:
        """theta += alpha * the gradient that was left: the bits of the same with one vector."""


@runtime_checkable
class Prepares(Protocol):
    """A problem that can use the time for which its worker waits."""

    def prepare(self, position: int) -> None:
        """Have the mini-batch number `position` ready, if that changes nothing but when it is fetched."""
