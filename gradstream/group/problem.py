"""The problem of a worker that is a group: each mini-batch is computed in parts, by all peers at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from gradstream.center.entries import Buffers
from gradstream.errors import InvalidWorkload
from gradstream.group.memory import GroupMemory
from gradstream.group.peer import PeerProblem
from gradstream.group.peers import Peers
from gradstream.group.requests import LoadBuffers, LoadState, PeerUse, TakeBuffers, TakeState, TakeUse, Train, Trained
from gradstream.input.data import Batches
from gradstream.input.prefetch import Prefetched
from gradstream.model.computing.precision import loss_scale
from gradstream.model.flat_model import FlatModel
from gradstream.model.parts import MicroBatch, Minibatch
from gradstream.model.problem import ModelProblem, backward
from gradstream.model.usercode import UserCode
from gradstream.observations.histograms import Observations
from gradstream.spec import JobSpec
from gradstream.train.problem import Gradient


class GroupProblem(ModelProblem):
    """The lead's. It takes mini-batches, shares them out, and adds the gradients up in the order of the peers, so that two peers
    give the bits of `accumulate: 2`. Theta stays where all peers see it."""

    stays_in_place = True
    _shared_vectors: int | None = None
    """Vectors that the processes share beside theta; None: one for each peer but the lead, which leaves its gradient there."""
    _alike = 1
    """Peers one behind another that have the same buffers and random numbers: the first one's state is that of all."""

    def __init__(
        self, code: UserCode, flat: FlatModel, batches: Batches | Prefetched, spec: JobSpec, rows: object | None = None
    ) -> None:
        """Raises: InvalidWorkload: a group cannot train this model."""
        if rows is not None:
            raise InvalidWorkload(
                "roles.worker.group: the model has embedding tables, whose rows one process of a worker looks up; remove group and "
                "raise roles.worker.count"
            )
        super().__init__(code, flat, batches, spec.at_once)
        self._count = spec.roles.worker.group.peers
        vectors = self._count - 1 if self._shared_vectors is None else self._shared_vectors
        assert flat.is_inherited, "peers see theta: the model was made with shared_vector"
        self._memory = GroupMemory(flat.theta, vectors)
        self._peers: Peers | None = None
        self.scale = loss_scale(spec)
        self._skips = spec.strategy.descends == "worker"
        self.overflowed = False
        """The last gradient was not finite in float16. See `Overflows`."""

    def start_peers(self, spec: JobSpec, label: str, rank: int, folder: Path | None = None) -> None:
        """Fork the other peers. `label`, `rank`, `folder`: of the worker. See `Peers`. Raises: OSError."""
        problem = PeerProblem(self._code, self._flat, self._batches)
        self._peers = Peers(problem, self._memory.vectors, spec, label, rank, folder)
        torch.set_num_threads(spec.roles.worker.threads)

    @property
    def waits_for_peers(self) -> bool:
        """The lead waits for the other peers, also if user code has led there."""
        return self._peers is not None and self._peers.is_waiting

    def close(self) -> None:
        """End the other peers."""
        if self._peers:
            self._peers.close()

    def take_peer_wait(self) -> float:
        """Return the seconds spent waiting for the other peers since the last call."""
        seconds, self._others.wait_seconds = self._others.wait_seconds, 0.0
        return seconds

    def take_peer_uses(self) -> list[PeerUse]:
        """Return the use of each peer but the lead since the last call. Raises: PeerLost."""
        return self._others.ask_all(TakeUse())

    @property
    def _others(self) -> Peers:
        assert self._peers is not None, "start_peers comes first"
        return self._peers

    def gradient_of(self, taken: Minibatch) -> Gradient:
        own, working = self._ask_to_train(taken)
        loss = self._step(own, self._backward())
        self._wait_for_push()
        gradient = self._gather_own()
        for number in working:
            trained = self._take_answer(number)
            loss += trained.loss
            self._add(gradient, number, trained)
        self._finish(gradient)
        return Gradient(gradient, loss, taken.examples)

    def _ask_to_train(self, taken: Minibatch) -> tuple[Minibatch, list[int]]:
        """Let the other peers train their parts of a mini-batch. Returns the lead's, and the peers that have some."""
        own, *others = self._share_out(taken.shares)
        working = [number for number, shares in enumerate(others, 1) if shares]
        scale = self.scale.value if self.scale else None
        for number in working:
            self._others.ask(number, Train(taken.position, self._pass, others[number - 1], scale, len(taken.shares)))
        return taken._replace(shares=own), working

    def _backward(self) -> Callable[[Tensor], None]:
        return self.scale.scaling(backward) if self.scale else backward

    def _gather_own(self) -> Tensor:
        """Return a vector with the gradient of the lead's parts, to which those of the others are added."""
        return self._flat.gather_gradient()

    def _share_out(self, shares: list[MicroBatch]) -> list[list[MicroBatch]]:
        """Return the parts of a mini-batch that each peer computes."""
        return share_out(shares, self._count)

    def _add(self, gradient: Tensor, number: int, trained: Trained) -> None:
        """Add the gradient of a peer. `trained`: its answer."""
        gradient += self._memory.vectors[number - 1]

    def _finish(self, gradient: Tensor) -> None:
        """Make the sum of all peers the gradient of the mini-batch. It says whether a peer overflowed, so all decide alike."""
        if not self.scale:
            return
        self.overflowed = not self.scale.unscale_gradients([gradient])
        if self.overflowed and self._skips:
            gradient.zero_()

    def _sent_from(self, gradient: Tensor) -> Tensor:
        """Return the gradient, which the processes share, where it is sent from if it is pushed as it is."""
        if self._flat.gradient is not gradient:
            self._wait_for_push()
            self._flat.gradient.copy_(gradient)
        return self._flat.gradient

    def _take_answer(self, number: int) -> Trained:
        trained: Trained = self._others.answer(number)
        if trained.observed:
            self._observed.add(Observations.unpack(trained.observed))
        if trained.logged:
            self.logged.merge(trained.logged)
        if trained.media:
            self.media.merge(trained.media)
        return trained

    def loss_of(self, taken: Minibatch) -> float:
        return self.gradient_of(taken).loss

    def descend(self, alpha: float) -> None:
        self._flat.theta.add_(self._flat.gradient, alpha=alpha)

    def gather_into(self, out: Tensor, wait_for_push: Callable[[], None], send_ahead: Callable[[int], None] | None) -> None:
        super().gather_into(out, wait_for_push, None)  # until the peers' gradients are added, no part of the sum is final

    def buffers(self) -> Buffers | None:
        """Return the mean over the peers. See `mean_of`."""
        own = self._flat.buffers()
        if own is None or self._count == self._alike:
            return own
        return mean_of([own, *self._ask_others(TakeBuffers())])

    def load_buffers(self, buffers: Buffers) -> None:
        super().load_buffers(buffers)
        self._others.ask_all(LoadBuffers(*buffers))

    def state(self) -> dict[str, Any]:
        state = {**super().state(), "peers": self._ask_others(TakeState())}
        return state | ({"loss_scale": self.scale.state()} if self.scale else {})

    def load(self, state: dict[str, Any]) -> None:
        """A peer that the checkpoint lacks goes on with the buffers of peer 0, and random numbers of its own."""
        super().load(state)
        if self.scale and "loss_scale" in state:
            self.scale.load(state["loss_scale"])
        own = {"rng": state["rng"], "buffers": state["buffers"]}
        states = [own, *state.get("peers", ())]
        for number in range(1, min(self._count, len(states) * self._alike)):
            self._others.ask(number, LoadState(states[number // self._alike]))
            self._others.answer(number)

    def _ask_others(self, request: TakeBuffers | TakeState) -> list[Any]:
        """Return the answers of the peers that have not the lead's state: of one among those that are alike."""
        numbers = range(self._alike, self._count, self._alike)
        for number in numbers:
            self._others.ask(number, request)
        return [self._others.answer(number) for number in numbers]


def mean_of(found: Sequence[Buffers]) -> Buffers:
    """Return the mean of buffers; integers, such as counts of mini-batches, are rounded down."""
    floats, ints = (torch.stack(list(vectors)) for vectors in zip(*found, strict=True))
    return Buffers(floats.mean(0), ints.sum(0) // len(found))


def share_out(shares: Sequence[MicroBatch], count: int) -> list[list[MicroBatch]]:
    """Return the parts of a mini-batch that each peer computes, in order. With fewer parts than peers, some have none."""
    ends = [-(-len(shares) * number // count) for number in range(count + 1)]
    return [list(shares[start:end]) for start, end in pairwise(ends)]
