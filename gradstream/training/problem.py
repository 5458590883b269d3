"""A problem that a replica trains: it gives gradients. Either a model with data (`gradstream.model.flat_model`), or a formula
(`gradstream.sim.toys`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol, runtime_checkable

from torch import Tensor

from gradstream.center.entries import Buffers
from gradstream.center.positions import Place
from gradstream.center.tables.payload import FoundRows, RowGradients, RowKeys
from gradstream.observations.histograms import Observations
from gradstream.optim.flat import VectorOptimizer
from gradstream.optim.parameters import ParameterShape
from gradstream.optim.spec import Optimizer
from gradstream.training.granted import GrantedBatches


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
    """Examples that all workers train in all; 0: the job never ends by itself."""
    epoch_samples: int | None
    """Examples of one pass of all workers over the data; None: not known."""

    def gradient(self, position: int) -> Gradient:
        """Return the gradient at theta over the mini-batch number `position`, from 0."""

    def buffers(self) -> Buffers | None:
        """Return the model's buffers as they are now; None if it has none."""

    def load_buffers(self, buffers: Buffers) -> None: ...
    def state(self) -> dict[str, Any]:
        """Return the other state that the next mini-batch depends on: random number generators, buffers."""

    def load(self, state: dict[str, Any]) -> None: ...


@runtime_checkable
class Gathers(Protocol):
    """A problem that gathers its gradients, and so can gather them in the buffer that they are sent from."""

    def gather_into(self, out: Tensor, wait_for_push: Callable[[], None], send_ahead: Callable[[int], None] | None) -> None:
        """Write gradients into `out`, shape (size,), each after `wait_for_push()`.

        The problem calls `send_ahead(-1)`, if given, before each gradient, `send_ahead(start)` when everything from `start` on is
        there, and `send_ahead(0)` when it is whole."""


@runtime_checkable
class StaysInPlace(Protocol):
    """A problem whose theta other processes see, so that it may not be set to another vector."""

    stays_in_place: bool


@runtime_checkable
class MakesOptimizer(Protocol):
    """A problem whose processes step on theta together."""

    def make_optimizer(self, rule: Optimizer, lr: float) -> VectorOptimizer:
        """Return an optimizer that steps on theta by this rule. `lr` is used unless the rule names one."""


@runtime_checkable
class InPieces(Protocol):
    """A problem whose gradient is in pieces before it is one vector: for a plain step the pieces are enough."""

    def differentiate(self, position: int) -> tuple[float, int]:
        """Leave the gradient at theta over the mini-batch number `position` in pieces. Returns (loss, examples)."""

    def descend(self, alpha: float) -> None:
        """Add alpha * the gradient that `differentiate` left to theta, with the bits of the same step on one vector."""


@runtime_checkable
class Overflows(Protocol):
    """A problem that computes in a narrow dtype, in which a gradient may overflow."""

    @property
    def overflowed(self) -> bool:
        """The last gradient was not finite, so that no step may be made along it."""


@runtime_checkable
class NamesParameters(Protocol):
    """A problem whose vector is that of a model."""

    @property
    def parameters(self) -> tuple[ParameterShape, ...]:
        """The parameters in theta, one behind another."""


def parameters_of(problem: Problem) -> tuple[ParameterShape, ...]:
    """Return the parameters in its vector; empty: the vector is one."""
    return problem.parameters if isinstance(problem, NamesParameters) else ()


@runtime_checkable
class HasTables(Protocol):
    """A problem whose model has embedding tables, perhaps none."""

    @property
    def tables(self) -> Mapping[str, int]:
        """The width of each table, by name."""

    def look_up_with(
        self, look_up: Callable[[Mapping[str, RowKeys]], Mapping[str, FoundRows]], await_asked: Callable[[], None]
    ) -> None:
        """Take rows from `look_up` from now on, and before that call `await_asked`, which waits until `hold_asked_rows` has got
        those that the last push asked for. Both are called in the midst of a gradient, and wait for a response."""

    def take_row_gradients(self) -> Mapping[str, RowGradients]:
        """Return and forget the gradients of rows since the last call. Other rows are used from now on."""

    def keys_ahead(self, position: int, batches: int) -> Mapping[str, RowKeys] | None:
        """Return the keys of so many mini-batches from this one on, as far as they are known; None: of none. The problem may take
        these mini-batches early."""

    def hold_asked_rows(self, found: Mapping[str, FoundRows]) -> None:
        """Use these rows until the gradients are taken: a push has asked for them."""

    def forget_asked_rows(self) -> None:
        """Look them up instead, and those of caches, too."""


@runtime_checkable
class Observes(Protocol):
    """A problem whose user code may observe its predictions."""

    def take_observations(self) -> Observations | None:
        """Return and forget what was observed since the last call; None: nothing."""


@runtime_checkable
class CountsPasses(Protocol):
    """A problem whose data comes in passes."""

    @property
    def passes_over(self) -> int:
        """Passes that are over for this worker with its last mini-batch."""


@runtime_checkable
class Follows(Protocol):
    """A problem whose data may still grow."""

    def has_data(self, position: int) -> bool:
        """Return whether the mini-batch of this position is there. False: it may come later."""

    def begins_pass(self, position: int) -> bool:
        """Return whether no round may go on from the mini-batch before this one. (Within a pass, a file may begin.)"""


@runtime_checkable
class HasPlace(Protocol):
    """A problem whose examples may have places instead of numbers."""

    def place(self) -> Place:
        """Return where this worker has got to. Empty: the number of mini-batches says it."""

    def go_to(self, position: int, place: Place) -> None:
        """Continue there, where an earlier incarnation of this rank had got to."""


@runtime_checkable
class Dealt(Protocol):
    """A problem whose mini-batches the servers may deal to workers on demand."""

    planned: int
    """Mini-batches of the job, whoever trains them; 0: each worker has a share of its own."""

    def take_from(self, granted: GrantedBatches) -> None:
        """Mini-batches will come in the order of these."""


@runtime_checkable
class Prepares(Protocol):
    """A problem that can use the time for which its worker waits."""

    def prepare(self, position: int) -> None:
        """Fetch the mini-batch number `position` early, if that changes nothing but the time of the fetch."""
