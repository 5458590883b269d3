"""States of shards, joined to that of the whole vector, and split into others. Only vectors differ between the shards of a job; the
first also has the buffers and what workloads observed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from gradstream.optim.parameters import ParameterShape, pieces, starts
from gradstream.wire.transport.layout import Layout

_Vectors = Callable[[Sequence[Tensor]], Tensor]
"""Makes one vector of those that the states have in one place."""


def join_states(states: Sequence[dict[str, Any]], layout: Layout) -> dict[str, Any]:
    """Return the state of a center with one shard. `layout`: of these states."""
    joined = _with_vectors(states, lambda vectors: torch.cat(list(vectors)))
    optimizers = [state["center"]["optimizer"] for state in states]
    return _with_optimizer(joined, _joined_optimizer(optimizers, layout))


def split_state(whole: dict[str, Any], layout: Layout, shard: int) -> dict[str, Any]:
    """Return the state of one shard. `layout`: of the shards to be."""
    mine = layout.slices[shard]
    part = _with_vectors([whole], lambda vectors: vectors[0][mine].clone())
    part = _with_optimizer(part, _split_optimizer(whole["center"]["optimizer"], layout, mine))
    if shard > 0:
        part["center"]["buffers"] = None
        part.pop("observed", None)
    return part


def _with_vectors(states: Sequence[dict[str, Any]], made: _Vectors) -> dict[str, Any]:
    first = states[0]
    centers = [state["center"] for state in states]
    center = dict(centers[0])
    center["theta"] = made([one["theta"] for one in centers])
    if center["average"] is not None:
        center["average"] = made([one["average"] for one in centers])
    center["slots"] = {name: made([one["slots"][name] for one in centers]) for name in center["slots"]}
    center["bases"] = {
        rank: {version: made([one["bases"][rank][version] for one in centers]) for version in given}
        for rank, given in center["bases"].items()
    }
    found = {**first, "center": center}
    if pending := first["gate"].get("pending"):
        vectors = [[x for _, x in state["gate"]["pending"]] for state in states]
        joined = [(push, made([of_shard[n] for of_shard in vectors])) for n, (push, _) in enumerate(pending)]
        found["gate"] = {**first["gate"], "pending": joined}
    if first["evaluations"]:
        queues = [state["evaluations"]["kept"] for state in states]
        kept = [(*one[:2], made([queue[n][2] for queue in queues]), *one[3:]) for n, one in enumerate(queues[0])]
        found["evaluations"] = {**first["evaluations"], "kept": kept}
    return found


def _with_optimizer(state: dict[str, Any], optimizer: dict[str, Any]) -> dict[str, Any]:
    return {**state, "center": {**state["center"], "optimizer": optimizer}}


def _joined_optimizer(states: Sequence[dict[str, Any]], layout: Layout) -> dict[str, Any]:
    """See `gradstream.optim.flat.FlatOptimizer.state`: values of the whole slice, or by name of the parameter."""
    if layout.sees == "element":
        return _joined_values(states, (layout.size,))
    shapes = _parameters(layout)
    by_shard = [state for state, mine in zip(states, layout.slices, strict=True) if mine.start < mine.stop]
    held = {shape.name: [state[shape.name] for state in by_shard if shape.name in state] for shape in shapes}
    return {shape.name: _joined_values(held[shape.name], shape.shape) for shape in shapes if held[shape.name]}


def _joined_values(states: Sequence[dict[str, Any]], shape: tuple[int, ...]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in max(states, key=len).items():
        if isinstance(value, Tensor) and value.ndim:
            found[name] = torch.cat([state[name].reshape(-1) for state in states if name in state]).view(shape)
        else:
            found[name] = value
    return found


def _split_optimizer(state: dict[str, Any], layout: Layout, mine: slice) -> dict[str, Any]:
    if layout.sees == "element":
        return _split_values(state, mine, (mine.stop - mine.start,))
    shapes = _parameters(layout)
    begins = {shape.name: start for shape, start in zip(shapes, starts(shapes), strict=False)}
    found = {}
    for piece in pieces(shapes, mine):
        start = max(0, mine.start - begins[piece.name])
        found[piece.name] = _split_values(state.get(piece.name, {}), slice(start, start + piece.size), piece.shape)
    return found


def _split_values(state: dict[str, Any], part: slice, shape: tuple[int, ...]) -> dict[str, Any]:
    return {
        name: value.reshape(-1)[part].clone().view(shape) if isinstance(value, Tensor) and value.ndim else value
        for name, value in state.items()
    }


def _parameters(layout: Layout) -> tuple[ParameterShape, ...]:
    return layout.parameters or (ParameterShape("theta", (layout.size,)),)
