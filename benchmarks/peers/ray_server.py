"""A parameter server of Ray actors, asynchronous, or with `sync` in rounds of all workers.

As in Ray's own example "Parameter Server": one actor serves, one for each worker computes gradients, and the driver hands object
references from one to the other, so that a vector is put into the shared object store once, by who makes it, and read there by who
needs it. Kinder than the example: neither weights nor gradients are copied out of the store. One CPU thread in each actor, no
dashboard, no usage reports, no log forwarding. Workers that call the server themselves were not faster."""

from __future__ import annotations

import logging
import os
import threading
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import ray

from benchmarks.peers import system, work
from benchmarks.peers.counter import Counter
from benchmarks.peers.system import Told

STORE = 2 * 2**30
"""Bytes of the object store, which is shared memory."""


@ray.remote(num_cpus=1)
class ParameterServer:
    def __init__(self, item: str, lr: float) -> None:
        _settle()
        self._parameters = [p.detach() for p in work.model(item).parameters()]
        self._lr = lr

    def weights(self) -> list[np.ndarray]:
        return [p.numpy() for p in self._parameters]  # copied once, into the store

    def apply(self, *pushes: list[np.ndarray]) -> list[np.ndarray]:
        """Each as one step at the rate of one worker: those of a round make one with their mean at the rate of all."""
        import torch

        for push in pushes:
            for parameter, gradient in zip(self._parameters, push, strict=True):
                parameter.sub_(torch.from_numpy(gradient), alpha=self._lr)
        return self.weights()


@ray.remote(num_cpus=1)
class Worker:
    def __init__(self, rank: int, told: Told) -> None:
        _settle()
        self._model = work.model(told.item)
        self._parameters = list(self._model.parameters())
        self._batches = work.batches(told.data, told.item, rank, told.workers, told.seed)
        self._counter = Counter(told.folder)

    def gradients(self, weights: list[np.ndarray]) -> list[np.ndarray]:
        import torch
        from torch.nn.functional import cross_entropy

        for parameter, weight in zip(self._parameters, weights, strict=True):
            parameter.data, parameter.grad = torch.from_numpy(weight), None  # where they are: they are only read
        images, labels = next(self._batches)
        loss = cross_entropy(self._model(images), labels)
        loss.backward()
        self._counter.add(len(labels), loss.item())
        return [p.grad.numpy() for p in self._parameters]  # type: ignore[union-attr]


def _settle() -> None:
    import torch

    torch.set_num_threads(1)
    warnings.filterwarnings("ignore", "The given NumPy array is not writable")


def main(told: Told) -> None:
    system.only_dense(told)
    os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_DISABLE_IMPORT_WARNING": "1"}
    ray.init(
        address="local",
        num_cpus=told.workers + 1,
        include_dashboard=False,
        log_to_driver=False,
        logging_level=logging.ERROR,
        object_store_memory=STORE,
        _temp_dir=str(Path(told.folder) / "ray"),
        _node_ip_address="127.0.0.1",
    )
    ended = threading.Event()
    system.when_told_to_end(ended.set)
    try:
        server = ParameterServer.remote(told.item, told.lr)
        workers = [Worker.remote(rank, told) for rank in range(told.workers)]
        (in_rounds if told.options.get("sync") else at_once)(server, workers, ended)
    finally:
        ray.shutdown()


def at_once(server: Any, workers: list[Any], ended: threading.Event) -> None:
    weights = server.weights.remote()
    computing = {worker.gradients.remote(weights): worker for worker in workers}
    while not ended.is_set():
        [gradients], _ = ray.wait(list(computing))
        worker = computing.pop(gradients)
        computing[worker.gradients.remote(server.apply.remote(gradients))] = worker


def in_rounds(server: Any, workers: list[Any], ended: threading.Event) -> None:
    weights = server.weights.remote()
    while not ended.is_set():
        gradients = [worker.gradients.remote(weights) for worker in workers]
        weights = server.apply.remote(*gradients)
        ray.wait([weights])
