"""The state of a process, tensors and plain values, as one `.safetensors` file.

A tensor has its path in the state as its name (`shard.center.theta`). The state itself is JSON, in the header's metadata under
`state`, with four forms for what JSON lacks:

    {"$tensor": NAME}               the tensor of this name
    {"$tuple": [...]}               a tuple
    {"$dict": [[KEY, VALUE], ...]}  a dict with another key than a string, or with one that begins with `$`
    {"$float": "nan"}               nan, inf or -inf

Reading runs no code of the file. A `.pt` file, as earlier versions made them, is read too, without its code.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from gradstream.process.saving.checkpoint_names import EARLIER
from gradstream.process.saving.tensor_file import TensorFile

_KEY = "state"


def state_file(state: Any) -> TensorFile:
    """Return the file of a state of tensors and plain values. Raises: TypeError: it holds something else."""
    tensors: dict[str, Tensor] = {}
    text = json.dumps(_encode(state, "", tensors), separators=(",", ":"), allow_nan=False)
    return TensorFile(tensors, {_KEY: text})


def read_state(file: Path) -> Any:
    """Return the state in a file, on the CPU. Its tensors map the file, so only values in use are read."""
    if file.suffix == EARLIER:
        return torch.load(file, map_location="cpu", mmap=True, weights_only=True)
    from safetensors import safe_open

    with safe_open(file, framework="pt") as opened:
        state = json.loads(opened.metadata()[_KEY])
        return _decode(state, {name: opened.get_tensor(name) for name in opened.keys()})  # noqa: SIM118 - it is no dict


def nbytes_of(state: Any) -> int:
    """Return the bytes of the tensors in it; the rest is little."""
    match state:
        case dict():
            return sum(map(nbytes_of, state.values()))
        case list() | tuple():
            return sum(map(nbytes_of, state))
    return int(getattr(state, "nbytes", 0))


def _encode(value: Any, path: str, tensors: dict[str, Tensor]) -> Any:
    match value:
        case Tensor():
            name = path if path not in tensors else f"{path}#{len(tensors)}"
            tensors[name] = value
            return {"$tensor": name}
        case dict():
            pairs = [(key, _encode(inner, f"{path}.{key}" if path else str(key), tensors)) for key, inner in value.items()]
            is_plain = all(isinstance(key, str) and not key.startswith("$") for key in value)
            return dict(pairs) if is_plain else {"$dict": pairs}
        case list() | tuple():
            inner = [_encode(each, f"{path}.{number}", tensors) for number, each in enumerate(value)]
            return inner if isinstance(value, list) else {"$tuple": inner}
        case float() if not math.isfinite(value):
            return {"$float": str(value)}
        case None | str() | bool() | int() | float():
            return value
    raise TypeError(f"{path} is a {type(value).__name__}, which no state may hold")


def _decode(value: Any, tensors: dict[str, Tensor]) -> Any:
    match value:
        case {"$tensor": name}:
            return tensors[name]
        case {"$tuple": list(inner)}:
            return tuple(_decode(each, tensors) for each in inner)
        case {"$dict": list(pairs)}:
            return {key: _decode(inner, tensors) for key, inner in pairs}
        case {"$float": text}:
            return float(text)
        case dict():
            return {key: _decode(inner, tensors) for key, inner in value.items()}
        case list():
            return [_decode(each, tensors) for each in value]
    return value
