"""A job with several members: each is plain PyTorch with a seed of its own, and all are scored together."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from tests.platforms import Lab

X = torch.randn(256, 8, generator=torch.Generator().manual_seed(3))
Y = X.sum(1, keepdim=True)


def alone(seed: int, epochs: int) -> dict[str, torch.Tensor]:
    """What one model becomes in a loop that shares no code with the platform."""
    torch.manual_seed(seed)
    model = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    for epoch in range(epochs):
        for chosen in torch.randperm(256, generator=torch.Generator().manual_seed(1_000_003 + epoch)).split(32):
            optimizer.zero_grad()
            nn.functional.mse_loss(model(X[chosen]), Y[chosen]).backward()  # type: ignore[no-untyped-call]
            optimizer.step()
    return model.state_dict()


@pytest.mark.more
def test_members_are_trained_alone_and_scored_together(lab: Lab, tmp_path: Path) -> None:
    job = lab.submit(
        "ensemble",
        members=2,
        strategy={"name": "sync", "lr": 0.02},
        stop={"epochs": 2},
        roles={"worker": {"count": 1, "device": "cpu"}, "server": {"count": 2}},
    )
    job = lab.ended(job)
    weights = lab.weights(job, tmp_path)
    members = [alone(seed=1 + member, epochs=2) for member in range(2)]
    assert set(weights) == {f"members.{member}.{key}" for member in range(2) for key in ("weight", "bias")}
    for member, expected in enumerate(members):
        assert all(torch.equal(weights[f"members.{member}.{key}"], value) for key, value in expected.items())
    scores = job.progress.eval
    assert set(scores) == {"loss", "members_loss"}
    x = torch.randn(64, 8, generator=torch.Generator().manual_seed(4))
    outputs = [nn.functional.linear(x, one["weight"], one["bias"]) for one in members]
    together = nn.functional.mse_loss((outputs[0] + outputs[1]) / 2, x.sum(1, keepdim=True))
    assert scores["loss"] == pytest.approx(float(together), rel=1e-5)
    assert scores["members_loss"] == pytest.approx(
        sum(float(nn.functional.mse_loss(one, x.sum(1, keepdim=True))) for one in outputs) / 2, rel=1e-5
    )
    assert (scores["loss"] or 0) < (scores["members_loss"] or 0)
