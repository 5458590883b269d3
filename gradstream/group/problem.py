"""The problem of a worker that is a group: each mini-batch is computed in parts, by all peers at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from itertools import chain
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from gradstream.center.entries import Buffers
from gradstream.group.check import check_together
from gradstream.group.devices.replicate_sum import adds_on_devices
from gradstream.group.fsdp.optimizer import GroupOptimizer
from gradstream.group.gradient_sum import GradientSum
from gradstream.group.kinds import GroupModel, PeerWaits, become
from gradstream.group.mesh import PeerMesh, share_out, shares_of
from gradstream.group.peer import PeerProblem
from gradstream.group.peers import Peers
from gradstream.group.pipes import GroupPipes
from gradstream.group.private_memory import gpu_bytes
from gradstream.group.requests import (
    LoadBuffers,
    LoadState,
    LoadStates,
    PeerUse,
    TakeBuffers,
    TakeState,
    TakeUse,
    Train,
    Trained,
    TrainOnMachine,
)
from gradstream.group.rows.binding import bind_rows
from gradstream.group.stages.homes import of_owners
from gradstream.group.step import ProcessStep
from gradstream.input.data import Batches
from gradstream.input.prefetch import Prefetched
from gradstream.model.buffers import mean_of, without_buffers
from gradstream.model.computing.precision import loss_scale, scaled
from gradstream.model.flat_model import FlatModel
from gradstream.model.parts import Minibatch
from gradstream.model.problem import ModelProblem, backward
from gradstream.model.usercode import UserCode
from gradstream.observations.histograms import Observations
from gradstream.optim.flat import FlatOptimizer, VectorOptimizer
from gradstream.optim.spec import Optimizer
from gradstream.process.begin import seed_of
from gradstream.spec import JobSpec
from gradstream.training.problem import Gradient

if TYPE_CHECKING:
    from gradstream.model.rows.working_rows import WorkingRows


class GroupProblem(ModelProblem):
    """The lead's. It takes mini-batches, shares them out, and puts the gradient together of what all peers have left. Theta stays
    where all peers see it."""

    stays_in_place = True

    def __init__(
        self,
        code: UserCode,
        flat: FlatModel,
        batches: Batches | Prefetched,
        spec: JobSpec,
        rows: WorkingRows | None = None,
        machine: int = 0,
        devices: Sequence[torch.device] = (),
        gpu_share: int = 1,
    ) -> None:
        """`machine`: number of this one among those of the group. `devices`, `gpu_share`: of its processes here, see `GroupModel`.
        Raises: UserError; InvalidWorkload: a group cannot train this model."""
        group = spec.roles.worker.group
        self._lead_rows = bind_rows(flat.model, spec, rows.held) if rows else None
        super().__init__(code, flat, batches, spec.at_once, self._lead_rows.rows if self._lead_rows else None)
        assert flat.is_inherited, "peers see theta: the model was made with shared_vector"
        self._machines, self._mesh = group.machines, PeerMesh.of(group.on_one_machine)
        on_devices = adds_on_devices(group, devices, gpu_share)
        given = machine * self._mesh.replicate, devices, gpu_share
        self._model = GroupModel(code, flat, self._mesh, *given, adds_on_devices=on_devices)
        self._sum = GradientSum(flat, self._mesh, self._model.memory, self._model.homes)
        self._peers: Peers | None = None
        self._process: ProcessStep | None = None
        self._waited = 0.0
        self._checked = self._mesh.stages == self._mesh.tensor == 1
        """The group has computed the loss of the whole model."""
        self.scale = loss_scale(spec)
        self._skips = spec.strategy.descends == "worker"
        self.overflowed = False
        """The last gradient was not finite in float16. See `Overflows`."""

    def start_peers(self, spec: JobSpec, label: str, rank: int, folder: Path | None = None) -> None:
        """Fork the other peers of this machine. `label`, `rank`, `folder`: of the worker. See `Peers`. Raises: OSError."""
        pipes, seed = GroupPipes(self._mesh), seed_of(spec.seed, "stages of worker", rank)
        self._model.make_meeting(folder)
        peer_rows = self._lead_rows.of_peers() if self._lead_rows else None
        problem = PeerProblem(self._code, self._batches, self._model, pipes, seed, peer_rows)
        self._peers = peers = Peers(problem, len(self._mesh.places()), spec, label, rank, folder)
        waits = PeerWaits(lambda number: partial(peers.receive, number=number), peers.wait_for, peers.look, peers.waiting)
        self._process = become(self._model, pipes, self._mesh.places()[0], seed, waits)
        self._train_step = partial(self.process.train_step, self._flat.model)
        if not self._mesh.only_replicates:
            self._flat.gradient = self._model.memory.sums[0]
        if self._lead_rows:
            self._lead_rows.start()
        torch.set_num_threads(spec.roles.worker.threads)
        if self._flat.computes_on.type != "cpu":
            self.on_core = None

    def join_machines(self, pipes: Sequence[Connection]) -> None:
        """Compute with the processes of the other machines, too. `pipes`: to a `MachineProblem` on each, in their order."""
        for machine, pipe in enumerate(pipes, 1):
            self._others.join(machine * self._others.count, pipe)

    @property
    def gpu_memory(self) -> int:
        """Bytes of the lead's GPU, at most so far; 0: it computes on the CPU."""
        return gpu_bytes(self._flat.computes_on)

    @property
    def waits_for_peers(self) -> bool:
        """The lead waits for the other peers, also if user code has led there."""
        return self._peers is not None and self._peers.is_waiting

    def close(self) -> None:
        """End the other peers."""
        if self._peers:
            self._peers.close()
        if self._process:
            self._process.close()
        self._model.close()
        if self._lead_rows:
            self._lead_rows.close()

    @property
    def process(self) -> ProcessStep:
        """The lead's own part of each mini-batch."""
        assert self._process is not None, "start_peers comes first"
        return self._process

    def take_peer_wait(self) -> float:
        """Return the seconds of computing gradients that the lead waited for the other peers since the last call."""
        seconds, self._waited = self._waited, 0.0
        return seconds

    def take_peer_uses(self) -> list[PeerUse]:
        """Return the use of each peer but the lead since the last call. Raises: PeerLost."""
        here, answers = self._others.count - 1, self._others.ask_all(TakeUse())
        return [*answers[:here], *chain.from_iterable(answers[here:])]

    @property
    def _others(self) -> Peers:
        assert self._peers is not None, "start_peers comes first"
        return self._peers

    def gradient_of(self, taken: Minibatch) -> Gradient:
        waited = self._others.wait_seconds
        gradient = self._gradient_of(taken)
        self._waited += self._others.wait_seconds - waited
        return gradient

    def _gradient_of(self, taken: Minibatch) -> Gradient:
        if not self._checked:
            check_together(self.process, self._others, self._mesh, taken.shares[0].batch, self._code)
            self._checked = True
        scale = self.scale.value if self.scale else None
        here, *elsewhere = share_out(taken.shares, self._machines)
        away = [each for each in zip(self._others.on_other_machines, elsewhere, strict=True) if each[1]]
        for number, shares in away:
            self._others.ask(number, TrainOnMachine(taken.position, self._pass, shares, scale), self._flat.theta)
        with self._lead_rows.training(taken) if self._lead_rows else nullcontext():
            total, loss = self._sum_here(taken._replace(shares=here), scale)
        for number, _ in away:
            trained: Trained = self._others.answer(number)
            self._note(trained)
            self._others.add_gradient(number, total)
            loss += trained.loss
        return Gradient(self._finished(total), loss, taken.examples)

    def _sum_here(self, taken: Minibatch, scale: float | None) -> tuple[Tensor, float]:
        """Return the sum of the gradients of all processes on this machine, and their loss. `scale`: on the loss in float16."""
        own, working = self._ask_to_train(taken, scale)
        plain = backward if scale is None else scaled(backward, scale)
        loss = self._step(own, self._lead_rows.noting(plain, own) if self._lead_rows else plain)
        self._wait_for_push()
        self._sum.begin()
        self._sum.note(0, self.process.leave())
        for number in working:
            trained: Trained = self._others.answer(number)
            self._note(trained)
            loss += trained.loss
            self._sum.note(number, trained.left)
            if self._lead_rows:
                self._lead_rows.note(number, trained.rows)
        return self.process.total(self._sum), loss

    def _ask_to_train(self, taken: Minibatch, scale: float | None) -> tuple[Minibatch, list[int]]:
        """Let the other peers train their parts of a mini-batch. Returns the lead's, and the peers that have some."""
        own, *others = shares_of(taken.shares, self._mesh)
        generation = self._lead_rows.rows.held.generation if self._lead_rows else 0
        working = [number for number, (shares, _) in enumerate(others, 1) if shares]
        all_compute = len(working) == len(others)
        for number in working:
            shares, parts = others[number - 1]
            train = Train(taken.position, self._pass, shares, scale, parts, all_compute, taken.examples, generation)
            self._others.ask(number, train)
        shares, parts = own
        self.process.begin(taken.position, parts, all_compute=all_compute)
        return taken._replace(shares=shares, named=None), working

    def _finished(self, gradient: Tensor) -> Tensor:
        """Return the gradient of the mini-batch where it is sent from, if it is pushed as it is. The sum says whether a peer has
        overflowed, so all decide alike."""
        if self.scale:
            self.overflowed = not self.scale.unscale_gradients([gradient])
            if self.overflowed and self._skips:
                gradient.zero_()
        if self._flat.gradient is not gradient:
            self._flat.gradient.copy_(gradient)
        return self._flat.gradient

    def _note(self, trained: Trained) -> None:
        if trained.observed:
            self._observed.add(Observations.unpack(trained.observed))
        if trained.logged:
            self.logged.merge(trained.logged)
        if trained.media:
            self.media.merge(trained.media)

    def loss_of(self, taken: Minibatch) -> float:
        return self.gradient_of(taken).loss

    def descend(self, alpha: float) -> None:
        self._flat.theta.add_(self._flat.gradient, alpha=alpha)

    def gather_into(self, out: Tensor, wait_for_push: Callable[[], None], send_ahead: Callable[[int], None] | None) -> None:
        wait = self._lead_rows.alone(wait_for_push) if self._lead_rows else wait_for_push
        super().gather_into(out, wait, None)  # until the peers' gradients are added, no part of the sum is final

    def make_optimizer(self, rule: Optimizer, lr: float) -> VectorOptimizer:
        """Return the optimizer of the worker. With fsdp, the processes share out its state. Plain steps keep none: the lead makes
        them alone."""
        is_plain = rule.is_plain and rule.clip_norm is None
        if self._mesh.fsdp == 1 or is_plain:
            return FlatOptimizer(self._flat.theta, rule, lr, parameters=self.parameters)
        return GroupOptimizer(self._others, rule, lr, self._model.memory, self.parameters)

    def buffers(self) -> Buffers | None:
        """Return each buffer as the stage has it that computes it: the mean over the others. See `mean_of`."""
        found = self._ask_in_order(TakeBuffers(), self._flat.buffers())
        if found[0] is None:
            return None
        if owners := self._model.owners:
            stages = self._mesh.stages
            found = [of_owners(found[start : start + stages], owners) for start in range(0, len(found), stages)]
        return mean_of(found) if len(found) > 1 else found[0]

    def load_buffers(self, buffers: Buffers) -> None:
        super().load_buffers(buffers)
        self._others.ask_all(LoadBuffers(*buffers))

    def state(self) -> dict[str, Any]:
        """The state for a checkpoint. With stages, buffers stand in it once, so that a group of another shape can take them."""
        own, *others = self._ask_in_order(TakeState(), super().state())
        state = {**own, "peers": others}
        if self._mesh.stages > 1:
            buffers = self.buffers()
            state = {**state, "buffers": tuple(buffers) if buffers else None, "peers": without_buffers(state["peers"])}
        return state | ({"loss_scale": self.scale.state()} if self.scale else {})

    def load(self, state: dict[str, Any]) -> None:
        """A peer that the checkpoint lacks goes on with the buffers of peer 0, and random numbers of its own."""
        super().load(state)
        if self.scale and "loss_scale" in state:
            self.scale.load(state["loss_scale"])
        own = {key: state[key] for key in ("rng", "cuda_rng", "buffers") if key in state}
        others = state.get("peers", ())
        states = [own, *(without_buffers(others) if self._mesh.stages > 1 else others)]
        self._load_others(states)
        tensor, others = self._mesh.tensor, self._others
        others.ask_each({n: LoadStates(states[n // tensor : (n + others.count) // tensor]) for n in others.on_other_machines})

    def _load_others(self, states: Sequence[dict[str, Any]]) -> None:
        """Load states into the other peers of this machine. The first one is that of this process."""
        numbers = range(1, min(self._others.count, len(states) * self._mesh.tensor))
        self._others.ask_each({number: LoadState(states[number // self._mesh.tensor]) for number in numbers})

    def _ask_in_order(self, request: TakeBuffers | TakeState, own: Any) -> list[Any]:
        """Return one's own answer, and those of the peers that have another state: of the first one along tensor, as these are
        alike, and of all that other machines return."""
        numbers = range(self._mesh.tensor, self._others.count, self._mesh.tensor)
        answers = self._others.ask_each(dict.fromkeys([*numbers, *self._others.on_other_machines], request))
        return [own, *answers[: len(numbers)], *chain.from_iterable(answers[len(numbers) :])]
