"""The state of servers that resume with another number of them."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from gradstream.optim.flat import FlatOptimizer
from gradstream.optim.parameters import ParameterShape
from gradstream.optim.spec import Adam, Lamb, Muon, Optimizer
from gradstream.shard_server.saving.resharding import join_states, split_state
from gradstream.wire.transport.layout import Layout


def optimizers(theta: Tensor, rule: Optimizer, layout: Layout) -> list[FlatOptimizer]:
    return [FlatOptimizer(theta[mine], rule, 0.1, parameters=layout.pieces(shard)) for shard, mine in enumerate(layout.slices)]


def state_of(theta: Tensor, optimizer: FlatOptimizer) -> dict[str, Any]:
    center = {"theta": theta, "average": None, "slots": {}, "bases": {}, "optimizer": optimizer.state(), "buffers": None}
    return {"center": center, "gate": {}, "evaluations": None}


@pytest.mark.parametrize("rule", [Adam(), Lamb(), Muon()], ids=lambda rule: rule.name)
@pytest.mark.parametrize("names", [("theta",), ("w", "theta", "b")], ids=str)
@pytest.mark.parametrize(("before", "after"), [(3, 1), (1, 3), (5, 2), (2, 5)])
def test_optimizers_go_on_with_other_shards(rule: Optimizer, names: tuple[str, ...], before: int, after: int) -> None:
    """Some shards have no parameters. Their state has the name of the whole vector, which may be that of a parameter."""
    parameters = tuple(ParameterShape(name, (4, 4)) for name in names)
    size = 16 * len(names)
    gradients = torch.randn(6, size, generator=torch.Generator().manual_seed(0))
    first, then = (Layout(size, "float32", 0, 0, count, parameters, rule.sees) for count in (before, after))
    theta = torch.linspace(0.1, 1, size)
    own = optimizers(theta, rule, first)
    for gradient in gradients[:3]:
        for mine, optimizer in zip(first.slices, own, strict=True):
            optimizer.step(gradient[mine])
    resumed = theta.clone()
    whole = join_states([state_of(theta[mine], one) for mine, one in zip(first.slices, own, strict=True)], first)
    assert torch.equal(whole["center"]["theta"], theta)
    others = optimizers(resumed, rule, then)
    for shard, optimizer in enumerate(others):
        optimizer.load(split_state(whole, then, shard)["center"]["optimizer"])
    for layout, steps in ((first, own), (then, others)):
        for gradient in gradients[3:]:
            for mine, optimizer in zip(layout.slices, steps, strict=True):
                optimizer.step(gradient[mine])
    assert torch.equal(resumed, theta)
