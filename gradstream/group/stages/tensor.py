"""Stages of a pipeline that several processes compute together: each has parts of the linear layers of the stage's blocks.

The processes of a stage make the same exchanges in the same order, as they run the same schedule. The output of a block is whole in
each of them. So the first one of a stage sends to the first one of the next stage, the second one to the second one, and so on.
Each stage of each pipeline has a vector for its gradient, of which only the parameters take memory that the stage reaches.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from gradstream.group.requests import Train, Trained
from gradstream.group.stages.pipeline import PipelineStage
from gradstream.group.stages.problem import Pipes, StagePeerProblem, StagesProblem
from gradstream.group.tensor.exchange import PeerExchange, SharedSlots
from gradstream.group.tensor.plan import PlannedModule
from gradstream.group.tensor.problem import exchange_of, planned_modules
from gradstream.group.tensor.split_model import SplitModel
from gradstream.group.tensor.step import TensorStep
from gradstream.input import randomness
from gradstream.input.data import Batches
from gradstream.input.prefetch import Prefetched
from gradstream.model.flat_model import FlatModel
from gradstream.model.usercode import UserCode
from gradstream.spec import JobSpec


class TensorStageStep(TensorStep):
    """One mini-batch in one process of a stage."""

    def __init__(
        self, flat: FlatModel, split: SplitModel, exchange: PeerExchange, gradient: Tensor, pipeline: PipelineStage
    ) -> None:
        super().__init__(flat, split, exchange, gradient)
        self.compute, self._pipeline = pipeline.train_step, pipeline
        self._reached = set[int]()

    def _leave_pieces(self) -> None:
        self._reached = self._split.leave_reached(self._shared)

    def gather_reached(self) -> list[int]:
        """Complete the gradient of the stage. Returns the parameters that have one, by index."""
        return self._split.gather_reached(self._shared, self._reached)

    def evaluate_once(self, part: object, code: UserCode) -> float:
        """Return the loss over some examples in the last stage, else 0."""
        with torch.no_grad(), randomness.kept(), self._split.running():
            return self._pipeline.evaluate_once(self._flat.model, part, code.loss)


class StagesTensorPeerProblem(StagePeerProblem):
    def __init__(
        self,
        code: UserCode,
        flat: FlatModel,
        batches: Batches | Prefetched,
        blocks: Sequence[nn.Module],
        pipes: Pipes,
        seed: int,
        planned: Sequence[PlannedModule],
        shared: Sequence[SharedSlots],
    ) -> None:
        """`shared`: of each stage of each pipeline."""
        super().__init__(code, flat, batches, blocks, pipes, seed)
        self._planned, self._shared, self._alike = planned, shared, len(shared[0].slots)

    def become(self, number: int, gradient: Tensor) -> None:
        stage, place = divmod(number, self._alike)
        self._answers = place == 0
        exchange = exchange_of(self._shared, stage, place, self.wait_for)
        split = SplitModel(self._flat, self._planned, exchange)  # before it becomes a stage: a block may be a split layer itself
        super().become(number, gradient)
        self._tensor = TensorStageStep(self._flat, split, exchange, gradient, self._pipeline)
        self._train_step = partial(self._tensor.train_step, self._flat.model)

    def train(self, request: Train) -> Trained:
        trained = super().train(request)
        return trained if self._answers else Trained(0.0, "", {})

    def _gather(self) -> list[int]:
        if self._answers:
            return self._tensor.gather_reached()
        self._tensor.forget_whole()
        return []

    def _evaluate_once(self, part: Any) -> float:
        return self._tensor.evaluate_once(part, self._code)


class StagesTensorProblem(StagesProblem):
    """The lead's, which is the first process of the first stage. Its gradient is that of one process but for rounding."""

    _checked_for = (
        "something goes around its blocks, or tensor_plan() splits what belongs together; override blocks(model) in the workload, "
        "or remove stages or tensor"
    )

    def __init__(
        self, code: UserCode, flat: FlatModel, batches: Batches | Prefetched, spec: JobSpec, rows: object | None = None
    ) -> None:
        group = spec.roles.worker.group
        self._alike, self._shared_vectors = group.tensor, group.parts * group.stages
        super().__init__(code, flat, batches, spec, rows)
        self._planned = planned_modules(code, flat, self._alike)

    def start_peers(self, spec: JobSpec, label: str, rank: int, folder: Path | None = None) -> None:
        self._shared = [SharedSlots(self._alike) for _ in self._memory.vectors]
        super().start_peers(spec, label, rank, folder)

    def _become_first(self, pipes: Pipes, seed: int) -> None:
        exchange = exchange_of(self._shared, 0, 0, self._others.wait_for)
        split = SplitModel(self._flat, self._planned, exchange)  # as in `StagesTensorPeerProblem`
        super()._become_first(pipes, seed)
        self._flat.gradient = self._memory.vectors[0]
        self._tensor = TensorStageStep(self._flat, split, exchange, self._flat.gradient, self._pipeline)
        self._train_step = partial(self._tensor.train_step, self._flat.model)

    def _peer_problem(self, pipes: Pipes, seed: int) -> StagesTensorPeerProblem:
        return StagesTensorPeerProblem(
            self._code, self._flat, self._batches, self._blocks, pipes, seed, self._planned, self._shared
        )

    def _vectors_of_peers(self) -> Sequence[Tensor]:
        return [self._memory.vectors[number // self._alike] for number in range(1, self._count)]

    def _gather_own(self) -> Tensor:
        reached, own = self._tensor.gather_reached(), self._memory.vectors[0]
        gradient = self._flat.gradient
        self._places, self._reached = self._flat.views_of(gradient), set[int]()
        if gradient.data_ptr() == own.data_ptr():
            self._reached.update(reached)
        else:
            self._add_reached(own, reached)
        return gradient

    def _add(self, gradient: Tensor, number: int, trained: Trained) -> None:
        if number % self._alike == 0:
            self._add_reached(self._memory.vectors[number // self._alike], trained.reached or ())

    def _evaluate_once(self, part: Any) -> float:
        return self._tensor.evaluate_once(part, self._code)
