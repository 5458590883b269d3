"""A PyTorch model as one flat vector: its trainable parameters are views of `theta`, so that copying the center into
`theta` *is* loading the model, and no strategy needs names or shapes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from gradstream.center.entries import Buffers
from gradstream.errors import InvalidWorkload
from gradstream.worker import ensemble, randomness
from gradstream.worker.data import Batches
from gradstream.worker.fetchers import FetcherLost
from gradstream.worker.prefetch import Prefetched
from gradstream.worker.problem import Gradient
from gradstream.worker.usercode import UserCode, blaming


class FlatModel:
    """Frozen parameters stay outside of the vector; tied ones are in it once.

    theta: shape (size,), on `device`. Parameters stand in it in the order of `model.parameters()`."""

    def __init__(self, model: nn.Module, device: torch.device) -> None:
        """Raises: InvalidWorkload, for a model without trainable parameters or with several dtypes of them."""
        self.model = model.to(device)
        self.device = device
        self._trained = [p for p in model.parameters() if p.requires_grad]
        dtypes = {p.dtype for p in self._trained}
        if len(dtypes) != 1:
            found = ", ".join(sorted(map(str, dtypes))) or "no trainable parameter"
            raise InvalidWorkload(f"all trainable parameters must have one dtype; found {found}")
        self.theta = torch.cat([p.detach().reshape(-1) for p in self._trained])
        self.gradient = torch.empty_like(self.theta)
        self._views: dict[int, list[Tensor]] = {}
        """Of each vector that the model has moved to, by address."""
        for p, view in zip(self._trained, self._views_of(self.theta), strict=True):
            p.data = view
        floats = [b for b in model.buffers() if b.is_floating_point()]
        self._float_buffers = floats
        self._int_buffers = [b for b in model.buffers() if not b.is_floating_point()]

    def move(self, theta: Tensor) -> None:
        """Let the parameters be views of this vector, which holds their values already."""
        views = self._views.get(theta.data_ptr())
        if views is None:  # kept, since a model may move to and fro between two vectors for each mini-batch
            views = self._views[theta.data_ptr()] = self._views_of(theta)
        self.theta = theta
        for p, view in zip(self._trained, views, strict=True):
            p.data = view

    def _views_of(self, theta: Tensor) -> list[Tensor]:
        parts = torch.split(theta, [p.numel() for p in self._trained])
        return [part.view(p.shape) for part, p in zip(parts, self._trained, strict=True)]

    def gather_gradient(self) -> Tensor:
        """The parameters' gradients as one vector, shape (size,); zeros where the loss did not depend on one."""
        torch.cat([_dense(p).reshape(-1) for p in self._trained], out=self.gradient)
        for p in self._trained:
            p.grad = None
        return self.gradient

    def buffers(self) -> Buffers | None:
        """Copies, on the CPU: floats in the dtype of theta, integers as int64."""
        if not self._float_buffers and not self._int_buffers:
            return None
        return Buffers(_joined(self._float_buffers, self.theta.dtype), _joined(self._int_buffers, torch.int64))

    def load_buffers(self, buffers: Buffers) -> None:
        for flat, mine in ((buffers.floats, self._float_buffers), (buffers.ints, self._int_buffers)):
            start = 0
            for b in mine:
                b.copy_(flat[start : start + b.numel()].view(b.shape))
                start += b.numel()


def _backward(loss: Tensor) -> None:
    with blaming("backward of loss()"):
        loss.backward()  # type: ignore[no-untyped-call]


def _dense(p: nn.Parameter) -> Tensor:
    """Its gradient. nn.Embedding(sparse=True) leaves one of the rows that it looked up."""
    if p.grad is None:
        return torch.zeros_like(p)
    return p.grad.to_dense() if p.grad.is_sparse else p.grad


def _joined(tensors: list[Tensor], dtype: torch.dtype) -> Tensor:
    parts = [t.detach().reshape(-1).to("cpu", dtype) for t in tensors]
    return torch.cat(parts) if parts else torch.empty(0, dtype=dtype)


class ModelProblem:
    """A workload's model and its share of the training data: a `Problem`."""

    def __init__(self, code: UserCode, flat: FlatModel, batches: Batches | Prefetched) -> None:
        self._code, self._flat, self._batches = code, flat, batches
        self._settle: Callable[[], None] = lambda: None
        self.total = batches.total
        self.per_epoch = batches.per_epoch
        self.total_samples = batches.total_samples
        self.data_seconds = 0.0
        """Spent waiting for mini-batches, since it was last set to 0."""

    def gradient(self, position: int) -> Gradient:
        """Raises: UserError, if the workload raises. FetcherLost."""
        began = time.perf_counter()
        with blaming("dataset('train')", but=FetcherLost):
            batch, examples = self._batches.take(position, self._flat.device)
        self.data_seconds += time.perf_counter() - began
        self._flat.model.train()
        loss = ensemble.train_step(self._flat.model, batch, self._code.loss, _backward)
        self._settle()
        return Gradient(self._flat.gather_gradient(), loss, examples)

    @property
    def theta(self) -> Tensor:
        return self._flat.theta

    @theta.setter
    def theta(self, theta: Tensor) -> None:
        self._flat.move(theta)

    def gather_into(self, out: Tensor, settle: Callable[[], None], flow: Callable[[int], None]) -> None:
        self._flat.gradient, self._settle = out, settle

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
