"""The vectors that a shard offers to a worker on its own GPU, as the worker finds them."""

from __future__ import annotations

import logging
from pathlib import Path

import torch

from gradstream.wire.gpu.memory import DeviceMemory
from gradstream.wire.gpu.share import DeviceMemoryError
from gradstream.wire.gpu.vectors import DeviceVectors

log = logging.getLogger(__name__)


class FoundVectors:
    """None until the worker has looked for them after its shard has offered them."""

    def __init__(self, device: DeviceMemory, file: Path, size: int, dtype: torch.dtype, centers: int) -> None:
        """See `DeviceVectors.find`."""
        self._device, self._file, self._size, self._dtype, self._centers = device, file, size, dtype, centers
        self._looks = True
        self.vectors: DeviceVectors | None = None

    @property
    def name(self) -> str:
        """The name of the device, for the shard that may offer vectors there."""
        return self._device.name

    def look(self) -> bool:
        """Look for them, unless they are found already, or cannot be opened. Returns whether they are found now."""
        if self.vectors or not self._looks:
            return False
        try:
            self.vectors = DeviceVectors.find(self._file, self._size, self._dtype, self._centers, self._device)
        except DeviceMemoryError as error:
            self._looks = False
            log.warning("the vectors that the server shares on this GPU cannot be opened, so they go through the host: %s", error)
        return self.vectors is not None

    def finish_copies(self) -> None:
        """Wait until this process has read and written all that it has ordered to read and write there."""
        if self.vectors:
            self._device.finish_copies()
