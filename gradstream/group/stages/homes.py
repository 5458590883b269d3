"""The stage that each parameter and each buffer of a model belongs to."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

from gradstream.center.entries import Buffers
from gradstream.model.flat_model import FlatModel


def homes_of(flat: FlatModel, stages: Sequence[Sequence[nn.Module]]) -> list[int]:
    """Return the stage in which each parameter is at home, by index: the first one with a block that has it. Others that come
    before all blocks in the model are in the first stage, and the rest in the last one. `stages`: the blocks of each."""
    of_blocks = dict[int, int]()
    for stage, blocks in enumerate(stages):
        for p in (p for block in blocks for p in block.parameters()):
            of_blocks.setdefault(id(p), stage)
    homes, last = list[int](), 0
    for p in flat.trained:
        home = of_blocks.get(id(p))
        last = len(stages) - 1 if home is not None else last
        homes.append(last if home is None else home)
    return homes


def parameters_elsewhere(model: nn.Module, stages: Sequence[Sequence[nn.Module]], stage: int) -> list[nn.Parameter]:
    """Return the parameters, also frozen ones, that only blocks of other stages have. `stages`: the blocks of each."""
    within = [{id(module) for block in blocks for module in block.modules()} for blocks in stages]
    of_others = set[int]().union(*within) - within[stage]
    own = {id(p) for module in model.modules() if id(module) not in of_others for p in module.parameters(recurse=False)}
    return [p for p in model.parameters() if id(p) not in own]


def buffer_owners(flat: FlatModel, stages: Sequence[Sequence[nn.Module]]) -> Buffers | None:
    """Return the stage that computes each value of the buffers. Outside of the blocks, it is the last one: what comes before the
    blocks is the same in all. `stages`: the blocks of each. None: the model has no buffers."""
    buffers = flat.buffers()
    if buffers is None:
        return None
    owners = Buffers(*(torch.full(vector.shape, len(stages) - 1, dtype=torch.int64) for vector in buffers))
    places = flat.buffer_places()
    for stage, blocks in enumerate(stages):
        for buffer in (buffer for block in blocks for buffer in block.buffers()):
            if found := places.get(id(buffer)):
                vector, start = found
                getattr(owners, vector)[start : start + buffer.numel() * (1 + buffer.is_complex())] = stage
    return owners


def of_owners(found: Sequence[Buffers], owners: Buffers) -> Buffers:
    """Return each value of the buffers of the stage that computes it. `found`: those of each stage."""
    stacked = (torch.stack(list(vectors)) for vectors in zip(*found, strict=True))
    return Buffers(*(of_all.gather(0, owner[None])[0] for of_all, owner in zip(stacked, owners, strict=True)))
