"""Workers whose peers compute parts of each mini-batch, and share the memory that the model takes among them.

Theta and the gradient lie in memory once for the group, and peers read and write them there: nothing is gathered, and nothing is
kept twice. Each peer keeps the optimizer's state of its own part of theta, and steps on that part.

Source: Zhao et al. 2023, "PyTorch FSDP: Experiences on Scaling Fully Sharded Data Parallel"; Rajbhandari et al. 2020, "ZeRO".
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch
from torch import Tensor

from gradstream.group.buckets import BucketChain, add_late, buckets_of_members
from gradstream.group.memory import GroupMemory
from gradstream.group.neighbour_pipe import Receive, Ring, neighbours_in, ring_of
from gradstream.group.optimizer import OptimizerPeerProblem, OptimizerProblem
from gradstream.group.peers import Peers
from gradstream.group.requests import Train, Trained
from gradstream.input.data import Batches
from gradstream.input.prefetch import Prefetched
from gradstream.model.flat_model import FlatModel
from gradstream.model.parts import MicroBatch, Minibatch
from gradstream.model.usercode import UserCode
from gradstream.spec import JobSpec
from gradstream.train.problem import Gradient


class FsdpPeerProblem(OptimizerPeerProblem):
    def __init__(self, code: UserCode, flat: FlatModel, batches: Batches | Prefetched, memory: GroupMemory, ring: Ring) -> None:
        super().__init__(code, flat, batches)
        self._memory, self._ring = memory, ring

    def become(self, number: int, gradient: Tensor) -> None:
        self._number = number
        self._chain = bucket_chain(self._flat, gradient, number, self._ring, self.receive)

    def train(self, request: Train) -> Trained:
        return super().train(request)._replace(late=self._chain.take_late())

    def _backward(self, request: Train) -> Callable[[Tensor], None]:
        own = range(self._number, request.parts, len(self._ring))
        return self._chain.wrapping(super()._backward(request), own, request.parts)

    def _gather(self) -> list[int]:
        return self._chain.take_reached()


class FsdpProblem(OptimizerProblem):
    """The lead's, which is peer 0. Its gradient has the bits of `accumulate` in one process."""

    _shared_vectors = 2

    def start_peers(self, spec: JobSpec, label: str, rank: int, folder: Path | None = None) -> None:
        ring = ring_of(self._count)
        gradient, _ = self._memory.vectors
        problem = FsdpPeerProblem(self._code, self._flat, self._batches, self._memory, ring)
        self._peers = Peers(problem, [gradient] * (self._count - 1), spec, label, rank, folder)
        self._chain = bucket_chain(self._flat, gradient, 0, ring, partial(self._peers.receive, number=self._count - 1))
        self._flat.gradient = gradient
        torch.set_num_threads(spec.roles.worker.threads)

    def close(self) -> None:
        super().close()
        self._chain.close()

    def gradient_of(self, taken: Minibatch) -> Gradient:
        own, working = self._ask_to_train(taken)
        numbers, parts = range(0, len(taken.shares), self._count), len(taken.shares)
        loss = self._step(own, self._chain.wrapping(self._backward(), numbers, parts))
        answers = [self._take_answer(number) for number in working]
        gradient, _ = self._memory.vectors
        places = self._flat.views_of(gradient)
        reached = {index for trained in answers for index in trained.reached or ()}.union(self._chain.take_reached())
        for index in set(range(len(places))) - reached:
            places[index].zero_()
        for late in (self._chain.take_late(), *(trained.late for trained in answers)):
            add_late(late, places)
        self._finish(gradient)
        return Gradient(self._sent_from(gradient), sum((trained.loss for trained in answers), loss), taken.examples)

    def _share_out(self, shares: list[MicroBatch]) -> list[list[MicroBatch]]:
        return [shares[number :: self._count] for number in range(self._count)]


def bucket_chain(flat: FlatModel, gradient: Tensor, number: int, ring: Ring, receive: Receive) -> BucketChain:
    """Become the peer of this number."""
    before, after = neighbours_in([ring], 0, number, receive)
    return BucketChain(flat.trained, flat.views_of(gradient), buckets_of_members(flat), before, after)
