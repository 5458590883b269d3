"""One mini-batch in one process of a tensor-parallel group, and what all processes must find alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from gradstream.errors import InvalidWorkload
from gradstream.group.fsdp.sum_turn import SumTurn
from gradstream.group.requests import Left, Trained
from gradstream.group.stages.pipeline import PipelineStage
from gradstream.group.step import ProcessStep, near
from gradstream.group.tensor.exchange import PeerExchange
from gradstream.group.tensor.plan import ADDED, PLACE
from gradstream.group.tensor.split_model import SplitModel
from gradstream.model.flat_model import FlatModel
from gradstream.model.parts import MicroBatch
from gradstream.model.usercode import UserCode, blaming


class TensorStep(ProcessStep):
    def __init__(
        self,
        flat: FlatModel,
        places: Sequence[Tensor],
        pipeline: PipelineStage | None,
        split: SplitModel,
        exchange: PeerExchange,
        turn: SumTurn,
    ) -> None:
        """`places`: shared by the processes of the exchange. `turn`: of this process to add to them."""
        super().__init__(flat, places, pipeline)
        self._split, self._exchange, self._turn = split, exchange, turn
        self._reached = set[int]()
        """Parameters whose places have a gradient of this mini-batch."""
        self._own = set[int]()
        """Those that have one of this process."""
        self._checked = False

    def train_step(
        self,
        model: nn.Module,
        batch: Sequence[MicroBatch],
        loss: Callable[[nn.Module, Any], Tensor],
        backward: Callable[[Tensor], None],
    ) -> float:
        """As `ProcessStep.train_step`, in part: pieces of the gradient are in their places then, and the rest is in the parameters.

        Raises: InvalidWorkload: the processes have computed different things."""
        with self._split.running():
            total = super().train_step(model, batch, loss, backward)
            self._split.add_parts()
            with blaming("loss()"):
                self._check_alike(total)
            self._reached = self._turn.wait()
            self._own = self._split.leave_pieces(self._places, self._reached)
            self._reached |= self._own
            self._exchange.compare(torch.empty(0))  # all have left theirs
        return total

    def leave(self) -> Left:
        """The first process leaves what is used whole, which all have alike."""
        if self._exchange.number:
            self._split.forget_whole()
            return Left(())
        self._own |= self._split.leave_whole(self._places, self._reached)
        self._turn.end(self._parts, self._reached | self._own)
        return Left(self._own)

    def evaluate_once(self, part: object, code: UserCode) -> float:
        with self._split.running():
            return super().evaluate_once(part, code)

    def answer(self, trained: Trained) -> Trained:
        """The first process answers for all: they have the same loss, buffers and random numbers."""
        return Trained(0.0, "", {}) if self._exchange.number else trained

    @property
    def exchanged(self) -> int:
        """Exchanges so far."""
        return self._exchange.exchanged

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
