"""Workers whose peers compute the same mini-batch together: each computes the inside of linear layers in part.

With several replicates, each is t peers, and has parts of the mini-batch. Peer k is number k mod t of replicate k // t. The first
one of each replicate completes its gradient, and answers for the others: they have the same loss, buffers and random numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from gradstream.errors import InvalidWorkload
from gradstream.group.peer import PeerProblem
from gradstream.group.peers import PeerLost, Peers
from gradstream.group.problem import GroupProblem, share_out
from gradstream.group.requests import Check, Request, Train, Trained
from gradstream.group.tensor.exchange import PeerExchange, SharedSlots
from gradstream.group.tensor.plan import PLACE, PlannedModule, log, plan_of
from gradstream.group.tensor.split_model import SplitModel
from gradstream.group.tensor.step import TensorStep, loss_of_members, near
from gradstream.group.tensor.sum_turns import SumTurn
from gradstream.input import randomness
from gradstream.input.data import Batches
from gradstream.input.prefetch import Prefetched
from gradstream.model import ensemble
from gradstream.model.flat_model import FlatModel
from gradstream.model.parts import MicroBatch, Minibatch
from gradstream.model.usercode import UserCode, blaming
from gradstream.process.begin import seed_of
from gradstream.process.exits import UserError
from gradstream.spec import JobSpec
from gradstream.train.problem import Gradient

_REMEDY = "see that each colwise module leads to a rowwise one, and that no split goes through a head of attention"


class SplitReplicates(NamedTuple):
    """The replicates of a split model, as all of their processes know them."""

    planned: Sequence[PlannedModule]
    shared: Sequence[SharedSlots]
    """One for each replicate."""
    seeds: Sequence[int]
    """One for each replicate. The first one does not use its own: it has the random numbers of the lead when it is forked."""


class TensorPeerProblem(PeerProblem):
    def __init__(self, code: UserCode, flat: FlatModel, batches: Batches | Prefetched, replicates: SplitReplicates) -> None:
        super().__init__(code, flat, batches)
        self._split_replicates, self._generators = replicates, randomness.generators()

    def become(self, number: int, gradient: Tensor) -> None:
        planned, shared, seeds = self._split_replicates
        replicate, place = divmod(number, len(shared[0].slots))
        if replicate:
            randomness.seed(seeds[replicate])
        else:
            randomness.set_generators(self._generators)
        exchange = exchange_of(shared, replicate, place, self.wait_for)
        self._answers = place == 0
        split, turn = SplitModel(self._flat, planned, exchange), self._turn_of(replicate, place)
        self._tensor = TensorStep(self._flat, split, exchange, gradient, turn)
        self._train_step = partial(self._tensor.train_step, self._flat.model)
        self._places = self._flat.views_of(gradient)

    def _turn_of(self, replicate: int, place: int) -> SumTurn | None:
        """Return the turn of this process to add to a gradient that other replicates add to, too; None: none does."""
        return None

    def train(self, request: Train) -> Trained:
        trained = super().train(request)
        return trained if self._answers else Trained(0.0, "", {})

    def _gather(self) -> None:
        if self._answers:
            self._tensor.gather_whole(self._places)
        else:
            self._tensor.forget_whole()

    def answer(self, request: Request) -> Any:
        if not isinstance(request, Check):
            return super().answer(request)
        self._flat.refresh()
        self._flat.model.eval()
        return self._tensor.evaluate_once(request.part, self._code)


class TensorProblem(GroupProblem):
    """The lead's, which is the first peer of the first replicate. Its gradient is that of one process but for rounding."""

    def __init__(
        self, code: UserCode, flat: FlatModel, batches: Batches | Prefetched, spec: JobSpec, rows: object | None = None
    ) -> None:
        self._alike, self._replicates = spec.roles.worker.group.tensor, spec.roles.worker.group.parts
        if self._shared_vectors is None:
            self._shared_vectors = self._replicates
        super().__init__(code, flat, batches, spec, rows)
        self._planned = planned_modules(code, flat, self._alike)
        self._checked = False
        self.exchanges_of_a_batch = 0
        """Exchanges of the last mini-batch."""

    def start_peers(self, spec: JobSpec, label: str, rank: int, folder: Path | None = None) -> None:
        shared = [SharedSlots(self._alike) for _ in range(self._replicates)]
        seeds = [seed_of(spec.seed, f"peer {number} of worker", rank) for number in range(self._replicates)]
        problem = self._peer_problem(SplitReplicates(self._planned, shared, seeds))
        gradients = [self._vector_of(number // self._alike) for number in range(self._count)]
        self._peers = Peers(problem, gradients[1:], spec, label, rank, folder)
        self._exchange = exchange_of(shared, 0, 0, self._peers.wait_for)
        split = SplitModel(self._flat, self._planned, self._exchange)
        self._tensor = TensorStep(self._flat, split, self._exchange, gradients[0])
        self._train_step = partial(self._tensor.train_step, self._flat.model)
        self._flat.gradient = gradients[0]
        torch.set_num_threads(spec.roles.worker.threads)

    def _peer_problem(self, replicates: SplitReplicates) -> TensorPeerProblem:
        return TensorPeerProblem(self._code, self._flat, self._batches, replicates)

    def _vector_of(self, replicate: int) -> Tensor:
        """Return the gradient that the processes of a replicate share."""
        return self._memory.vectors[replicate]

    def gradient_of(self, taken: Minibatch) -> Gradient:
        if not self._checked:
            self._check(taken.shares[0].batch)
        before = self._exchange.exchanged
        found = super().gradient_of(taken)
        self.exchanges_of_a_batch = self._exchange.exchanged - before
        return found

    def _gather_own(self) -> Tensor:
        self._tensor.gather_whole(self._flat.views_of(self._flat.gradient))
        return self._flat.gradient

    def _add(self, gradient: Tensor, number: int, trained: Trained) -> None:
        if number % self._alike == 0:
            gradient += self._memory.vectors[number // self._alike]

    def _share_out(self, shares: list[MicroBatch]) -> list[list[MicroBatch]]:
        of_replicates = share_out(shares, self._replicates)
        return [of_replicates[number // self._alike] for number in range(self._count)]

    def _check(self, part: Any) -> None:
        """Compare the loss of the split model with that of the whole one. Raises: UserError: they differ, or the split fails."""
        self._checked = True
        self._flat.refresh()
        self._flat.model.eval()
        with torch.no_grad(), randomness.kept():
            whole = loss_of_members(self._flat.model, part, self._code)
        with blaming("loss()", but=PeerLost):
            try:
                for number in range(1, self._alike):
                    self._others.ask(number, Check(part))
                split = self._tensor.evaluate_once(part, self._code)
                for number in range(1, self._alike):
                    self._others.answer(number)
            except UserError as error:
                raise InvalidWorkload(
                    f"{PLACE}: the model fails when its modules are split, and not as a whole: {error.__cause__}; {_REMEDY}"
                ) from error
            if not near(split, whole):
                raise InvalidWorkload(
                    f"{PLACE}: the split model computes a loss of {split:.6g} where the whole one has {whole:.6g}; {_REMEDY}"
                )


def planned_modules(code: UserCode, flat: FlatModel, count: int) -> list[PlannedModule]:
    """Return the modules of all members that so many processes split. Raises: UserError."""
    given = code.tensor_plan()
    with blaming("tensor_plan()"):
        plans = [plan_of(member, given, count) for member in ensemble.members(flat.model)]
    planned = [module for plan in plans for module in plan.modules]
    log.info("%s: %d modules are split by %s", PLACE, len(planned), plans[0].origin)
    return planned


def exchange_of(shared: Sequence[SharedSlots], replicate: int, place: int, wait_for: Callable[[int], None]) -> PeerExchange:
    """Become the process at this place of a replicate, and close the inboxes of the others."""
    for number, slots in enumerate(shared):
        if number != replicate:
            slots.close()
    return PeerExchange(shared[replicate], place, wait_for)
