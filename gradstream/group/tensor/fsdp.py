"""Replicates of a split model that share the memory which the model takes: one gradient for all, and parts of the optimizer.

Each replicate computes parts of a mini-batch. Then they add their gradients up in turn, to one vector. Each process keeps the
optimizer's state of its own part of theta, and steps on that part, as with `fsdp` alone.
"""

from __future__ import annotations

from pathlib import Path

from torch import Tensor

from gradstream.group.memory import GroupMemory
from gradstream.group.optimizer import OptimizerPeerProblem, OptimizerProblem
from gradstream.group.requests import Train, Trained
from gradstream.group.tensor.problem import SplitReplicates, TensorPeerProblem, TensorProblem
from gradstream.group.tensor.sum_turns import SumTurn, SumTurns
from gradstream.input.data import Batches
from gradstream.input.prefetch import Prefetched
from gradstream.model.flat_model import FlatModel
from gradstream.model.parts import MicroBatch, Minibatch
from gradstream.model.usercode import UserCode
from gradstream.spec import JobSpec
from gradstream.train.problem import Gradient


class TensorFsdpPeerProblem(OptimizerPeerProblem, TensorPeerProblem):
    def __init__(
        self,
        code: UserCode,
        flat: FlatModel,
        batches: Batches | Prefetched,
        replicates: SplitReplicates,
        memory: GroupMemory,
        turns: SumTurns,
    ) -> None:
        super().__init__(code, flat, batches, replicates)
        self._memory, self._turns = memory, turns

    def _turn_of(self, replicate: int, place: int) -> SumTurn:
        self._turn = SumTurn(self._turns, replicate, place, self.wait_for)
        return self._turn

    def train(self, request: Train) -> Trained:
        self._parts = request.parts
        return super().train(request)

    def _gather(self) -> None:
        super()._gather()
        self._turn.end(self._parts)


class TensorFsdpProblem(OptimizerProblem, TensorProblem):
    """The lead's, which is the first peer of the first replicate: it never waits for its turn."""

    _shared_vectors = 2

    def start_peers(self, spec: JobSpec, label: str, rank: int, folder: Path | None = None) -> None:
        self._turns = SumTurns(self._replicates, self._alike)
        super().start_peers(spec, label, rank, folder)
        self._turn = SumTurn(self._turns, 0, 0, self._others.wait_for)

    def _peer_problem(self, replicates: SplitReplicates) -> TensorFsdpPeerProblem:
        return TensorFsdpPeerProblem(self._code, self._flat, self._batches, replicates, self._memory, self._turns)

    def _vector_of(self, replicate: int) -> Tensor:
        return self._memory.vectors[0]

    def gradient_of(self, taken: Minibatch) -> Gradient:
        self._parts = len(taken.shares)
        found = super().gradient_of(taken)
        return found._replace(g=self._sent_from(found.g))

    def _gather_own(self) -> Tensor:
        gradient = self._vector_of(0)
        self._tensor.gather_whole(self._flat.views_of(gradient))
        self._turn.end(self._parts)
        return gradient

    def _add(self, gradient: Tensor, number: int, trained: Trained) -> None:
        """The processes have added theirs already."""

    def _share_out(self, shares: list[MicroBatch]) -> list[list[MicroBatch]]:
        """Return the parts that each process computes: without as many as replicates, the last ones have none."""
        return [shares[number // self._alike :: self._replicates] for number in range(self._count)]
