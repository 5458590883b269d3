"""`Workload.weights()`: the first values of a model from .safetensors files, instead of those that `model()` draws. Tensors are
read one by one, so that a whole second model is never in memory."""

from __future__ import annotations

import json
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from gradstream.accuracy import described
from gradstream.errors import InvalidWorkload
from gradstream.model.buffers import plain_name

INDEX = ".safetensors.index.json"
"""The end of the name of a file that says which file has which tensor."""
_FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


def load_given_weights(model: nn.Module, given: Any) -> None:
    """Set all parameters and buffers to those in these files. Floats of one kind become the model's. `given`: what `weights()`
    returned: a file, an index, a folder with either, or a list of files.

    Raises: InvalidWorkload: the files are not there, cannot be read, or are of another model."""
    from safetensors import SafetensorError, safe_open

    own = {plain_name(name): tensor for name, tensor in model.state_dict().items()}
    found, first_names = dict[str, Path](), dict[tuple[int, torch.Size], str]()
    with torch.no_grad():
        for file in _files_of(given):
            try:
                with safe_open(file, framework="pt") as opened:
                    for name in opened.keys():  # noqa: SIM118 - it is no mapping
                        _check_name(name, file, own, found)
                        found[name] = file
                        tensor = opened.get_tensor(name)
                        _check_kind(tensor, own[name], name, file)
                        first = first_names.setdefault((own[name].data_ptr(), own[name].shape), name)
                        if first != name:
                            _check_tied(tensor, own[name], {first: found[first], name: file})
                        own[name].copy_(tensor)
            except (OSError, SafetensorError) as error:
                raise InvalidWorkload(f"weights(): {file} cannot be read as .safetensors: {error}") from error
    _check_complete(own, found)


def _files_of(given: Any) -> list[Path]:
    """Raises: InvalidWorkload."""
    paths = [given] if isinstance(given, str | Path) else given
    if not isinstance(paths, Sequence) or not paths or not all(isinstance(path, str | Path) for path in paths):
        raise InvalidWorkload(
            f"weights() must return the path of a .safetensors file, of an index ({INDEX}), of a folder with either, or a list of "
            f"files, not {described(given)}"
        )
    return [file for path in paths for file in _expand(Path(path))]


def _expand(path: Path) -> list[Path]:
    if path.is_dir():
        inside = sorted(path.glob(f"*{INDEX}")) or sorted(path.glob("*.safetensors"))
        if not inside:
            raise InvalidWorkload(f"weights(): the folder {path} has no .safetensors file; name the folder that has them")
        return [file for each in inside for file in _expand(each)]
    if not path.exists():
        raise InvalidWorkload(
            f"weights(): there is no file {path}; a path begins in the folder of the code, or names a file that every node has"
        )
    if not path.name.endswith(INDEX):
        return [path]
    try:
        names = json.loads(path.read_text())["weight_map"].values()
        files = [path.parent / name for name in sorted(set(names))]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidWorkload(
            f"weights(): {path} has no `weight_map` from tensors to files, so it is not an index; name another"
        ) from error
    if lacking := [file.name for file in files if not file.exists()]:
        raise InvalidWorkload(f"weights(): {path} names {', '.join(lacking)}, which is not beside it; copy all files of the model")
    return files


def _check_name(name: str, file: Path, own: dict[str, Tensor], found: dict[str, Path]) -> None:
    if name in found:
        raise InvalidWorkload(f"weights(): {found[name]} and {file} both have the tensor {name}; name one of the files")
    if name not in own:
        close = get_close_matches(name, own, 1)
        hint = f" (did you mean {close[0]}?)" if close else ""
        raise InvalidWorkload(
            f"weights(): {file} has the tensor {name}, and the model has none of that name{hint}; leave it out of the file, or "
            "name the parameter alike in model()"
        )


def _check_kind(given: Tensor, own: Tensor, name: str, file: Path) -> None:
    if given.shape != own.shape:
        raise InvalidWorkload(
            f"weights(): {name} has the shape {tuple(given.shape)} in {file}, and {tuple(own.shape)} in the model; build the model "
            "with the sizes of the file"
        )
    if given.dtype != own.dtype and not (given.dtype in _FLOATS and own.dtype in _FLOATS):
        raise InvalidWorkload(
            f"weights(): {name} is {given.dtype} in {file}, and {own.dtype} in the model; only float16, bfloat16, float32 and "
            "float64 become one another, so convert it in the file or in model()"
        )


def _check_tied(given: Tensor, own: Tensor, places: dict[str, Path]) -> None:
    """`own`: has the tensor of the first of these names."""
    if not torch.equal(own, given.to(own.dtype)):
        files = " and ".join(dict.fromkeys(map(str, places.values())))
        raise InvalidWorkload(
            f"weights(): {' and '.join(places)} are one parameter in the model, and differ in {files}; untie them in model(), or "
            "leave one of them out of the files"
        )


def _check_complete(own: dict[str, Tensor], found: dict[str, Path]) -> None:
    """A tied parameter needs to stand in the files under one of its names, a buffer that is a part of a tensor under none."""
    read = dict[int, int]()
    """Bytes that were set, by address."""
    for name in found:
        if own[name].nbytes:
            read[own[name].data_ptr()] = max(own[name].nbytes, read.get(own[name].data_ptr(), 0))
    missing = [name for name, tensor in own.items() if name not in found and tensor.nbytes > read.get(tensor.data_ptr(), -1)]
    if missing:
        files = list(dict.fromkeys(str(file) for file in found.values()))
        place = f"{files[0]} lacks" if len(files) == 1 else f"{', '.join(files) or 'the files'} lack"
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise InvalidWorkload(
            f"weights(): {place} the tensor {missing[0]} of shape {tuple(own[missing[0]].shape)}{more}; name the file that "
            "has it, or build a model without it"
        )
