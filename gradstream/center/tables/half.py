"""Rows and their gradients in 16 bits, as they may travel: rounded to the nearest, ties to even.

fp16 has a significand of 11 bits and ends at 65,504, which stands for larger values. bf16 has one of 8 bits, and the range of
float32. numpy has no bf16, so its bits are uint16 here.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

RowCodec = Literal["raw", "fp16", "bf16"]
DTYPES: dict[str, np.dtype[Any]] = {"raw": np.dtype(np.float32), "fp16": np.dtype(np.float16), "bf16": np.dtype(np.uint16)}
"""How the values of each codec lie in memory."""
_LARGEST = np.float32(np.finfo(np.float16).max)
_QUIET_NAN = np.uint16(0x7FC0)


def encode_rows(values: NDArray[np.float32], codec: RowCodec) -> NDArray[Any]:
    """Return the values as they travel."""
    match codec:
        case "raw":
            return values
        case "fp16":
            return np.where(np.isinf(values), values, np.clip(values, -_LARGEST, _LARGEST)).astype(np.float16)
        case "bf16":
            bits = values.view(np.uint32)
            rounded = ((bits + (np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1)))) >> np.uint32(16)).astype(np.uint16)
            return np.where(np.isnan(values), _QUIET_NAN, rounded)


def decode_rows(travelled: NDArray[Any]) -> NDArray[np.float32]:
    """Return the values of any codec, which its dtype tells; raw ones without a copy."""
    if travelled.dtype == DTYPES["bf16"]:
        return (travelled.astype(np.uint32) << np.uint32(16)).view(np.float32)
    return np.asarray(travelled, np.float32)
