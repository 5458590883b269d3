"""A PyTorch model as one flat vector: its trainable parameters are views of `theta`, so that copying the center into
`theta` *is* loading the model, and no strategy needs names or shapes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import reduce

import torch
from torch import Tensor, nn

from gradstream.center.entries import Buffers
from gradstream.center.parameters.buffers import float_buffer_dtype
from gradstream.errors import InvalidWorkload
from gradstream.model.buffers import ModelBuffers, plain_name
from gradstream.model.computing.device_copy import DeviceCopy
from gradstream.model.moving import move_parameter
from gradstream.model.tables import has_tables
from gradstream.optim.parameters import ParameterShape
from gradstream.own_pages import own_empty

DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
"""That a center may have."""


class FlatModel:
    """Frozen parameters stay outside of the vector; tied ones are in it once.

    theta: shape (size,), on `device`. Parameters stand in it in the order of `model.parameters()`. If they are of several dtypes,
    it has the widest: those of another one keep storage of their own, into which `refresh` rounds their part of theta."""

    def __init__(
        self,
        model: nn.Module,
        device: torch.device,
        beside: FlatModel | None = None,
        make_theta: Callable[[int, torch.dtype], Tensor] | None = None,
    ) -> None:
        """`beside`: a model that was built alike. Both train its theta and have its frozen parameters; each has buffers and
        gradients of its own. `make_theta`: returns a vector of this length, on the CPU, that processes see which are forked later.

        Raises: InvalidWorkload, for a model without trainable parameters, or with some of a dtype that cannot travel."""
        self.model = model.to(device)
        self.device = device
        self.trained = [p for p in model.parameters() if p.requires_grad]
        dtype, size = trained_dtype(model), sum(p.numel() for p in self.trained)
        self.parameters = parameter_shapes(model)
        made = make_theta(size, dtype) if make_theta else None
        self.theta: Tensor = beside.theta if beside else own_empty(size, dtype, device) if made is None else made
        self.gradient = torch.empty_like(self.theta)
        self.is_inherited = made is not None
        """Theta is a vector of `make_theta`."""
        self._inside = [p for p in self.trained if p.dtype == dtype]
        self._apart = [p.data for p in self.trained if p.dtype != dtype]  # writing to these counts no version of the parameter
        self._views: dict[int, tuple[list[Tensor], list[Tensor]]] = {}
        """The views of each vector that the model has moved to, by address."""
        views = self.views_of(self.theta)
        for p, view in zip(self.trained, views, strict=True):  # one after the other, so that no two whole models are in memory
            if p.dtype == dtype:
                move_parameter(p, view)
            else:
                view.copy_(p.detach())
        self._masters = self._parted(views)[1]
        self._buffers = ModelBuffers(model)
        self._copy: DeviceCopy | None = None
        """None: the model computes with theta itself."""
        self.is_shared = False
        """Models of other threads step on theta, too."""
        if beside:
            self._share(beside)

    def _share(self, first: FlatModel) -> None:
        self.is_shared = first.is_shared = True
        for mine, theirs in zip(self.model.parameters(), first.model.parameters(), strict=True):
            if not mine.requires_grad:
                mine.data = theirs.data

    def move(self, theta: Tensor) -> None:
        """Make the parameters views of this vector, which holds their values already."""
        parted = self._views.get(theta.data_ptr())
        if parted is None:  # kept, since a model may move to and fro between two vectors for each mini-batch
            parted = self._views[theta.data_ptr()] = self._parted(self.views_of(theta))
        self.theta = theta
        inside, self._masters = parted
        for p, view in zip(self._inside, inside, strict=True):
            p.data = view

    def compute_on(
        self, device: torch.device, elsewhere: Collection[nn.Parameter] = (), blocks: Sequence[Sequence[nn.Module]] = ()
    ) -> None:
        """Compute on this device from now on, with a copy of the parameters there. Theta, and the vector for gradients, stay.
        `elsewhere`: parameters of blocks that other processes compute. `blocks`: see `DeviceCopy`."""
        self._copy = DeviceCopy(self.model, self.theta, device, elsewhere, blocks)

    @property
    def computes_on(self) -> torch.device:
        """The device of the parameters."""
        return self._copy.device if self._copy else self.device

    @property
    def home(self) -> Tensor | None:
        """The vector that the parameters are views of; None: they have a copy on a device."""
        return None if self._copy else self.theta

    def shown(self) -> AbstractContextManager[None]:
        """Inside, all parameters have the values of theta, and can be read."""
        return self._copy.shown() if self._copy else nullcontext()

    def free_blocks(self) -> None:
        """Free what has memory on the device only while it computes."""
        if self._copy:
            self._copy.free_blocks()

    def watching(self) -> AbstractContextManager[None]:
        """Inside, a loss is computed; see `DeviceCopy`."""
        return self._copy.watching() if self._copy else nullcontext()

    def filled(self, module: nn.Module) -> AbstractContextManager[None]:
        """Inside, this module can compute, also if it is a block of other processes."""
        return self._copy.filled(module) if self._copy else nullcontext()

    def refresh(self) -> None:
        """Copy the values that live outside of theta; call it before the model runs at a changed theta."""
        if self._copy:
            self._copy.refresh()
        elif self._apart:
            torch._foreach_copy_(self._apart, self._masters)

    def views_of(self, theta: Tensor) -> list[Tensor]:
        """Return the part of a vector like theta for each trained parameter, in its shape."""
        parts = torch.split(theta, [p.numel() for p in self.trained])
        return [part.view(p.shape) for part, p in zip(parts, self.trained, strict=True)]

    def _parted(self, views: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        """Split the views: those that are parameters, and those that are master copies of parameters of another dtype."""
        pairs = list(zip(self.trained, views, strict=True))
        return [view for p, view in pairs if p.dtype == view.dtype], [view for p, view in pairs if p.dtype != view.dtype]

    def gather_gradient(self) -> Tensor:
        """Return the parameters' gradients as one vector, shape (size,); zeros where the loss did not depend on one."""
        gathered = self.gather_on_device()
        if gathered is not self.gradient:
            self.gradient.copy_(gathered)
        return self.gradient

    def gather_on_device(self) -> Tensor:
        """Return the same on the device of the parameters, valid until it is called again."""
        into = self._copy.gradient if self._copy else self.gradient
        if self.trained:
            torch.cat([_dense(p).reshape(-1) for p in self.trained], out=into)
        for p in self.trained:
            p.grad = None
        return into

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
        """Return copies on the CPU: floats in `float_buffer_dtype`, integers as int64. Non-persistent buffers stay here."""
        return self._buffers.copied(float_buffer_dtype(self.theta.dtype))

    def load_buffers(self, buffers: Buffers) -> None:
        self._buffers.load(buffers)

    def buffer_places(self) -> dict[int, tuple[str, int]]:
        """See `ModelBuffers.places`."""
        return self._buffers.places()

    def tensors(self) -> dict[str, Tensor]:
        """The state_dict, copied to the CPU, as if nothing in the model were compiled: torch.compile puts modules into others."""
        return {name: t.cpu().clone().contiguous() for name, t in self.own_tensors().items()}

    def own_tensors(self) -> dict[str, Tensor]:
        """As `tensors`, in the memory of the model itself."""
        return {plain_name(name): t.detach() for name, t in self.model.state_dict().items()}


def parameter_shapes(model: nn.Module) -> tuple[ParameterShape, ...]:
    """Return the name and shape of each trainable parameter, in the order of the vector."""
    named = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
    return tuple(ParameterShape(plain_name(name), tuple(p.shape)) for name, p in named)


def trained_dtype(model: nn.Module) -> torch.dtype:
    """Return the dtype to which all trainable parameters can be converted without loss.

    Raises: InvalidWorkload: there is none, or no parameter that trains."""
    named = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
    for name, p in named:
        if nn.parameter.is_lazy(p):
            raise InvalidWorkload(f"the parameter {plain_name(name)} has no shape yet; call the model once with a batch in model()")
    if has_tables(model) and not named:
        return torch.float32
    if not any(p.numel() for _, p in named):
        raise InvalidWorkload("the model has no trainable parameter; let at least one, with elements, have requires_grad")
    for name, p in named:
        if p.dtype not in DTYPES:
            raise InvalidWorkload(
                f"the parameter {plain_name(name)} is {p.dtype}, and a center has one of {', '.join(map(str, DTYPES))}: convert or "
                "freeze it; a complex one can be kept as real numbers (torch.view_as_real)"
            )
    return reduce(torch.promote_types, (p.dtype for _, p in named))


def _dense(p: nn.Parameter) -> Tensor:
    """Its gradient. nn.Embedding(sparse=True) leaves one of the rows that it looked up."""
    if p.grad is None:
        return torch.zeros_like(p)
    return p.grad.to_dense() if p.grad.is_sparse else p.grad
