"""The blocks of a model, and `recompute: blocks`: what a block computes is thrown away after its forward and computed again in
backward. Names, parameters and bits stay as they are.

Source: Chen et al. 2016, "Training Deep Nets with Sublinear Memory Cost".
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from gradstream.errors import InvalidWorkload
from gradstream.model.tables import has_tables


def find_blocks(model: nn.Module) -> list[nn.Module]:
    """The layers that a model of Transformers names as indivisible; else the children of the list or sequence with most parameters.

    Raises: InvalidWorkload: there is neither."""
    named = set(getattr(model, "_no_split_modules", None) or ())
    if found := [module for module in model.modules() if type(module).__name__ in named]:
        return found
    rows = [module for module in model.modules() if isinstance(module, nn.ModuleList | nn.Sequential)]
    if not rows:
        raise InvalidWorkload(
            "the model has no ModuleList or Sequential, whose children would be the blocks that stages and recompute need; "
            "override blocks(model) in the workload, or remove stages and recompute from the job file"
        )
    return list(max(rows, key=lambda row: sum(p.numel() for p in row.parameters())))


def recompute(block: nn.Module) -> None:
    """Let this block keep only its inputs until backward."""
    forward = block.forward

    def recomputed(*args: Any, **kwargs: Any) -> Any:
        if not torch.is_grad_enabled():
            return forward(*args, **kwargs)
        buffers = _copied_buffers(block)
        return checkpoint(forward, *args, use_reentrant=False, context_fn=lambda: _contexts(buffers), **kwargs)

    block.forward = recomputed


class _Buffer(NamedTuple):
    module: nn.Module
    name: str
    copy: Tensor


def _copied_buffers(block: nn.Module) -> list[_Buffer]:
    """Return copies of the buffers from before the forward: it may move any, as BatchNorm moves its statistics."""
    return [
        _Buffer(module, name, buffer.clone())
        for module in block.modules()
        for name, buffer in module._buffers.items()
        if buffer is not None
    ]


def _contexts(buffers: list[_Buffer]) -> tuple[AbstractContextManager[Any], AbstractContextManager[Any]]:
    """Return the contexts of the forward and of its repetition."""
    return nullcontext(), _in_place_of_buffers(buffers)


@contextmanager
def _in_place_of_buffers(buffers: list[_Buffer]) -> Iterator[None]:
    """The repetition begins with the buffers that the forward began with, and moves copies: statistics move once."""
    now = [module._buffers[name] for module, name, _ in buffers]
    for module, name, copy in buffers:
        module._buffers[name] = copy
    try:
        yield
    finally:
        for (module, name, _), buffer in zip(buffers, now, strict=True):
            module._buffers[name] = buffer


def check_blocks(blocks: list[nn.Module], model: nn.Module) -> None:
    """Raises: InvalidWorkload: there are none, a block is not a module of the model, or it stands in another one."""
    if not blocks:
        raise InvalidWorkload("blocks() gives none, and stages and recompute need them; give modules of the model")
    inside = {id(module) for module in model.modules()}
    for block in blocks:
        if not isinstance(block, nn.Module) or id(block) not in inside:
            raise InvalidWorkload(f"blocks() gives a {type(block).__name__}, and the model has no such module; give its own")
    within = {id(module) for block in blocks for module in block.modules() if module is not block}
    for block in blocks:
        if has_tables(block):
            raise InvalidWorkload(
                f"recompute: a {type(block).__name__} has an embedding table, which would look rows up twice; override "
                "blocks(model) in the workload without it"
            )
        if id(block) in within:
            raise InvalidWorkload(f"blocks() gives a {type(block).__name__} that stands in another block; give one of the two")
