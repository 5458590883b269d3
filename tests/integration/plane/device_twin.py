"""The twin of a GPU's memory: files that are mapped by each process, in the place of pages that CUDA shares by handles."""

from __future__ import annotations

import mmap
import os
import secrets
from pathlib import Path

import torch
from torch import Tensor

from gradstream.wire.gpu.share import DeviceMemoryError


class HostRegistration:
    def end(self) -> None:
        """The host needs none."""


class FileMemory:
    def __init__(self, folder: Path, name: str = "twin") -> None:
        self.name, self._folder = name, folder
        self.allocated = 0
        self.opened = 0
        self.finished = 0
        """Calls of `finish_copies`."""

    def allocate(self, nbytes: int) -> tuple[Tensor, bytes]:
        file = self._folder / secrets.token_hex(8)
        file.write_bytes(bytes(nbytes))
        self.allocated += 1
        return _mapped(file, nbytes), str(file).encode()

    def open(self, handle: bytes, nbytes: int) -> Tensor:
        try:
            memory = _mapped(Path(handle.decode()), nbytes)
        except OSError as error:
            raise DeviceMemoryError(str(error)) from error
        self.opened += 1
        return memory

    def register(self, memory: Tensor) -> HostRegistration:
        return HostRegistration()

    def finish_copies(self) -> None:
        self.finished += 1


class ClosedMemory(FileMemory):
    """A worker's memory where CUDA opens no handle of another process, as between two containers."""

    def open(self, handle: bytes, nbytes: int) -> Tensor:
        raise DeviceMemoryError("cuIpcOpenMemHandle_v2: error 999 of the CUDA driver")


def _mapped(file: Path, nbytes: int) -> Tensor:
    handle = os.open(file, os.O_RDWR)
    try:
        return torch.frombuffer(mmap.mmap(handle, nbytes), dtype=torch.uint8)
    finally:
        os.close(handle)
