"""The problem of the first process of a group on another machine than the lead's. It answers the lead for all processes there."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from typing import Any

from torch import Tensor

from gradstream.center.entries import Buffers
from gradstream.group.machines.machine_link import describe_break
from gradstream.group.peer import send_failure
from gradstream.group.peers import MachineLost
from gradstream.group.private_memory import PrivateMemory, gpu_bytes
from gradstream.group.problem import GroupProblem
from gradstream.group.requests import (
    EndMachine,
    LoadBuffers,
    LoadStates,
    MachineRequest,
    PeerUse,
    TakeBuffers,
    TakeState,
    TakeUse,
    Trained,
    TrainOnMachine,
)
from gradstream.input import randomness, tensor_pipe
from gradstream.model.parts import Minibatch
from gradstream.model.problem import ModelProblem
from gradstream.process.begin import seed_of


class MachineProblem(GroupProblem):
    """It knows neither the center nor the strategy, and takes no mini-batch by itself."""

    answered = 0
    """Requests of the lead that it has answered."""
    is_idle = True
    """It waits for a request."""
    _computed = 0.0
    """Seconds of computing gradients since this was last set to 0."""
    _gradient: Tensor
    """The sum over its processes, shape (size,), since the last request to train."""
    _memory_taken = PrivateMemory()

    def draw_own_numbers(self, seed: int, rank: int) -> None:
        """Draw the random numbers of this peer from now on. `seed`: of the job. `rank`: of the worker."""
        stream = self._model.first_peer // self._mesh.tensor
        randomness.seed(seed_of(seed, f"peer {stream} of worker", rank))

    @property
    def waits_for_peers(self) -> bool:
        return self.is_idle or super().waits_for_peers

    def serve(self, lead: Connection) -> None:
        """Answer one request after the other until the lead says that it ends. Raises: MachineLost: it is gone. PeerLost: a process
        of this machine is. UserError, which the lead gets, too."""
        while True:
            self.is_idle = True
            with _lead_expected():
                request = tensor_pipe.receive(lead)
                if isinstance(request, TrainOnMachine):
                    tensor_pipe.receive_vector(lead, self._flat.theta)
            if isinstance(request, EndMachine):
                return
            self.is_idle = False
            self._answer(lead, request)
            self.answered += 1

    def _answer(self, lead: Connection, request: MachineRequest) -> None:
        try:
            answer = self.answer(request)
        except BaseException as error:  # user code may raise anything
            with suppress(OSError):
                send_failure(lead, error, self._model.first_peer)
            raise
        with _lead_expected():
            tensor_pipe.send(lead, answer)
            if isinstance(request, TrainOnMachine):
                tensor_pipe.send_vector(lead, self._gradient)

    def answer(self, request: MachineRequest) -> Any:
        """Do what the lead asks. Raises: UserError, PeerLost."""
        match request:
            case TrainOnMachine():
                return self._train(request)
            case TakeBuffers():
                return self._ask_in_order(request, self._flat.buffers())
            case LoadBuffers(floats, ints):
                return self.load_buffers(Buffers(floats, ints))
            case TakeState():
                return self._ask_in_order(request, ModelProblem.state(self))
            case LoadStates(states):
                return self._load_states(states)
            case TakeUse():
                computed, self._computed = self._computed, 0.0
                memory, on_gpu = self._memory_taken.read(), gpu_bytes(self._flat.computes_on)
                return [PeerUse(computed, time.process_time(), memory, on_gpu), *self.take_peer_uses()]
            case EndMachine():
                return None

    def _train(self, request: TrainOnMachine) -> Trained:
        began, waited = time.perf_counter(), self._others.wait_seconds
        self._pass = request.epoch
        self.hooks.enter_epoch(request.epoch)
        self._gradient, loss = self._sum_here(Minibatch(request.position, request.shares, 0), request.scale)
        observed = self.take_observations()
        self._computed += time.perf_counter() - began - (self._others.wait_seconds - waited)
        packed = observed.pack() if observed else ""
        return Trained(loss, packed, self.logged.take_weighted(), media=self.media.give_away())

    def _load_states(self, states: list[dict[str, Any]]) -> None:
        if states:
            ModelProblem.load(self, states[0])
            self._load_others(states)


@contextmanager
def _lead_expected() -> Iterator[None]:
    """Raises: MachineLost, for what a connection raises inside."""
    try:
        yield
    except (EOFError, OSError) as error:
        raise MachineLost(f"the connection to the lead of the group, on another machine, {describe_break(error)}") from error
