"""Workers whose peers are the stages of pipelines: each has some blocks of the model, and micro-batches pass through all.

With several replicates, or with fsdp, there are as many pipelines, each with parts of the mini-batch. With s stages,
peer k is stage k mod s of pipeline k // s. So the lead is the first stage of the first one. If t processes compute each stage,
peer k is number k mod t of those that would be k // t.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterable, Sequence
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from gradstream.center.entries import Buffers
from gradstream.errors import InvalidWorkload
from gradstream.group.neighbour_pipe import NeighbourPipe, Receive
from gradstream.group.peer import PeerProblem
from gradstream.group.peers import Peers
from gradstream.group.problem import GroupProblem, mean_of, share_out
from gradstream.group.requests import Check, Request, TakeBuffers, Train, Trained
from gradstream.group.stages.bounds import stage_bounds
from gradstream.group.stages.pipeline import PipelineStage
from gradstream.group.stages.stage import Stage
from gradstream.input.data import Batches
from gradstream.input.prefetch import Prefetched
from gradstream.model.flat_model import FlatModel
from gradstream.model.parts import MicroBatch, Minibatch
from gradstream.model.usercode import UserCode, blaming
from gradstream.process.begin import seed_of
from gradstream.spec import JobSpec
from gradstream.train.problem import Gradient
from gradstream.user_logging.media import LoggedMedia
from gradstream.user_logging.scalars import LoggedScalars

_NEAR = 1e-3
"""Difference of two losses, over the larger, up to which they are the same but for rounding."""

Pipes = Sequence[Sequence[tuple[Connection, Connection]]]
"""The pipes of each pipeline, between each stage and the next: the ends of the one before and of the one after. If several
processes compute each stage, the first ones of all stages have pipes, and so have the second ones, and so on."""


class StagePeerProblem(PeerProblem):
    _alike = 1
    """Processes that compute each stage."""

    def __init__(
        self, code: UserCode, flat: FlatModel, batches: Batches | Prefetched, blocks: Sequence[nn.Module], pipes: Pipes, seed: int
    ) -> None:
        super().__init__(code, flat, batches)
        self._blocks, self._pipes, self._seed = blocks, pipes, seed

    def become(self, number: int, gradient: Tensor) -> None:
        self._pipeline = pipeline_stage(self._blocks, number, self._pipes, self.receive, self._seed, self._alike)
        self._train_step = partial(self._pipeline.train_step, self._flat.model)
        self._places = self._flat.views_of(gradient)

    def train(self, request: Train) -> Trained:
        self._pipeline.position = request.position
        return super().train(request)

    def _gather(self) -> list[int]:
        return _gather_reached(self._flat.trained, self._places)

    def answer(self, request: Request) -> Any:
        return self._check(request) if isinstance(request, Check) else super().answer(request)

    def _check(self, request: Check) -> float:
        self._flat.refresh()
        self._flat.model.eval()
        return self._evaluate_once(request.part)

    def _evaluate_once(self, part: Any) -> float:
        return self._pipeline.evaluate_once(self._flat.model, part, self._code.loss)


class StagesProblem(GroupProblem):
    """The lead's, which is the first stage. Its gradient has the bits of `accumulate` in one process."""

    _checked_for = "something goes around its blocks; override blocks(model) in the workload, or remove stages"
    """A remedy, where stages compute another loss than the whole model."""

    def __init__(
        self, code: UserCode, flat: FlatModel, batches: Batches | Prefetched, spec: JobSpec, rows: object | None = None
    ) -> None:
        super().__init__(code, flat, batches, spec, rows)
        self._stages, self._pipelines = spec.roles.worker.group.stages, spec.roles.worker.group.parts
        self._blocks = code.blocks(flat.model)
        with blaming("blocks()"):
            self._bounds = stage_bounds([sum(p.numel() for p in block.parameters()) for block in self._blocks], self._stages)
        self._owners = self._buffer_owners()
        self._checked = False

    def start_peers(self, spec: JobSpec, label: str, rank: int, folder: Path | None = None) -> None:
        pipes = [[multiprocessing.Pipe() for _ in range(self._stages - 1)] for _ in range(self._pipelines * self._alike)]
        seed = seed_of(spec.seed, "stages of worker", rank)
        self._peers = Peers(self._peer_problem(pipes, seed), self._vectors_of_peers(), spec, label, rank, folder)
        self._become_first(pipes, seed)
        torch.set_num_threads(spec.roles.worker.threads)

    def _become_first(self, pipes: Pipes, seed: int) -> None:
        """Become the first stage, when the others are forked."""
        self._pipeline = pipeline_stage(self._blocks, 0, pipes, self._others.receive, seed, self._alike)
        self._train_step = partial(self._pipeline.train_step, self._flat.model)

    def close(self) -> None:
        super().close()
        self._pipeline.close()

    def _peer_problem(self, pipes: Pipes, seed: int) -> StagePeerProblem:
        return StagePeerProblem(self._code, self._flat, self._batches, self._blocks, pipes, seed)

    def _vectors_of_peers(self) -> Sequence[Tensor]:
        """Return where each peer but the lead leaves its gradient."""
        return self._memory.vectors

    def gradient_of(self, taken: Minibatch) -> Gradient:
        if not self._checked:
            self._check(taken.shares[0].batch)
        self._pipeline.position = taken.position
        return super().gradient_of(taken)

    def _gather_own(self) -> Tensor:
        self._places = self._flat.views_of(self._flat.gradient)
        self._reached = set(_gather_reached(self._flat.trained, self._places))
        return self._flat.gradient

    def _add(self, gradient: Tensor, number: int, trained: Trained) -> None:
        self._add_reached(self._memory.vectors[number - 1], trained.reached or ())

    def _add_reached(self, vector: Tensor, reached: Iterable[int]) -> None:
        """Add gradients from a vector: those of the parameters with these indices."""
        theirs = self._flat.views_of(vector)
        for index in reached:
            if index in self._reached:
                self._places[index] += theirs[index]
            else:
                self._places[index].copy_(theirs[index])
                self._reached.add(index)

    def _finish(self, gradient: Tensor) -> None:
        for index in set(range(len(self._places))) - self._reached:
            self._places[index].zero_()
        super()._finish(gradient)

    def _share_out(self, shares: list[MicroBatch]) -> list[list[MicroBatch]]:
        of_pipelines = share_out(shares, self._pipelines)
        return [of_pipelines[number // (self._stages * self._alike)] for number in range(self._count)]

    def _check(self, part: Any) -> None:
        """Compare the loss that the stages compute with that of the whole model. Raises: UserError: they differ."""
        self._checked = True
        model = self._flat.model
        self._flat.refresh()
        model.eval()
        of_pipeline = range(1, self._stages * self._alike)
        for number in of_pipeline:
            self._others.ask(number, Check(part))
        self._evaluate_once(part)
        staged = [self._others.answer(number) for number in of_pipeline][-1]
        with torch.no_grad(), self._pipeline.drawing(0), self._code.logging_into(LoggedScalars(), LoggedMedia()):
            whole = float(self._code.loss(model, part))
        if abs(staged - whole) > _NEAR * max(abs(staged), abs(whole)):
            with blaming("loss()"):
                raise InvalidWorkload(
                    f"roles.worker.group.stages: the stages compute a loss of {staged:.6g} where the whole model has {whole:.6g}: "
                    + self._checked_for
                )

    def _evaluate_once(self, part: Any) -> float:
        return self._pipeline.evaluate_once(self._flat.model, part, self._code.loss)

    def _buffer_owners(self) -> Buffers | None:
        """Return the stage that computes each value of the buffers. Outside of the blocks, it is the last one: what comes before
        the blocks is the same in all."""
        buffers = self._flat.buffers()
        if buffers is None:
            return None
        owners = Buffers(*(torch.full(vector.shape, self._stages - 1, dtype=torch.int64) for vector in buffers))
        places = self._flat.buffer_places()
        for stage in range(self._stages):
            for block in self._blocks[self._bounds[stage] : self._bounds[stage + 1]]:
                for buffer in block.buffers():
                    if found := places.get(id(buffer)):
                        vector, start = found
                        getattr(owners, vector)[start : start + buffer.numel() * (1 + buffer.is_complex())] = stage
        return owners

    def buffers(self) -> Buffers | None:
        """Return each buffer as the stage has it that computes it: the mean over the pipelines."""
        own = self._flat.buffers()
        if own is None or self._owners is None:
            return None
        found = [own, *self._ask_others(TakeBuffers())]
        pipelines = [_of_owners(found[start : start + self._stages], self._owners) for start in range(0, len(found), self._stages)]
        return mean_of(pipelines)

    def state(self) -> dict[str, Any]:
        """The state for a checkpoint. Buffers stand in it once, so that a group of another shape can take them."""
        buffers, state = self.buffers(), super().state()
        return {**state, "buffers": tuple(buffers) if buffers else None, "peers": [_without_buffers(s) for s in state["peers"]]}

    def load(self, state: dict[str, Any]) -> None:
        super().load({**state, "peers": [_without_buffers(s) for s in state.get("peers", ())]})


def pipeline_stage(
    blocks: Sequence[nn.Module], number: int, pipes: Pipes, receive: Receive, seed: int, alike: int = 1
) -> PipelineStage:
    """Become the stage of this peer, and close the ends of pipes that belong to others, so that the end of a neighbour shows.
    `alike`: processes that compute each stage."""
    stages = len(pipes[0]) + 1
    pipeline, stage = divmod(number // alike, stages)
    own = pipes[pipeline * alike + number % alike]
    before = own[stage - 1][1] if stage else None
    after = own[stage][0] if stage < stages - 1 else None
    for end in (end for of_pipeline in pipes for pair in of_pipeline for end in pair):
        if end is not before and end is not after:
            end.close()
    own_seed = seed_of(seed, "pipeline", pipeline)
    to_before, to_after = (NeighbourPipe(pipe, receive) if pipe else None for pipe in (before, after))
    return PipelineStage(Stage(blocks, stage, stages), stage, stages, to_before, to_after, own_seed)


def _gather_reached(trained: Sequence[nn.Parameter], places: Sequence[Tensor]) -> list[int]:
    """Copy the gradients that there are to their places, and forget them. Returns the parameters that have one, by index."""
    reached = []
    for index, (p, place) in enumerate(zip(trained, places, strict=True)):
        if p.grad is not None:
            place.copy_(p.grad.to_dense() if p.grad.is_sparse else p.grad)
            p.grad = None
            reached.append(index)
    return reached


def _of_owners(found: Sequence[Buffers], owners: Buffers) -> Buffers:
    """Return each value of the buffers of the stage that computes it. `found`: those of each stage."""
    stacked = (torch.stack(list(vectors)) for vectors in zip(*found, strict=True))
    return Buffers(*(of_all.gather(0, owner[None])[0] for of_all, owner in zip(stacked, owners, strict=True)))


def _without_buffers(state: dict[str, Any]) -> dict[str, Any]:
    return {**state, "buffers": None}
