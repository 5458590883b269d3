"""A `.safetensors` file that is written from the tensors' own memory, without a copy of them."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor

from gradstream.process.saving.content import in_chunks

_NAMES = {
    torch.float64: "F64",
    torch.float32: "F32",
    torch.float16: "F16",
    torch.bfloat16: "BF16",
    torch.float8_e4m3fn: "F8_E4M3",
    torch.float8_e5m2: "F8_E5M2",
    torch.complex64: "C64",
    torch.int64: "I64",
    torch.int32: "I32",
    torch.int16: "I16",
    torch.int8: "I8",
    torch.uint64: "U64",
    torch.uint32: "U32",
    torch.uint16: "U16",
    torch.uint8: "U8",
    torch.bool: "BOOL",
}
_ALIGNED = 8
"""The header ends at a multiple of so many bytes, and wide values come first, so that each value lies at a multiple of its size."""


class TensorFile:
    """The header has an entry for each tensor, and the metadata; then come the values."""

    def __init__(self, tensors: Mapping[str, Tensor], metadata: Mapping[str, str] | None = None) -> None:
        """The tensors must not change any more. Raises: TypeError: the format has no name for a tensor's dtype."""
        order = sorted(tensors, key=lambda name: (-tensors[name].element_size(), name))
        self._tensors = [tensors[name] for name in order]
        entries: dict[str, Any] = {"__metadata__": dict(metadata)} if metadata else {}
        at = 0
        for name, tensor in zip(order, self._tensors, strict=True):
            end = at + tensor.nbytes
            entries[name] = {"dtype": _name_of(name, tensor), "shape": list(tensor.shape), "data_offsets": [at, end]}
            at = end
        header = json.dumps(entries, separators=(",", ":"), ensure_ascii=False).encode()
        header += b" " * (-len(header) % _ALIGNED)
        self._header = memoryview(struct.pack("<Q", len(header)) + header)
        self.nbytes = len(self._header) + at

    def chunks(self) -> Iterator[memoryview]:
        """As `Content.chunks`."""
        yield from in_chunks(self._header)
        for tensor in self._tensors:
            yield from in_chunks(_bytes_of(tensor))


def _name_of(name: str, tensor: Tensor) -> str:
    if tensor.dtype not in _NAMES:
        raise TypeError(f"{name} has the dtype {tensor.dtype}, which a .safetensors file cannot hold")
    return _NAMES[tensor.dtype]


def _bytes_of(tensor: Tensor) -> memoryview:
    """Return the values' bytes: a view, unless the tensor is on a GPU or not contiguous."""
    if not tensor.numel():  # one that comes from numpy may have strides that no view can have
        return memoryview(b"")
    data: memoryview = tensor.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().data
    return data
