"""One mini-batch in one process of a tensor-parallel group, and what all processes must find alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from gradstream.errors import InvalidWorkload
from gradstream.group.tensor.exchange import PeerExchange
from gradstream.group.tensor.plan import ADDED, PLACE
from gradstream.group.tensor.split_model import SplitModel
from gradstream.group.tensor.sum_turns import SumTurn
from gradstream.input import randomness
from gradstream.model import ensemble
from gradstream.model.flat_model import FlatModel
from gradstream.model.parts import MicroBatch
from gradstream.model.usercode import UserCode, blaming
from gradstream.user_logging.media import LoggedMedia
from gradstream.user_logging.scalars import LoggedScalars

_NEAR = 1e-3
"""Difference of two numbers, over the larger, up to which they are the same but for rounding."""


class TensorStep:
    compute: Callable[..., float] = staticmethod(ensemble.train_step)
    """Computes the gradient of the parts of a mini-batch, and leaves it in the parameters and their pieces."""

    def __init__(
        self, flat: FlatModel, split: SplitModel, exchange: PeerExchange, gradient: Tensor, turn: SumTurn | None = None
    ) -> None:
        """`gradient`: shape (size,), shared by the processes of the exchange. `turn`: other processes add to it, too."""
        self._flat, self._split, self._exchange, self._turn = flat, split, exchange, turn
        self._add = turn is not None and turn.number > 0
        self._shared = flat.views_of(gradient)
        self._checked = False

    def train_step(
        self,
        model: nn.Module,
        batch: Sequence[MicroBatch],
        loss: Callable[[nn.Module, object], Tensor],
        backward: Callable[[Tensor], None],
    ) -> float:
        """As `ensemble.train_step`, in part: pieces of the gradient are shared then, and the rest is in the parameters.

        Raises: InvalidWorkload: the processes have computed different things."""
        with self._split.running():
            total = self.compute(model, batch, loss, backward)
            self._split.add_parts()
            with blaming("loss()"):
                self._check_alike(total)
            if self._turn:
                self._turn.wait()
            self._leave_pieces()
            self._exchange.compare(torch.empty(0))  # all have left theirs
        return total

    def _leave_pieces(self) -> None:
        self._split.leave_pieces(self._shared, self._add)

    def evaluate_once(self, part: object, code: UserCode) -> float:
        """Return the loss over some examples, computed in part; nothing is trained, logged or drawn."""
        with torch.no_grad(), randomness.kept(), self._split.running():
            return loss_of_members(self._flat.model, part, code)

    def gather_whole(self, places: Sequence[Tensor]) -> None:
        """See `SplitModel.gather_whole`."""
        self._split.gather_whole(places, self._shared, self._add)

    def forget_whole(self) -> None:
        """See `SplitModel.forget_whole`."""
        self._split.forget_whole()

    def _check_alike(self, loss: float) -> None:
        """Compare the losses; after the first mini-batch also the gradients of what is used whole. Raises: InvalidWorkload."""
        losses = self._exchange.compare(torch.tensor([loss], dtype=torch.float64))
        if not all(near(float(other), loss) for other in losses):
            told = ", ".join(f"{float(other):.6g}" for other in losses)
            raise InvalidWorkload(
                f"{PLACE}: the processes of the worker computed losses that differ ({told}): they drew different random numbers, "
                "or loss() went by something that differs between them; between a colwise and a rowwise module, draw for the "
                "columns there alone"
            )
        if self._checked:
            return
        self._checked = True
        first, *others = self._exchange.compare(self._split.whole_norms())
        for parameter, *norms in zip(self._flat.parameters, first, *others, strict=False):  # as many as are compared
            if not all(near(float(norm), float(norms[0])) for norm in norms):
                raise InvalidWorkload(
                    f"{PLACE}: each process has another gradient of the parameter {parameter.name}: it stands between a colwise "
                    f"and a rowwise module, and sees some columns in each; give its module the style {ADDED} in tensor_plan()"
                )


def loss_of_members(model: nn.Module, part: object, code: UserCode) -> float:
    """Return the sum of the members' losses over some examples. Nothing is logged."""
    with code.logging_into(LoggedScalars(), LoggedMedia()):
        return sum(float(code.loss(member, part)) for member in ensemble.members(model))


def near(one: float, other: float) -> bool:
    """Two that are no numbers are alike, too."""
    return not abs(one - other) > _NEAR * max(abs(one), abs(other))
