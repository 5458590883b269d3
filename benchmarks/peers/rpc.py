"""A parameter server over torch.distributed.rpc (TensorPipe), asynchronous, or with `batch` in rounds of all workers.

As in PyTorch's tutorial "Implementing Batch RPC Processing Using Asynchronous Executions": a worker sends its gradients and is
answered with the new weights by the same call, so an exchange is one round trip. The tutorial sends the module; the tensors alone
are less. A worker takes the tensors that arrive as its parameters, without copying them. Asynchronous: the server copies the
weights for each answer, under its lock, as the next push would otherwise change them while they are sent. In rounds no copy is
needed: nobody pushes before all have been answered. TensorPipe takes shared memory between processes of one machine by itself."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import torch
import torch.distributed.rpc as rpc
from torch import Tensor
from torch.optim import SGD

from benchmarks.peers import system, work
from benchmarks.peers.system import Told

SERVER = "server"


class ParameterServer:
    def __init__(self, item: str, lr: float, workers: int) -> None:
        self._model = work.model(item)
        self._parameters = list(self._model.parameters())
        self._optimizer = SGD(self._parameters, lr=lr)
        self._lock = threading.Lock()
        self._workers, self._arrived = workers, 0
        self._round: torch.futures.Future[list[Tensor]] = torch.futures.Future()

    def step(self, gradients: list[Tensor]) -> list[Tensor]:
        """Apply at once."""
        with self._lock, torch.no_grad():
            for parameter, gradient in zip(self._parameters, gradients, strict=True):
                parameter.grad = gradient
            self._optimizer.step()
            return [parameter.detach().clone() for parameter in self._parameters]

    def join_round(self, gradients: list[Tensor]) -> torch.futures.Future[list[Tensor]]:
        """The mean of all workers' gradients is applied when the last one has come."""
        with self._lock, torch.no_grad():
            for parameter, gradient in zip(self._parameters, gradients, strict=True):
                parameter.grad = gradient if not self._arrived else parameter.grad.add_(gradient)  # type: ignore[union-attr]
            answer = self._round
            self._arrived += 1
            if self._arrived == self._workers:  # the rate is that of one worker, which makes the sum a mean with the rate of all
                self._optimizer.step()
                self._arrived, self._round = 0, torch.futures.Future()
                answer.set_result([parameter.detach() for parameter in self._parameters])
        return answer


def step(server: Any, gradients: list[Tensor]) -> list[Tensor]:
    return server.local_value().step(gradients)  # type: ignore[no-any-return]


@rpc.functions.async_execution
def join_round(server: Any, gradients: list[Tensor]) -> torch.futures.Future[list[Tensor]]:
    return server.local_value().join_round(gradients)  # type: ignore[no-any-return]


def join(rank: int, told: Told) -> None:
    """Ranks 0 .. workers-1 train, the last one serves."""
    os.environ["TP_SOCKET_IFNAME"] = "lo"
    torch.set_num_threads(1)
    name = SERVER if rank == told.workers else f"worker{rank}"
    meeting = (Path(told.folder) / "meeting").as_uri()
    options = rpc.TensorPipeRpcBackendOptions(init_method=meeting, rpc_timeout=60)
    rpc.init_rpc(name, rank=rank, world_size=told.workers + 1, rpc_backend_options=options)
    if name == SERVER:
        threading.Event().wait()
    else:
        train(rank, told)


def train(rank: int, told: Told) -> None:
    model = work.model(told.item)
    parameters = list(model.parameters())
    exchange = join_round if told.options.get("batch") else step
    server = rpc.remote(SERVER, _server, args=(told.item, told.lr, told.workers))

    def push_and_pull() -> None:
        weights = rpc.rpc_sync(SERVER, exchange, args=(server, [parameter.grad for parameter in parameters]))
        for parameter, weight in zip(parameters, weights, strict=True):
            parameter.data, parameter.grad = weight, None

    system.train(told, rank, told.workers, model, push_and_pull)


_servers: dict[str, ParameterServer] = {}
_making = threading.Lock()


def _server(item: str, lr: float, workers: int) -> ParameterServer:
    """The one of this process."""
    with _making:
        if item not in _servers:
            _servers[item] = ParameterServer(item, lr, workers)
        return _servers[item]


def main(told: Told) -> None:
    system.only_dense(told)
    system.run_ranks(join, told.workers + 1, told)
