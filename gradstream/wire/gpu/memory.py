"""Memory of a GPU that two processes share by CUDA IPC: the one that allocates it hands a handle to the other one.

PyTorch's own allocator shares whole blocks of its cache, and with expandable segments none. So these pages come from the driver.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache, partial
from typing import Any, Protocol

import torch
from torch import Tensor

from gradstream.wire.gpu.registered import RegisteredMemory
from gradstream.wire.gpu.share import DeviceMemoryError, MemoryShare

_HANDLE_BYTES = 64
_LAZY_PEER_ACCESS = 1


class PinnedMemory(Protocol):
    def end(self) -> None:
        """Call it before the memory is unmapped, when no copy is under way."""


class DeviceMemory(Protocol):
    """The memory of one device, as one process sees it."""

    name: str
    """The same in all processes that use this device, and another one for each other device."""

    def allocate(self, nbytes: int) -> tuple[Tensor, bytes]:
        """Return new memory, uint8 of shape (nbytes,), and a handle with which other processes open it. It is freed when no tensor
        uses it any more. Raises: DeviceMemoryError."""

    def open(self, handle: bytes, nbytes: int) -> Tensor:
        """Return the memory that another process has allocated, and that it must not free before. Raises: DeviceMemoryError."""

    def register(self, memory: Tensor) -> PinnedMemory:
        """Let the device copy from and to this memory of the host by itself."""

    def finish_copies(self) -> None:
        """Wait until all that this process has ordered on the device is done."""


class CudaMemory:
    """A `DeviceMemory`. The process has one GPU, and uses it in this thread."""

    def __init__(self, share: int = 1) -> None:
        """The process may take 1/`share` of the GPU's memory. torch's allocator gets what this memory leaves of that."""
        self._device = torch.device("cuda:0")
        self._share = MemoryShare(torch.cuda.get_device_properties(self._device).total_memory, share)
        self.name = str(torch.cuda.get_device_properties(self._device).uuid)
        torch.cuda.synchronize(self._device)  # so that this thread has the context that the driver's calls go to

    def allocate(self, nbytes: int) -> tuple[Tensor, bytes]:
        address, handle = ctypes.c_uint64(), _Handle()
        self._share.require(nbytes, torch.cuda.memory_reserved(self._device))
        _call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(nbytes))
        self._count(nbytes)
        memory = self._tensor(_Mapping(address.value, nbytes, "cuMemFree_v2", partial(self._count, -nbytes)))
        _call("cuIpcGetMemHandle", ctypes.byref(handle), address)
        return memory, bytes(handle.reserved)

    def open(self, handle: bytes, nbytes: int) -> Tensor:
        address = ctypes.c_uint64()
        _call("cuIpcOpenMemHandle_v2", ctypes.byref(address), _Handle.from_buffer_copy(handle), ctypes.c_uint(_LAZY_PEER_ACCESS))
        return self._tensor(_Mapping(address.value, nbytes, "cuIpcCloseMemHandle"))

    def register(self, memory: Tensor) -> PinnedMemory:
        return RegisteredMemory(memory)

    def finish_copies(self) -> None:
        torch.cuda.current_stream(self._device).synchronize()

    def _count(self, nbytes: int) -> None:
        self._share.taken += nbytes
        if self._share.share > 1:
            torch.cuda.set_per_process_memory_fraction(self._share.rest, self._device)

    def _tensor(self, mapping: _Mapping) -> Tensor:
        return torch.as_tensor(mapping, device=self._device)


class _Handle(ctypes.Structure):
    _fields_ = (("reserved", ctypes.c_ubyte * _HANDLE_BYTES),)


class _Mapping:
    """Mapped memory, which goes with the last tensor that views it."""

    def __init__(self, address: int, nbytes: int, end_by: str, on_end: Callable[[], None] = lambda: None) -> None:
        self._address, self._end, self._on_end = address, _function(end_by), on_end
        self.__cuda_array_interface__ = {"shape": (nbytes,), "typestr": "|u1", "data": (address, False), "version": 3}

    def __del__(self) -> None:
        self._end(ctypes.c_uint64(self._address))
        self._on_end()


def _call(name: str, *arguments: Any) -> None:
    if code := _function(name)(*arguments):
        raise DeviceMemoryError(f"{name}: error {code} of the CUDA driver")


@cache
def _function(name: str) -> Callable[..., int]:
    function: Callable[..., int] = getattr(ctypes.CDLL("libcuda.so.1"), name)
    return function
