"""One process of a group beside its lead. It computes the gradient of its part of a mini-batch when it is asked to, and answers.

It knows nothing of the center or the strategy.
"""

from __future__ import annotations

import gc
import select
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Protocol

import torch
from torch import Tensor

from gradstream.center.entries import Buffers
from gradstream.group.fsdp.optimizer import OptimizerPart
from gradstream.group.kinds import GroupModel, PeerWaits, become
from gradstream.group.pipes import GroupPipes
from gradstream.group.private_memory import PrivateMemory, gpu_bytes
from gradstream.group.requests import (
    Check,
    LoadBuffers,
    LoadState,
    MakeOptimizer,
    MakeStep,
    PeerRequest,
    PeerUse,
    TakeBuffers,
    TakeState,
    TakeUse,
    Train,
    Trained,
)
from gradstream.input import randomness, tensor_pipe
from gradstream.input.data import Batches
from gradstream.input.prefetch import Prefetched
from gradstream.model.computing.precision import scaled
from gradstream.model.parts import Minibatch
from gradstream.model.problem import ModelProblem, backward
from gradstream.model.usercode import UserCode
from gradstream.process.begin import seed_of
from gradstream.process.exits import UserError
from gradstream.process.naming import name_process
from gradstream.process.watchdogs.stacks import StackDump
from gradstream.process.watchdogs.step import step_watchdog
from gradstream.process.zygote.launch import die_with_parent
from gradstream.spec import JobSpec

if TYPE_CHECKING:
    from gradstream.group.rows.peer_rows import PeerRows


class PeerWork(Protocol):
    """The work of a process beside its lead."""

    answered: int
    """Requests that it has answered."""
    is_waiting: bool
    """It waits for another process."""

    def become(self, number: int) -> None:
        """Be this process from now on. Raises: UserError."""

    def name_of(self, number: int) -> int:
        """Return the number by which messages name a process."""

    def stream_of(self, number: int) -> int:
        """Return the number of the random numbers of a process; 0: they go on from those of the lead."""

    def answer(self, request: Any) -> Any:
        """Do what the lead asks; the answer may be packed. Raises: UserError."""


class PeerProblem(ModelProblem):
    """A peer's: its mini-batches are parts, and come with the requests of the lead."""

    answered = 0
    """Requests that this peer has answered."""
    is_waiting = False
    """It waits for another peer."""
    _waited = _computed = 0.0
    """Seconds of waiting for other peers, and of computing gradients, since these were last set to 0."""

    _memory_taken = PrivateMemory()

    def __init__(
        self,
        code: UserCode,
        batches: Batches | Prefetched,
        model: GroupModel,
        pipes: GroupPipes,
        seed: int,
        peer_rows: PeerRows | None = None,
    ) -> None:
        """`seed`: see `become`. `peer_rows`: None: the model has no tables."""
        super().__init__(code, model.flat, batches, rows=peer_rows.rows if peer_rows else None)
        self._model, self._pipes, self._seed, self._peer_rows = model, pipes, seed, peer_rows
        self._optimizer: OptimizerPart | None = None

    def become(self, number: int) -> None:
        """Be this peer from now on."""
        place = self._model.mesh.places()[number]
        self._flat.gradient = self._model.memory.sums[place.replicate]
        waits = PeerWaits(lambda _: self.receive, self.wait_for, lambda waited: None, self._waiting)
        self._process = become(self._model, self._pipes, place, self._seed, waits)
        self._train_step = partial(self._process.train_step, self._flat.model)
        if self._peer_rows:
            self._peer_rows.become(number, self.receive)

    def name_of(self, number: int) -> int:
        """Return the number of this peer in the whole group, which may have others on other machines."""
        return self._model.first_peer + number

    def stream_of(self, number: int) -> int:
        """Return the number of the random numbers of a peer: those along tensor draw alike."""
        return self.name_of(number) // self._model.mesh.tensor

    def train(self, request: Train) -> Trained:
        """Leave the gradient of these parts. Raises: UserError."""
        began, self._waited = time.perf_counter(), 0.0
        self.hooks.enter_epoch(request.epoch)
        self._process.begin(request.position, request.parts, all_compute=request.all_compute)
        loss = self._step(Minibatch(request.position, request.shares, request.examples), self._backward(request))
        left = self._process.leave()
        observed = self.take_observations()
        self._computed += time.perf_counter() - began - self._waited
        packed = observed.pack() if observed else ""
        rows = self._peer_rows.rows.take_parts() if self._peer_rows else ()
        return self._process.answer(Trained(loss, packed, self.logged.take_weighted(), left, self.media.give_away(), rows))

    def _backward(self, request: Train) -> Callable[[Tensor], None]:
        plain = backward if request.scale is None else scaled(backward, request.scale)
        return self._peer_rows.begin(request, plain) if self._peer_rows else plain

    def state(self) -> dict[str, Any]:
        """The lead has the rows."""
        return {key: value for key, value in super().state().items() if key != "rows"}

    def receive(self, pipe: Connection) -> Any:
        """Receive from another peer. If it is gone, wait for the lead, which ends the whole group."""
        with self._waiting():
            try:
                return tensor_pipe.receive(pipe)
            except (EOFError, ConnectionError):
                wait_for_end()

    def wait_for(self, file: int) -> None:
        """Wait until something can be read from this file, in which other peers write; without an end: this process ends with its
        lead, which watches all peers."""
        poll = select.poll()
        poll.register(file, select.POLLIN)
        with self._waiting():
            poll.poll()

    @contextmanager
    def _waiting(self) -> Iterator[None]:
        began, self.is_waiting = time.perf_counter(), True
        try:
            yield
        finally:
            self.is_waiting = False
            self._waited += time.perf_counter() - began

    def _take_use(self) -> PeerUse:
        computed, self._computed = self._computed, 0.0
        return PeerUse(computed, time.process_time(), self._memory_taken.read(), gpu_bytes(self._flat.computes_on))

    def answer(self, request: PeerRequest) -> Any:
        """Do what the lead asks. Raises: UserError."""
        match request:
            case Train():
                return self.train(request)
            case TakeBuffers():
                return self.buffers()
            case LoadBuffers(floats, ints):
                return self.load_buffers(Buffers(floats, ints))
            case TakeState():
                return self.state()
            case LoadState(state):
                return self.load(state)
            case TakeUse():
                return self._take_use()
            case Check(part):
                return self._process.evaluate_once(part, self._code)
            case MakeOptimizer():
                self._optimizer = OptimizerPart(self._model.memory, request)
                return None
        assert self._optimizer, "the lead makes it first"
        return self._optimizer.step(request) if isinstance(request, MakeStep) else self._optimizer.call(request)


def wait_for_end() -> NoReturn:
    """Wait until the lead ends this process, as it does with the whole group, or ends itself."""
    while True:
        signal.pause()  # a signal that user code handles ends it


class Failed(Exception):
    """On its way to the lead: what user code raised."""

    def __init__(self, part: str | None, cause: BaseException) -> None:
        """`part`: as `blaming` says it; None: it is no error of user code."""
        super().__init__(part, cause)
        self.part, self.cause = part, cause


class PeerName(NamedTuple):
    number: int
    """On this machine, from 1: the process that has forked it is 0."""
    label: str
    """Name of its worker."""
    rank: int
    """Rank of its worker."""
    threads: int
    """Threads of torch."""
    folder: Path | None
    """That of its worker's process."""
    dump: StackDump | None
    """None: its steps are not watched."""


def serve(peer: PeerName, problem: PeerWork, spec: JobSpec, pipe: Connection, lead: int, begin: Callable[[], None]) -> None:
    """The course of a peer: it answers one request after the other until its lead has ended. `begin`: directs its output."""
    die_with_parent(lead, signal.SIGKILL)
    gc.freeze()  # what the lead has left for its collector may have threads, which this process lacks
    begin()
    name_process(f"{peer.label}/{problem.name_of(peer.number)}", spec.name)
    torch.set_num_threads(peer.threads)
    try:
        problem.become(peer.number)
    except UserError as error:
        tensor_pipe.receive(pipe)  # the lead raises the error where it expects an answer
        send_failure(pipe, error, problem.name_of(peer.number))
        return
    if stream := problem.stream_of(peer.number):  # else this process goes on with a copy of the lead's
        randomness.seed(seed_of(spec.seed, f"peer {stream} of worker", peer.rank))
    with _watched(peer, problem, spec):
        while True:
            try:
                request = tensor_pipe.receive(pipe)
            except (EOFError, ConnectionError):
                return
            _answer(problem.name_of(peer.number), problem, request, pipe)
            problem.answered += 1


def _watched(peer: PeerName, problem: PeerWork, spec: JobSpec) -> AbstractContextManager[None]:
    if peer.folder is None or peer.dump is None:
        return nullcontext()
    timeout = spec.roles.worker.step_timeout
    return step_watchdog(peer.folder, timeout, lambda: problem.answered, waits=lambda: problem.is_waiting, dump=peer.dump)


def _answer(name: int, problem: PeerWork, request: Any, pipe: Connection) -> None:
    try:
        answer = problem.answer(request)
        packed = answer if isinstance(answer, tensor_pipe.Packed) else tensor_pipe.pack(answer)
    except BaseException as error:  # user code may raise anything, and even call sys.exit()
        send_failure(pipe, error, name)
    else:
        tensor_pipe.write(pipe, packed)


def send_failure(pipe: Connection, error: BaseException, name: int) -> None:
    """Let the lead raise the error that is being handled. `name`: number of the peer that raised it."""
    part, cause = (str(error), error.__cause__ or error) if isinstance(error, UserError) else (None, error)
    tensor_pipe.send_error(pipe, Failed(part, tensor_pipe.portable(cause, f"in peer {name}")))
