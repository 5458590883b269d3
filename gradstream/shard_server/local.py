"""Incarnations of workers on this host, as a shard sees them: vectors in shared memory, and messages in a pipe."""

from __future__ import annotations

from pathlib import Path

from gradstream.center.entries import EVALUATOR
from gradstream.errors import PlaneLost
from gradstream.wire.transport.layout import Layout
from gradstream.wire.transport.pipe import ResponsePipeWriter
from gradstream.wire.transport.shm import Shared


class LocalWorker:
    def __init__(self, folder: Path, incarnation: tuple[int, int], shard: int, centers: int, on_gpu: bool) -> None:
        """`centers`: how many the worker's shared memory holds. `on_gpu`: the shard copies between it and a GPU."""
        self._folder, self._incarnation, self._centers, self._on_gpu = folder, incarnation, centers, on_gpu
        self._vectors: Shared | None = None
        self.responses = ResponsePipeWriter(folder, *incarnation, shard)
        self.into = 0
        """The center that the worker wants its next response in."""

    def leave(self) -> None:
        """It is over: its memory may go. A message may still have to tell it so."""
        if self._vectors:
            self._vectors.unregister()
        self._vectors = None

    def vectors(self, layout: Layout) -> Shared:
        """Mapped when first asked for, since an incarnation may join before the model's size is known. Raises: PlaneLost."""
        if self._vectors is None:
            try:
                self._vectors = Shared.open(self._folder, *self._incarnation, layout, self._centers)
            except OSError as error:
                rank, number = self._incarnation
                raise PlaneLost(f"the shared memory of worker {rank}.{number} is gone: {error}") from error
            if self._on_gpu:
                self._vectors.register()
        return self._vectors


class LocalWorkers:
    def __init__(self, folder: Path | None, shard: int, centers: int, on_gpu: bool) -> None:
        """`folder`: of the shared memory of this host, if the job uses it. `centers`, `on_gpu`: see `LocalWorker`."""
        self._folder, self._shard, self._centers, self._on_gpu = folder, shard, centers, on_gpu
        self._workers: dict[tuple[int, int], LocalWorker] = {}
        self.get = self._workers.get

    def add_incarnation(self, incarnation: tuple[int, int]) -> None:
        assert self._folder is not None, "an incarnation on this host has its files in this host's folder"
        centers = 1 if incarnation[0] == EVALUATOR else self._centers
        self._workers[incarnation] = LocalWorker(self._folder, incarnation, self._shard, centers, self._on_gpu)
