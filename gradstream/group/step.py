"""One mini-batch in one process of a group: it computes its parts, and leaves their gradient where the lead finds it.

ProcessStep    copies what its stage reaches, at the end
WholeStep      copies all, at the end: a replicate that is one process
ReplicateStep  the same, and adds up on the devices (gradstream/group/devices/replicate_sum.py)
ChainStep      adds to one vector with the other peers along fsdp, bucket by bucket, while backward runs
TensorStep     leaves its pieces, and the first peer along tensor all that is used whole (gradstream/group/tensor/step.py)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from gradstream.group.devices.replicate_sum import ReplicateSum
from gradstream.group.fsdp.buckets import BucketChain
from gradstream.group.gradient_sum import GradientSum
from gradstream.group.memory import leave_gradient
from gradstream.group.requests import Left, Trained
from gradstream.group.stages.pipeline import PipelineStage
from gradstream.input import randomness
from gradstream.input.data import to_device
from gradstream.model import ensemble
from gradstream.model.flat_model import FlatModel
from gradstream.model.parts import MicroBatch
from gradstream.model.usercode import UserCode
from gradstream.user_logging.media import LoggedMedia
from gradstream.user_logging.scalars import LoggedScalars

_NEAR = 1e-3
"""Difference of two numbers, over the larger, up to which they are the same but for rounding."""


class ProcessStep:
    def __init__(self, flat: FlatModel, places: Sequence[Tensor], pipeline: PipelineStage | None) -> None:
        """`places`: for the gradient of each parameter, in memory that the lead sees. `pipeline`: None: this process computes all
        blocks of the model."""
        self._flat, self._places, self._pipeline = flat, places, pipeline
        self._compute = pipeline.train_step if pipeline else ensemble.train_step
        self._parts = 1
        """Parts of the mini-batch in this replicate."""

    def begin(self, position: int, parts: int, *, all_compute: bool) -> None:
        """Begin a mini-batch. `all_compute`: each process of this machine has some of it."""
        self._parts = parts
        if self._pipeline:
            self._pipeline.position = position

    def train_step(
        self,
        model: nn.Module,
        batch: Sequence[MicroBatch],
        loss: Callable[[nn.Module, Any], Tensor],
        backward: Callable[[Tensor], None],
    ) -> float:
        """As `ensemble.train_step`. Raises: what `loss` does; InvalidWorkload: the group cannot compute this model."""
        try:
            return self._compute(model, [part._replace(batch=self._here(part.batch)) for part in batch], loss, backward)
        finally:
            self._flat.free_blocks()

    def _here(self, examples: Any) -> Any:
        """Return examples on the device of this process."""
        return to_device(examples, self._flat.computes_on)

    def leave(self) -> Left:
        """Leave what is still in the parameters."""
        reached = []
        for index, (p, place) in enumerate(zip(self._flat.trained, self._places, strict=True)):
            if p.grad is not None:
                leave_gradient(p.grad, place, add=False)
                p.grad = None
                reached.append(index)
        return Left(reached)

    def evaluate_once(self, part: object, code: UserCode) -> float:
        """Return the loss over some examples, computed with the others; nothing is trained, logged or drawn. With stages, the last
        one has it, and the others 0."""
        part = self._prepare(part)
        with torch.no_grad(), randomness.kept(), code.exact(), code.logging_into(LoggedScalars(), LoggedMedia()):
            if self._pipeline:
                return self._pipeline.evaluate_once(self._flat.model, part, code.loss)
            return sum(float(code.loss(member, part)) for member in ensemble.members(self._flat.model))

    def evaluate_whole(self, part: object, code: UserCode) -> float:
        """Return the loss over some examples as one process computes it, with the random numbers of `evaluate_once`."""
        part = self._prepare(part)
        with torch.no_grad(), self._drawing_alike(), code.exact(), code.logging_into(LoggedScalars(), LoggedMedia()):
            return sum(float(code.loss(member, part)) for member in ensemble.members(self._flat.model))

    def _prepare(self, part: object) -> Any:
        """Return these examples where the model is ready to evaluate them."""
        self._flat.refresh()
        self._flat.model.eval()
        return self._here(part)

    @contextmanager
    def _drawing_alike(self) -> Iterator[None]:
        with self._pipeline.drawing(0) if self._pipeline else randomness.kept():
            yield

    def total(self, found: GradientSum) -> Tensor:
        """Return the whole sum as the lead, when all have left theirs. Raises: what a wait for other processes does."""
        return found.finish()

    def answer(self, trained: Trained) -> Trained:
        """Return what this process answers, which has trained so."""
        return trained

    def close(self) -> None:
        """End the threads of its pipes."""
        if self._pipeline:
            self._pipeline.close()


class WholeStep(ProcessStep):
    def leave(self) -> Left:
        self._flat.gather_gradient()
        return Left(range(len(self._flat.trained)))


class ReplicateStep(WholeStep):
    """A replicate that is one process. Gradients add up on the devices, if all of the machine compute some."""

    _is_on_devices = False

    def __init__(self, flat: FlatModel, places: Sequence[Tensor], sums: ReplicateSum) -> None:
        super().__init__(flat, places, None)
        self._sums = sums

    def begin(self, position: int, parts: int, *, all_compute: bool) -> None:
        super().begin(position, parts, all_compute=all_compute)
        self._is_on_devices = all_compute

    def leave(self) -> Left:
        self._sums.finish()  # of the mini-batch before, which has the same vector
        if not self._is_on_devices:
            return super().leave()
        self._total = self._flat.gather_on_device()
        self._sums.begin(self._total)
        return Left(range(len(self._flat.trained)))

    def total(self, found: GradientSum) -> Tensor:
        if not self._is_on_devices:
            return super().total(found)
        self._sums.finish()
        return self._flat.gradient.copy_(self._total)

    def close(self) -> None:
        super().close()
        self._sums.close()


class ChainStep(ProcessStep):
    def __init__(
        self, flat: FlatModel, places: Sequence[Tensor], pipeline: PipelineStage | None, chain: BucketChain, number: int, count: int
    ) -> None:
        """`number`, `count`: of this peer and of all along fsdp. Part j of a mini-batch is of peer j mod `count`."""
        super().__init__(flat, places, pipeline)
        self._chain, self._number, self._count = chain, number, count
        if pipeline:
            pipeline.adding = lambda own: chain.adding(number + own * count, self._parts)

    def train_step(
        self,
        model: nn.Module,
        batch: Sequence[MicroBatch],
        loss: Callable[[nn.Module, Any], Tensor],
        backward: Callable[[Tensor], None],
    ) -> float:
        if not self._pipeline:
            backward = self._chain.wrapping(backward, range(self._number, self._parts, self._count), self._parts)
        return super().train_step(model, batch, loss, backward)

    def leave(self) -> Left:
        return Left(self._chain.take_reached(), self._chain.take_late())

    def close(self) -> None:
        super().close()
        self._chain.close()


def near(one: float, other: float) -> bool:
    """Two that are no numbers are alike, too."""
    return not abs(one - other) > _NEAR * max(abs(one), abs(other))
