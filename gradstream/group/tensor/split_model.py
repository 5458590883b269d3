"""A model of which one process computes a part: its pieces of the parameters, and the gradients that it leaves.

Pieces are views of theta, so nothing is copied. Parameters that are not split stay whole, and each process computes their gradients
alike; only the first one leaves them. A parameter may be both, as the weight of a head that is also an embedding is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import linear
from torch.utils.checkpoint import set_checkpoint_early_stop

from gradstream.errors import InvalidWorkload
from gradstream.group.memory import leave_gradient
from gradstream.group.tensor.exchange import ExchangeBroken, PeerExchange
from gradstream.group.tensor.linear import CopyOnce, GatherColumns, SplitColumns, SumOverPeers, widths_of
from gradstream.group.tensor.plan import ADDED, GATHERED, PLACE, ROWWISE, PlannedModule
from gradstream.input import randomness
from gradstream.model.flat_model import FlatModel
from gradstream.process.begin import seed_of


class _Piece(NamedTuple):
    values: Tensor
    """A leaf of the graph, whose memory is the parameter's."""
    parameter: int | None
    """Number of the parameter among the trained ones; None: it is frozen."""
    dimension: int
    start: int

    def of(self, whole: Tensor) -> Tensor:
        """Return the same piece of something in the shape of the parameter."""
        return whole.narrow(self.dimension, self.start, self.values.shape[self.dimension])


class SplitModel:
    def __init__(self, flat: FlatModel, planned: Sequence[PlannedModule], exchange: PeerExchange) -> None:
        """Become the process of this exchange: this changes the modules, which compute in part while `running`."""
        self._flat, self._exchange = flat, exchange
        self._copy = CopyOnce(exchange)
        self._index_of = {id(p): index for index, p in enumerate(flat.trained)}
        self._pieces: dict[tuple[int, int], _Piece] = {}
        """By the parameter's id and the dimension that is split. A tied weight has one piece."""
        added = {id(p) for each in planned if each.style == ADDED for p in each.module.parameters()}
        self._added = [p for p in flat.trained if id(p) in added]
        self._runs = False
        self._outside: Sequence[Tensor] | None = None
        """The states of torch's generators outside of the part between a colwise and a rowwise module; None: this is outside."""
        for name, module, style in planned:
            if style != ADDED:
                module.forward = self._in_place_of(module.forward, self._split(name, module, style))

    @contextmanager
    def running(self) -> Iterator[None]:
        """Inside, modules compute in part, and so does what is computed again in backward: to its end, where all processes meet.
        Raises: what broke an exchange."""
        self._runs = True
        try:
            with set_checkpoint_early_stop(False):
                yield
        except ExchangeBroken as broken:
            raise broken.cause from broken.cause.__cause__  # else a peer's own reason would be lost
        finally:
            self._runs = False
            self._copy.forget()
            self._leave_part()

    def add_parts(self) -> None:
        """Add up the gradients of the parameters whose plan says that each process has a part of them."""
        for p in self._added:
            if p.grad is not None:
                p.grad = self._exchange.sum(p.grad)

    def leave_pieces(self, places: Sequence[Tensor], reached: Set[int]) -> set[int]:
        """Copy the gradients of the pieces to their places, and forget them; add them to those of the parameters `reached`. Returns
        the parameters that have one here, by index."""
        found = set[int]()
        for piece in self._pieces.values():
            if piece.parameter is not None and piece.values.grad is not None:
                leave_gradient(piece.values.grad, piece.of(places[piece.parameter]), add=piece.parameter in reached)
                found.add(piece.parameter)
            piece.values.grad = None
        return found

    def leave_whole(self, places: Sequence[Tensor], reached: Set[int]) -> set[int]:
        """As `leave_pieces`, the gradients of parameters that are used whole."""
        found = set[int]()
        for index, (p, place) in enumerate(zip(self._flat.trained, places, strict=True)):
            if p.grad is not None:
                leave_gradient(p.grad, place, add=index in reached)
                found.add(index)
                p.grad = None
        return found

    def whole_norms(self) -> Tensor:
        """Return the norm of each parameter's gradient but of its pieces, which all processes have alike."""
        gradients = [p.grad for p in self._flat.trained]
        norms = [0.0 if g is None else float((g.to_dense() if g.is_sparse else g).double().norm()) for g in gradients]
        return torch.tensor(norms, dtype=torch.float64)

    def forget_whole(self) -> None:
        """Forget the gradients of parameters that are used whole: another process leaves them."""
        for p in self._flat.trained:
            p.grad = None

    def _split(self, name: str, module: Any, style: str) -> Callable[[Tensor], Tensor]:
        """Return the forward of a linear layer in part."""
        along = 1 if style == ROWWISE else 0
        widths = widths_of(module.weight.shape[along], self._exchange.count)
        weight = self._piece_of(module.weight, along, widths)
        if style == ROWWISE:
            return partial(self._rowwise, name, module, weight, widths)
        bias = None if module.bias is None else self._piece_of(module.bias, 0, widths)
        return partial(self._colwise, module, weight, bias, widths if style == GATHERED else None)

    def _piece_of(self, parameter: nn.Parameter, dimension: int, widths: Sequence[int]) -> Tensor:
        found = self._pieces.get((id(parameter), dimension))
        if found is None:
            number = self._exchange.number
            start = sum(widths[:number])
            values = parameter.data.narrow(dimension, start, widths[number]).requires_grad_(parameter.requires_grad)
            index = self._index_of.get(id(parameter))
            found = self._pieces[id(parameter), dimension] = _Piece(values, index, dimension, start)
        return found.values

    def _in_place_of(self, whole: Callable[[Tensor], Tensor], part: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
        return lambda x: part(x) if self._runs else whole(x)

    def _colwise(self, module: nn.Module, weight: Tensor, bias: Tensor | None, gathered: Sequence[int] | None, x: Tensor) -> Tensor:
        y = linear(self._copy(x), weight, bias)
        if gathered:
            return GatherColumns.apply(y, self._exchange, gathered)  # type: ignore[no-any-return,no-untyped-call]
        if module.training:
            self._enter_part()
        return y

    def _rowwise(self, name: str, module: Any, weight: Tensor, widths: Sequence[int], x: Tensor) -> Tensor:
        if x.shape[-1] == sum(widths):
            x = SplitColumns.apply(x, self._exchange, widths)  # type: ignore[no-untyped-call]
        elif x.shape[-1] != widths[self._exchange.number]:
            raise InvalidWorkload(
                f"{PLACE}: {name} is rowwise and got {x.shape[-1]} inputs; it needs its own {widths[self._exchange.number]} of "
                f"{sum(widths)} from a colwise module, or all"
            )
        self._leave_part()
        y: Tensor = SumOverPeers.apply(linear(x, weight), self._exchange)  # type: ignore[no-untyped-call]
        return y if module.bias is None else y + module.bias.to(y.dtype)

    def _enter_part(self) -> None:
        """From here on each process draws random numbers of its own: it has other columns."""
        if self._outside is None:
            seed = int(torch.randint(2**62, ()))
            self._outside = randomness.of_torch()
            randomness.seed_torch(seed_of(seed, "tensor", self._exchange.number))

    def _leave_part(self) -> None:
        """From here on all processes draw the same random numbers."""
        if self._outside is not None:
            randomness.set_torch(self._outside)
            self._outside = None
