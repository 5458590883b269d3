"""A workload's model and its share of the data, as a problem that a replica trains."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from gradstream.center.entries import Buffers
from gradstream.center.positions import Place
from gradstream.center.tables.payload import FoundRows, RowGradients, RowKeys
from gradstream.errors import InvalidWorkload
from gradstream.input import randomness
from gradstream.input.ahead import BatchesAhead
from gradstream.input.data import Batches, Lag
from gradstream.input.prefetch import Prefetched
from gradstream.model import ensemble, parts
from gradstream.model.core_share import OnCore
from gradstream.model.early import EarlyGradients
from gradstream.model.flat_model import FlatModel
from gradstream.model.guard import GUIDE, ParameterGuard, hook_watched, watched
from gradstream.model.hooks import WorkloadHooks
from gradstream.model.parts import Minibatch
from gradstream.model.usercode import UserCode, blaming
from gradstream.observations.histograms import Observations
from gradstream.observations.recording import recording
from gradstream.training.granted import GrantedBatches
from gradstream.training.problem import Gradient
from gradstream.user_logging.media import LoggedMedia
from gradstream.user_logging.scalars import LoggedScalars

if TYPE_CHECKING:
    from gradstream.model.computing.precision import LossScale
    from gradstream.model.rows.working_rows import Named, WorkingRows


def backward(loss: Tensor) -> None:
    with blaming("backward of loss()"):
        if not loss.requires_grad:
            raise InvalidWorkload(
                "the loss depends on no trained parameter; compute it outside of torch.no_grad(), and detach nothing on its way. A "
                f"loss that steps optimizers of its own, as a GAN's, needs another form: see {GUIDE}"
            )
        loss.backward()  # type: ignore[no-untyped-call]


class ModelProblem:
    """A workload's model and its share of the data: a `Problem` that `Gathers`, is `InPieces` until then, `Prepares`,
    `HasTables`, `NamesParameters`, `Observes`, and `Follows`."""

    scale: LossScale | None = None
    """None: the model does not compute in float16."""

    def __init__(
        self,
        code: UserCode,
        flat: FlatModel,
        batches: Batches | Prefetched,
        at_once: int | None = None,
        rows: WorkingRows | None = None,
    ) -> None:
        """`at_once`: examples that the model computes with at a time; None: whole mini-batches. `rows`: None: it has no tables."""
        self._code, self._flat, self._batches, self._at_once, self._rows = code, flat, batches, at_once, rows
        self._guard, self._observed = ParameterGuard(flat.model, shared=flat.is_shared), Observations()
        self._pass = 0
        """That the last mini-batch is of: an epoch, or a portion of data that grows."""
        self.passes_over = 0
        """Passes that are over for this worker with its last mini-batch."""
        self.parameters, self._modules = flat.parameters, list(flat.model.modules())
        """Modules are looked at instead of told for each mini-batch that they train, which takes thirty times as long."""
        self._train_step = partial(ensemble.train_step, flat.model)
        self._wait_for_push: Callable[[], None] = lambda: None
        self._early: EarlyGradients | None = None
        self._ahead = BatchesAhead(self._fetch, self._name if rows and code.ids else None, self.may_take_early)
        guarded, dealt = partial(hook_watched, self._guard, flat), batches.planned > 0
        self.hooks = WorkloadHooks(code, flat.model, guarded, batches.per_epoch, has_share=not dealt)
        self.total, self.per_epoch, self.planned = batches.total, batches.per_epoch, batches.planned
        self.total_samples, self.epoch_samples = batches.total_samples, batches.epoch_samples
        self.data_seconds = 0.0
        """Spent waiting for mini-batches, since it was last set to 0."""
        self.on_core = OnCore() if flat.device.type == "cpu" else None
        """None on a GPU: there the thread only waits."""

    def gradient(self, position: int) -> Gradient:
        """Raises: UserError, if the workload raises or changes parameters by itself. FetcherLost."""
        return self.gradient_of(self.take(position))

    def gradient_of(self, taken: Minibatch) -> Gradient:
        """Return the gradient over a mini-batch that was taken. Raises: UserError."""
        if self._early and len(taken.shares) == 1:
            loss = self._step(taken, self._early.during(backward))
            return Gradient(self._early.gathered(), loss, taken.examples)
        loss = self._step(taken, backward)
        self._wait_for_push()
        return Gradient(self._flat.gather_gradient(), loss, taken.examples)

    def differentiate(self, position: int) -> tuple[float, int]:
        """Raises: as `gradient`."""
        taken = self.take(position)
        return self.loss_of(taken), taken.examples

    def loss_of(self, taken: Minibatch) -> float:
        """Return the loss over a mini-batch that was taken, and leave its gradient in pieces. Raises: UserError."""
        return self._step(taken, backward)

    def _step(self, taken: Minibatch, backward: Callable[[Tensor], None]) -> float:
        self._flat.refresh()
        if self._rows and taken.named is not None:
            self._rows.use(taken.named)
        if not all([module.training for module in self._modules]):
            self._flat.model.train()
        step = partial(self._train_step, taken.shares, self._loss, backward)
        if self.on_core:
            self.on_core.begin(taken.position)
        loss = watched(self._guard, self._flat.home, step)
        if self._rows:
            self._rows.end_batch(taken.examples)
        if self.on_core:
            self.on_core.end(taken.position)
        return loss

    def _loss(self, model: nn.Module, batch: Any) -> Tensor:
        if self._rows and self._rows.wants_clicks and (clicks := self._code.clicks):
            self._rows.use_clicks(clicks(batch))
        with recording(self._observed), self._flat.watching():
            return self._code.loss(model, batch)

    @property
    def logged(self) -> LoggedScalars:
        """The values that the workload has logged since they were last taken."""
        return self._code.logged

    @property
    def media(self) -> LoggedMedia:
        """The images, tables and others that it has logged since they were last taken."""
        return self._code.media

    def descend(self, alpha: float) -> None:
        self._flat.descend(alpha)

    def take_from(self, granted: GrantedBatches) -> None:
        if isinstance(self._batches, Prefetched):
            self._batches.granted = granted

    def prepare(self, position: int) -> None:
        if isinstance(self._batches, Prefetched) and not self._ahead.has(position):
            self._batches.prepare(position, self._flat.device)

    def has_data(self, position: int) -> bool:
        """Raises: UserError."""
        if self._batches.followed is None or self._ahead.has(position):
            return True
        with blaming("dataset('train')"):
            return self._batches.followed.has(position)

    def begins_pass(self, position: int) -> bool:
        return bool(self._batches.followed and self._batches.followed.begins_stretch(position))

    def lag(self, position: int) -> Lag | None:
        """None: the data is fixed."""
        if (feed := self._batches.followed) is None:
            return None
        return Lag(feed.behind(position), len(feed.late), feed.leaderless, feed.is_unreachable)

    def place(self) -> Place:
        return self._batches.followed.place() if self._batches.followed else ()

    def go_to(self, position: int, place: Place) -> None:
        if self._batches.followed:
            self._batches.followed.go_to(position, place)

    def take(self, position: int) -> Minibatch:
        """Take the mini-batch number `position`, whose turn it is. Raises: UserError, FetcherLost."""
        self._pass, self.passes_over = position // self.per_epoch, (position + 1) // self.per_epoch
        self.hooks.reach(position)
        batch, examples, named = self._ahead.take(position)
        with blaming("dataset('train')"):
            shares = parts.of(batch, examples, self._at_once or examples)
            if self._batches.followed:
                self._batches.followed.begin(position)
                self._pass = self._batches.followed.pass_of(position)
                self.passes_over = self._batches.followed.passes_until(position)
        return Minibatch(position, shares, examples, named)

    def _fetch(self, position: int) -> tuple[Any, int]:
        """Raises: UserError, FetcherLost."""
        began = time.perf_counter()
        with blaming("dataset('train')"):
            fetched = self._batches.take(position, self._flat.device)
        self.data_seconds += time.perf_counter() - began
        return fetched

    def may_take_early(self, position: int) -> bool:
        """Return whether a mini-batch may be taken before its turn.

        False after the end, for what is not there yet or comes in turn, and before hooks of epochs, which may change the data."""
        if self._batches.followed and self._batches.followed.takes_in_turn:
            return False
        return position < self.total and not self.hooks.are_due_at(position) and self.has_data(position)

    def _name(self, batch: Any) -> Named:
        """Raises: UserError."""
        assert self._rows is not None, "the model has tables"
        assert self._code.ids is not None, "the workload names ids"
        return self._rows.name(self._code.ids(batch))

    @property
    def theta(self) -> Tensor:
        return self._flat.theta

    @theta.setter
    def theta(self, theta: Tensor) -> None:
        self._flat.move(theta)

    def gather_into(self, out: Tensor, wait_for_push: Callable[[], None], send_ahead: Callable[[int], None] | None) -> None:
        self._flat.gradient, self._wait_for_push = out, wait_for_push
        if send_ahead:
            self._early = EarlyGradients(self._flat.trained, out, wait_for_push, send_ahead)

    @property
    def tables(self) -> Mapping[str, int]:
        return self._rows.widths if self._rows else {}

    def look_up_with(
        self, look_up: Callable[[Mapping[str, RowKeys]], Mapping[str, FoundRows]], await_asked: Callable[[], None]
    ) -> None:
        if self._rows:
            held = self._rows.held
            held.look_up, held.await_asked = look_up, await_asked
            held.use_caches()

    def keys_ahead(self, position: int, batches: int) -> Mapping[str, RowKeys] | None:
        names = self._ahead.names_from(position, batches) if self._rows else []
        return self._rows.request(names) if self._rows and any(names) else None

    def hold_asked_rows(self, found: Mapping[str, FoundRows]) -> None:
        if self._rows:
            self._rows.held.hold_asked(found)

    def forget_asked_rows(self) -> None:
        if self._rows:
            self._rows.held.forget_asked()

    def take_looked_up_late(self) -> int:
        """Return how many rows were looked up since the last call while the model waited."""
        if self._rows is None:
            return 0
        late, self._rows.held.looked_up_late = self._rows.held.looked_up_late, 0
        return late

    def take_cached_share(self) -> float | None:
        """Return the share of the rows looked up since the last call that came from caches; None: there are none."""
        return self._rows.held.caches.take_share() if self._rows and self._rows.held.caches else None

    def take_row_gradients(self) -> Mapping[str, RowGradients]:
        return self._rows.take_gradients() if self._rows else {}

    def take_observations(self) -> Observations | None:
        taken = self._observed if self._observed.examples else None
        if taken:
            taken.number = self._pass
            self._observed = Observations()
        return taken

    def buffers(self) -> Buffers | None:
        return self._flat.buffers()

    def load_buffers(self, buffers: Buffers) -> None:
        self._flat.load_buffers(buffers)

    def state(self) -> dict[str, Any]:
        buffers = self._flat.buffers()
        state: dict[str, Any] = {"rng": randomness.state(), "buffers": tuple(buffers) if buffers else None}
        if self._flat.computes_on.type == "cuda":
            state["cuda_rng"] = torch.cuda.get_rng_state(self._flat.computes_on)
        if self._observed.examples:
            state["observed"] = self._observed.pack()
        if self._rows:
            state["rows"] = self._rows.state()
        if self._batches.followed and (place := self._batches.followed.state()):
            state["followed"] = place
        return state

    def load(self, state: dict[str, Any]) -> None:
        randomness.load(state["rng"])
        if state["buffers"]:
            self.load_buffers(Buffers(*state["buffers"]))
        if "cuda_rng" in state and self._flat.computes_on.type == "cuda":
            torch.cuda.set_rng_state(state["cuda_rng"], self._flat.computes_on)
        if "observed" in state:
            self._observed = Observations.unpack(state["observed"])
        if self._rows and "rows" in state:
            self._rows.load(state["rows"])
        if self._batches.followed:
            self._batches.followed.load(state.get("followed", {}))
