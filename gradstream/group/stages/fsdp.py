"""Pipelines that share the memory which the model takes: one gradient for all, and parts of the optimizer.

With m pipelines, part j of a mini-batch goes through pipeline j mod m. The processes that are the same stage add the gradients of
its blocks to one vector in the order of the parts, as the peers of `fsdp` do. So the sum has the bits of `accumulate`.

Each parameter is at home in one stage. Where another one reaches it, too, as the head does a tied embedding, that stage adds to a
vector of its own beside, of which only such places take memory. The lead adds these last, in the order of the stages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from itertools import pairwise
from pathlib import Path

from torch import Tensor, nn

from gradstream.group.buckets import BucketChain, add_late, buckets_of
from gradstream.group.memory import GroupMemory
from gradstream.group.neighbour_pipe import Receive, Ring, neighbours_in, ring_of
from gradstream.group.optimizer import OptimizerPeerProblem, OptimizerProblem
from gradstream.group.requests import Train, Trained
from gradstream.group.stages.problem import Pipes, StagePeerProblem, StagesProblem
from gradstream.input.data import Batches
from gradstream.input.prefetch import Prefetched
from gradstream.model.flat_model import FlatModel
from gradstream.model.parts import MicroBatch, Minibatch
from gradstream.model.usercode import UserCode
from gradstream.spec import JobSpec
from gradstream.train.problem import Gradient


class StagesFsdpPeerProblem(OptimizerPeerProblem, StagePeerProblem):
    def __init__(
        self,
        code: UserCode,
        flat: FlatModel,
        batches: Batches | Prefetched,
        blocks: Sequence[nn.Module],
        pipes: Pipes,
        seed: int,
        memory: GroupMemory,
        homes: Sequence[int],
        rings: Sequence[Ring],
    ) -> None:
        """`homes`, `rings`: see `stage_chain`."""
        super().__init__(code, flat, batches, blocks, pipes, seed)
        self._memory, self._homes, self._rings = memory, homes, rings

    def become(self, number: int, gradient: Tensor) -> None:
        super().become(number, gradient)
        self._number = number
        self._chain = stage_chain(self._flat, self._memory, self._homes, number, self._rings, self.receive)

    def train(self, request: Train) -> Trained:
        self._pipeline.adding = adding_parts(self._chain, self._number, self._rings, request.parts)
        return super().train(request)._replace(late=self._chain.take_late())

    def _gather(self) -> list[int]:
        return self._chain.take_reached()


class StagesFsdpProblem(OptimizerProblem, StagesProblem):
    """The lead's, which is the first stage of the first pipeline."""

    def __init__(
        self, code: UserCode, flat: FlatModel, batches: Batches | Prefetched, spec: JobSpec, rows: object | None = None
    ) -> None:
        self._shared_vectors = 2 + spec.roles.worker.group.stages
        super().__init__(code, flat, batches, spec, rows)
        self._homes = homes_of(flat, [self._blocks[start:end] for start, end in pairwise(self._bounds)])

    def start_peers(self, spec: JobSpec, label: str, rank: int, folder: Path | None = None) -> None:
        self._rings = [ring_of(self._pipelines) for _ in range(self._stages)]
        super().start_peers(spec, label, rank, folder)
        before = self._count - self._stages
        self._chain = stage_chain(
            self._flat, self._memory, self._homes, 0, self._rings, partial(self._others.receive, number=before)
        )
        self._flat.gradient = self._memory.vectors[0]

    def _peer_problem(self, pipes: Pipes, seed: int) -> StagesFsdpPeerProblem:
        return StagesFsdpPeerProblem(
            self._code, self._flat, self._batches, self._blocks, pipes, seed, self._memory, self._homes, self._rings
        )

    def _vectors_of_peers(self) -> Sequence[Tensor]:
        return [self._memory.vectors[0]] * (self._count - 1)

    def close(self) -> None:
        super().close()
        self._chain.close()

    def gradient_of(self, taken: Minibatch) -> Gradient:
        self._pipeline.adding = adding_parts(self._chain, 0, self._rings, len(taken.shares))
        found = super().gradient_of(taken)
        return found._replace(g=self._sent_from(found.g))

    def _gather_own(self) -> Tensor:
        gradient = self._memory.vectors[0]
        self._places = self._flat.views_of(gradient)
        self._reached_in, self._late = [set[int]() for _ in range(self._stages)], list[Mapping[int, Tensor]]()
        self._note(0, self._chain.take_reached(), self._chain.take_late())
        return gradient

    def _add(self, gradient: Tensor, number: int, trained: Trained) -> None:
        self._note(number % self._stages, trained.reached or (), trained.late)

    def _note(self, stage: int, reached: Sequence[int], late: Mapping[int, Tensor]) -> None:
        self._reached_in[stage].update(reached)
        self._late.append(late)

    def _finish(self, gradient: Tensor) -> None:
        self._reached = {
            index for stage, reached in enumerate(self._reached_in) for index in reached if self._homes[index] == stage
        }
        for stage, reached in enumerate(self._reached_in):
            away = sorted(index for index in reached if self._homes[index] != stage)
            self._add_reached(self._memory.vectors[2 + stage], away)
        for late in self._late:
            add_late(late, self._places)
        super()._finish(gradient)

    def _share_out(self, shares: list[MicroBatch]) -> list[list[MicroBatch]]:
        return [shares[number // self._stages :: self._pipelines] for number in range(self._count)]


def homes_of(flat: FlatModel, stages: Sequence[Sequence[nn.Module]]) -> list[int]:
    """Return the stage in which each parameter is at home, by index: the first one with a block that has it. Others that come
    before all blocks in the model are in the first stage, and the rest in the last one. `stages`: the blocks of each."""
    of_blocks = dict[int, int]()
    for stage, blocks in enumerate(stages):
        for p in (p for block in blocks for p in block.parameters()):
            of_blocks.setdefault(id(p), stage)
    homes, last = list[int](), 0
    for p in flat.trained:
        home = of_blocks.get(id(p))
        last = len(stages) - 1 if home is not None else last
        homes.append(last if home is None else home)
    return homes


def stage_chain(
    flat: FlatModel, memory: GroupMemory, homes: Sequence[int], number: int, rings: Sequence[Ring], receive: Receive
) -> BucketChain:
    """Become peer `number`. `memory`: after the vectors of the optimizer, it has one for each stage. `homes`: see `homes_of`.
    `rings`: one for each stage."""
    pipeline, stage = divmod(number, len(rings))
    before, after = neighbours_in(rings, stage, pipeline, receive)
    gradients, beside = (flat.views_of(vector) for vector in (memory.vectors[0], memory.vectors[2 + stage]))
    places = [ours if home == stage else own for ours, own, home in zip(gradients, beside, homes, strict=True)]
    at_home = [index for index, home in enumerate(homes) if home == stage]
    away = [index for index, home in enumerate(homes) if home != stage]
    buckets = [*buckets_of(flat, at_home), *([away] if away else [])]
    return BucketChain(flat.trained, places, [buckets], before, after)


def adding_parts(
    chain: BucketChain, number: int, rings: Sequence[Ring], parts: int
) -> Callable[[int], AbstractContextManager[None]]:
    """Return what `PipelineStage.adding` is in peer `number`, for a mini-batch of so many parts."""
    pipeline, pipelines = number // len(rings), len(rings[0])
    return lambda own: chain.adding(pipeline + own * pipelines, parts)
