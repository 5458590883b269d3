"""A PyTorch model as one flat vector: its trainable parameters are views of `theta`, so that copying the center into
`theta` *is* loading the model, and no strategy needs names or shapes."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial, reduce
from typing import Any

import torch
from torch import Tensor, nn

from gradstream.center.entries import Buffers
from gradstream.errors import InvalidWorkload, PlaneLost
from gradstream.input import randomness
from gradstream.input.data import Batches
from gradstream.input.fetchers import FetcherLost
from gradstream.input.prefetch import Prefetched
from gradstream.model import ensemble, parts
from gradstream.model.buffers import ModelBuffers, plain_name
from gradstream.model.core_share import OnCore
from gradstream.model.early import EarlyGradients
from gradstream.model.guard import GUIDE, ParameterGuard
from gradstream.model.usercode import UserCode, blaming
from gradstream.process.exits import UserError
from gradstream.train.problem import Gradient

DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
"""That a center may have."""


class FlatModel:
    """Frozen parameters stay outside of the vector; tied ones are in it once.

    theta: shape (size,), on `device`. Parameters stand in it in the order of `model.parameters()`. If they are of several dtypes,
    it has the widest: those of another one keep storage of their own, into which `refresh` rounds their part of theta."""

    def __init__(self, model: nn.Module, device: torch.device) -> None:
        """Raises: InvalidWorkload, for a model without trainable parameters, or with some of a dtype that cannot travel."""
        self.model = model.to(device)
        self.device = device
        self.trained = [p for p in model.parameters() if p.requires_grad]
        dtype, size = trained_dtype(model), sum(p.numel() for p in self.trained)
        self.theta = torch.empty(size, dtype=dtype, device=device)
        self.gradient = torch.empty_like(self.theta)
        self._inside = [p for p in self.trained if p.dtype == dtype]
        self._apart = [p.data for p in self.trained if p.dtype != dtype]  # writing to these counts no version of the parameter
        self._views: dict[int, tuple[list[Tensor], list[Tensor]]] = {}
        """The views of each vector that the model has moved to, by address."""
        views = self._views_of(self.theta)
        for p, view in zip(self.trained, views, strict=True):  # one after the other, so that no two whole models are in memory
            view.copy_(p.detach())
            if p.dtype == dtype:
                p.data = view
        self._masters = self._parted(views)[1]
        self._buffers = ModelBuffers(model)

    def move(self, theta: Tensor) -> None:
        """Make the parameters views of this vector, which holds their values already."""
        parted = self._views.get(theta.data_ptr())
        if parted is None:  # kept, since a model may move to and fro between two vectors for each mini-batch
            parted = self._views[theta.data_ptr()] = self._parted(self._views_of(theta))
        self.theta = theta
        inside, self._masters = parted
        for p, view in zip(self._inside, inside, strict=True):
            p.data = view

    def refresh(self) -> None:
        """Copy the values that live outside of theta; call it before the model runs at a changed theta."""
        if self._apart:
            torch._foreach_copy_(self._apart, self._masters)

    def _views_of(self, theta: Tensor) -> list[Tensor]:
        parts = torch.split(theta, [p.numel() for p in self.trained])
        return [part.view(p.shape) for part, p in zip(parts, self.trained, strict=True)]

    def _parted(self, views: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        """Split the views: those that are parameters, and those that are master copies of parameters of another dtype."""
        pairs = list(zip(self.trained, views, strict=True))
        return [view for p, view in pairs if p.dtype == view.dtype], [view for p, view in pairs if p.dtype != view.dtype]

    def gather_gradient(self) -> Tensor:
        """Return the parameters' gradients as one vector, shape (size,); zeros where the loss did not depend on one."""
        torch.cat([_dense(p).reshape(-1) for p in self.trained], out=self.gradient)
        for p in self.trained:
            p.grad = None
        return self.gradient

    def descend(self, alpha: float) -> None:
        """Add alpha * the parameters' gradients to theta. Without gathering them, this saves a pass over memory."""
        if self._apart:
            self.theta.add_(self.gather_gradient(), alpha=alpha)
            return
        reached = [p for p in self.trained if p.grad is not None]
        if reached:
            torch._foreach_add_([p.data for p in reached], [_dense(p) for p in reached], alpha=alpha)
        for p in reached:
            p.grad = None

    def buffers(self) -> Buffers | None:
        """Return copies on the CPU: floats in the dtype of theta, integers as int64. Non-persistent buffers stay here."""
        return self._buffers.copied(self.theta.dtype)

    def load_buffers(self, buffers: Buffers) -> None:
        self._buffers.load(buffers)

    def buffer_places(self) -> dict[int, tuple[str, int]]:
        """See `ModelBuffers.places`."""
        return self._buffers.places()

    def tensors(self) -> dict[str, Tensor]:
        """The state_dict, copied to the CPU, as if nothing in the model were compiled: torch.compile puts modules into others."""
        found = self.model.state_dict()
        return {plain_name(name): t.detach().cpu().clone().contiguous() for name, t in found.items()}


def trained_dtype(model: nn.Module) -> torch.dtype:
    """Return the dtype to which all trainable parameters can be converted without loss.

    Raises: InvalidWorkload: there is none, or no parameter that trains."""
    named = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
    for name, p in named:
        if nn.parameter.is_lazy(p):
            raise InvalidWorkload(f"the parameter {plain_name(name)} has no shape yet; call the model once with a batch in model()")
    if not any(p.numel() for _, p in named):
        raise InvalidWorkload("the model has no trainable parameter; let at least one, with elements, have requires_grad")
    for name, p in named:
        if p.dtype not in DTYPES:
            raise InvalidWorkload(
                f"the parameter {plain_name(name)} is {p.dtype}, and a center has one of {', '.join(map(str, DTYPES))}: convert or "
                "freeze it; a complex one can be kept as real numbers (torch.view_as_real)"
            )
    return reduce(torch.promote_types, (p.dtype for _, p in named))


def backward(loss: Tensor) -> None:
    with blaming("backward of loss()", but=PlaneLost):  # gradients may leave meanwhile
        if not loss.requires_grad:
            raise InvalidWorkload(
                "the loss depends on no trained parameter; compute it outside of torch.no_grad(), and detach nothing on its way. A "
                f"loss that steps optimizers of its own, as a GAN's, needs another form: see {GUIDE}"
            )
        loss.backward()  # type: ignore[no-untyped-call]


def watched(guard: ParameterGuard, home: Tensor | None, step: Callable[[], float]) -> float:
    """The loss that a step returns. Raises: UserError, if user code raises in it or changes parameters by itself."""
    guard.begin(home)
    try:
        loss = step()
    except UserError:
        _check(guard)  # a change in place often ends as an error of autograd, which says less
        raise
    _check(guard)
    return loss


def _check(guard: ParameterGuard) -> None:
    with blaming("loss()"):
        guard.check()


def _dense(p: nn.Parameter) -> Tensor:
    """Its gradient. nn.Embedding(sparse=True) leaves one of the rows that it looked up."""
    if p.grad is None:
        return torch.zeros_like(p)
    return p.grad.to_dense() if p.grad.is_sparse else p.grad


class ModelProblem:
    """A workload's model and its share of the data: a `Problem` that `Gathers`, is `InPieces` until then, and `Prepares`."""

    def __init__(self, code: UserCode, flat: FlatModel, batches: Batches | Prefetched, at_once: int | None = None) -> None:
        """`at_once`: examples that the model computes with at a time; None: whole mini-batches."""
        self._code, self._flat, self._batches, self._at_once = code, flat, batches, at_once
        self._guard = ParameterGuard(flat.model)
        self._epoch: int | None = None
        """That on_epoch was called for last."""
        self._modules = list(flat.model.modules())
        """Looked at instead of told for each mini-batch that they train, which takes thirty times as long."""
        self._wait_for_push: Callable[[], None] = lambda: None
        self._early: EarlyGradients | None = None
        self.total = batches.total
        self.per_epoch = batches.per_epoch
        self.total_samples = batches.total_samples
        self.epoch_samples = batches.epoch_samples
        """Samples in one pass of all workers over the data; None: not known."""
        self.data_seconds = 0.0
        """Spent waiting for mini-batches, since it was last set to 0."""
        self.on_core = OnCore() if flat.device.type == "cpu" else None
        """None on a GPU: there the thread only waits."""

    def gradient(self, position: int) -> Gradient:
        """Raises: UserError, if the workload raises or changes parameters by itself. FetcherLost."""
        shares, examples = self._taken(position)
        if self._early and len(shares) == 1:
            loss = self._step(position, shares, self._early.during(backward))
            return Gradient(self._early.gathered(), loss, examples)
        loss = self._step(position, shares, backward)
        self._wait_for_push()
        return Gradient(self._flat.gather_gradient(), loss, examples)

    def differentiate(self, position: int) -> tuple[float, int]:
        """Raises: as `gradient`."""
        shares, examples = self._taken(position)
        return self._step(position, shares, backward), examples

    def _step(self, position: int, shares: list[parts.MicroBatch], backward: Callable[[Tensor], None]) -> float:
        step = partial(ensemble.train_step, self._flat.model, shares, self._code.loss, backward)
        if self.on_core:
            self.on_core.begin(position)
        loss = watched(self._guard, self._flat.theta, step)
        if self.on_core:
            self.on_core.end(position)
        return loss

    def on_checkpoint(self, number: int) -> None:
        """This worker has saved its part of a checkpoint. Raises: UserError."""
        if hook := self._code.on_checkpoint:
            with blaming("on_checkpoint()"), self._guard.watching(self._flat.theta):
                hook(self._flat.model, number)

    def _enter_epoch(self, epoch: int) -> None:
        if epoch != self._epoch and (hook := self._code.on_epoch):
            self._epoch = epoch
            with blaming("on_epoch()"), self._guard.watching(self._flat.theta):
                hook(epoch)

    def descend(self, alpha: float) -> None:
        self._flat.descend(alpha)

    def prepare(self, position: int) -> None:
        if isinstance(self._batches, Prefetched):
            self._batches.prepare(position, self._flat.device)

    def _taken(self, position: int) -> tuple[list[parts.MicroBatch], int]:
        """The mini-batch as the model gets it, and how many examples it has; the model is ready for it."""
        self._enter_epoch(position // self.per_epoch)
        began = time.perf_counter()
        with blaming("dataset('train')", but=FetcherLost):
            batch, examples = self._batches.take(position, self._flat.device)
            shares = parts.of(batch, examples, self._at_once or examples)
        self.data_seconds += time.perf_counter() - began
        self._flat.refresh()
        if not all([module.training for module in self._modules]):
            self._flat.model.train()
        return shares, examples

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

    def buffers(self) -> Buffers | None:
        return self._flat.buffers()

    def load_buffers(self, buffers: Buffers) -> None:
        self._flat.load_buffers(buffers)

    def state(self) -> dict[str, Any]:
        buffers = self._flat.buffers()
        state: dict[str, Any] = {"rng": randomness.state(), "buffers": tuple(buffers) if buffers else None}
        if self._flat.device.type == "cuda":
            state["cuda_rng"] = torch.cuda.get_rng_state(self._flat.device)
        return state

    def load(self, state: dict[str, Any]) -> None:
        randomness.load(state["rng"])
        if state["buffers"]:
            self.load_buffers(Buffers(*state["buffers"]))
        if "cuda_rng" in state and self._flat.device.type == "cuda":
            torch.cuda.set_rng_state(state["cuda_rng"], self._flat.device)
