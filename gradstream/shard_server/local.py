"""Incarnations of workers on this host, as a shard sees them: vectors in shared memory, and messages in a pipe."""

from __future__ import annotations

import logging
from pathlib import Path

from torch import Tensor

from gradstream.center.entries import Response
from gradstream.errors import PlaneLost
from gradstream.spec import JobSpec
from gradstream.wire.gpu.memory import DeviceMemory
from gradstream.wire.gpu.share import DeviceMemoryError
from gradstream.wire.gpu.vectors import DeviceVectors
from gradstream.wire.transport.layout import Layout
from gradstream.wire.transport.pipe import ResponsePipeWriter
from gradstream.wire.transport.shm import Shared, count_centers, device_vectors_file, is_last_center

log = logging.getLogger(__name__)


class LocalWorker:
    def __init__(
        self, folder: Path, incarnation: tuple[int, int], shard: int, centers: int, device: DeviceMemory | None, on_it: bool
    ) -> None:
        """`centers`: how many the worker's shared memory holds. `device`: the shard computes on it. `on_it`: so does the worker."""
        self._folder, self._incarnation, self._shard, self._centers = folder, incarnation, shard, centers
        self._device, self._may_offer = device, on_it
        self._vectors: Shared | None = None
        self._on_device: DeviceVectors | None = None
        self.responses = ResponsePipeWriter(folder, *incarnation, shard)
        self.into = 0
        """The center that the worker wants its next response in."""
        self.wants_device = False
        """The worker wants it in `DeviceVectors`, if they are there."""

    def leave(self) -> None:
        """It is over: its memory may go. A message may still have to tell it so."""
        if self._vectors:
            self._vectors.unregister()
        self._vectors = self._on_device = None

    def vectors(self, layout: Layout) -> Shared:
        """Mapped when first asked for, since an incarnation may join before the model's size is known. Raises: PlaneLost."""
        if self._vectors is None:
            try:
                self._vectors = Shared.open(self._folder, *self._incarnation, layout, self._centers)
            except OSError as error:
                rank, number = self._incarnation
                raise PlaneLost(f"the shared memory of worker {rank}.{number} is gone: {error}") from error
            if self._device:
                self._vectors.register(self._device)
        return self._vectors

    @property
    def out_on_device(self) -> Tensor:
        assert self._on_device is not None, "a worker uses vectors that were offered"
        return self._on_device.out

    @property
    def uses_device(self) -> bool:
        """The worker's next center belongs into `DeviceVectors`."""
        return self.wants_device and self._on_device is not None

    def center_slice(self, layout: Layout) -> Tensor:
        """Return the buffer for the shard's part of the worker's next center. Raises: PlaneLost."""
        if self._may_offer:
            self._offer(layout)
        if self._on_device and self.uses_device:
            return self._on_device.centers[self.into]
        return self.vectors(layout).center_slice(self.into, self._shard)

    def put_center(self, layout: Layout, x: Tensor | None, response: Response) -> None:
        """Put the shard's part of the center that the response brings into shared memory. `x`: see `Shared.put_center`. Raises:
        PlaneLost."""
        assert response.payload is not None, "the response brings a center"
        into = self._centers - 1 if is_last_center(response) else self.into
        self.vectors(layout).put_center(into, self._shard, x, response.payload.buffers)

    def _offer(self, layout: Layout) -> None:
        assert self._device is not None, "a worker is on the shard's device if the shard has one"
        self._may_offer, file = False, device_vectors_file(self._folder, *self._incarnation)
        try:
            self._on_device = DeviceVectors.offer(file, layout.size, layout.torch_dtype, self._centers, self._device)
        except DeviceMemoryError as error:
            log.warning("vectors to worker %d.%d go through the host's memory: %s", *self._incarnation, error)


class LocalWorkers:
    def __init__(self, folder: Path | None, shard: int, spec: JobSpec, device: DeviceMemory | None) -> None:
        """`folder`: of the shared memory of this host, if the job uses it. `device`: see `LocalWorker`."""
        self._folder, self._shard, self._spec, self._device = folder, shard, spec, device
        self._workers: dict[tuple[int, int], LocalWorker] = {}
        self.get = self._workers.get

    def add_incarnation(self, incarnation: tuple[int, int], device: str) -> None:
        """`device`: see `Header`."""
        assert self._folder is not None, "an incarnation on this host has its files in this host's folder"
        centers = count_centers(self._spec, incarnation[0])
        on_it = self._device is not None and self._device.name == device
        self._workers[incarnation] = LocalWorker(self._folder, incarnation, self._shard, centers, self._device, on_it)
