"""A model that begins from weights of another one."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import torch
from torch import Tensor, nn

from gradstream.errors import Invalid
from gradstream.model.buffers import plain_name
from gradstream.model.usercode import UserCode
from gradstream.model.weights.in_checkpoint import read_weights
from gradstream.model.weights.stored import TensorsOfModel
from gradstream.process.exits import UserError
from gradstream.process.order import ProcessOrder
from gradstream.process.saving.model_files import INDEX, read_index
from gradstream.process.store import BEST, MODEL, START, Store, open_store
from gradstream.spec import JobSpec
from gradstream.spec.start import NEEDS_A_FILE, StartFrom, takes_checkpoint

_NAMED = 3
"""Names that an error lists."""


def model_without_platform(code: UserCode, spec: JobSpec, folder: Path) -> nn.Module:
    """The job's model as it is before the first step. `folder`: where its code is. Raises: UserError."""
    model = code.model()
    if spec.start_from:
        if not spec.start_from.file:
            raise UserError(NEEDS_A_FILE)
        load_weights(model, folder / spec.start_from.file)
    return model


def load_start(model: nn.Module, order: ProcessOrder, start: StartFrom, folder: Path) -> None:
    """Set the model's parameters and buffers to those that the job starts from. Raises: UserError: they are of another model."""
    store = open_store(order.store, order)
    if takes_checkpoint(start.checkpoint):
        set_weights(model, read_weights(partial(store.start, folder)))
    else:
        load_weights(model, folder / "code" / start.file if start.file else _fetch_model(store, folder))


def _fetch_model(store: Store, folder: Path) -> Path:
    """Return the file of the model, or its index with all parts beside it."""
    if file := store.start(folder):
        return file
    for model in (MODEL, BEST):
        if index := store.start(folder, model + INDEX):
            for part in read_index(index, model).parts:
                store.start(folder, part)
            return index
    return Path(START)


def load_weights(model: nn.Module, file: Path) -> None:
    """Set the model's parameters and buffers to those of a .safetensors file, or of an index and its parts. Raises: UserError:
    there is no such file, or it is of another model."""
    from safetensors import SafetensorError

    try:
        set_weights(model, TensorsOfModel(file))
    except FileNotFoundError as error:
        raise UserError(f"start_from: there is no file {file.name}; a path begins in the folder of the code") from error
    except (OSError, SafetensorError, Invalid) as error:
        raise UserError(f"start_from: {file.name} cannot be read as .safetensors: {error}") from error


def set_weights(model: nn.Module, given: Mapping[str, Tensor]) -> None:
    """Raises: UserError: `given` is the state_dict of another model."""
    own = {plain_name(name): tensor for name, tensor in model.state_dict().items()}
    if problems := _differences(own, given):
        raise UserError(f"start_from: the weights are of another model than model() builds: {'; '.join(problems)}")
    with torch.no_grad():
        for name, tensor in own.items():
            tensor.copy_(given[name])


def _differences(own: Mapping[str, Tensor], given: Mapping[str, Tensor]) -> list[str]:
    """Sentences; none: they are of one model."""
    missing = [name for name in own if name not in given]
    unknown = [name for name in given if name not in own]
    shapes = [
        f"{name} has the shape {tuple(given[name].shape)} there and {tuple(own[name].shape)} here"
        for name in own
        if name in given and own[name].shape != given[name].shape
    ]
    found = [f"missing there: {_listed(missing)}"] if missing else []
    found += [f"not in this model: {_listed(unknown)}"] if unknown else []
    return found + shapes[:_NAMED] + ([f"and {len(shapes) - _NAMED} more shapes differ"] if len(shapes) > _NAMED else [])


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
