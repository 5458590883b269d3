"""Rules that treat layers apart in a job with several servers, against a loop in numpy that shares no code with the platform."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from tests.platforms import Lab

LR, TRUST, DECAY, MOMENTUM, LONGEST, EPOCHS = 0.05, 0.02, 0.01, 0.9, 2.0, 3
X = torch.randn(256, 8, generator=torch.Generator().manual_seed(3)).double().numpy()
Y = X.sum(1, keepdims=True)


def clipped(g: NDArray[np.float64]) -> NDArray[np.float64]:
    return g * min(1.0, LONGEST / (float(np.linalg.norm(g)) + 1e-6))


def by_hand() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """LARS for the weight; for the bias plain steps with momentum, at twice the rate and without weight decay."""
    torch.manual_seed(1)
    start = torch.nn.Linear(8, 1)
    w, b = (p.detach().double().numpy().copy() for p in (start.weight, start.bias))
    v, u = np.zeros_like(w), np.zeros_like(b)
    for epoch in range(EPOCHS):
        for chosen in torch.randperm(256, generator=torch.Generator().manual_seed(1_000_003 + epoch)).split(32):
            x, y = X[chosen.numpy()], Y[chosen.numpy()]
            error = 2 * (x @ w.T + b - y) / len(x)
            g, h = clipped(error.T @ x), clipped(error.sum(0))
            length = float(np.linalg.norm(w))
            v = MOMENTUM * v + LR * TRUST * length / (float(np.linalg.norm(g)) + DECAY * length) * (g + DECAY * w)
            u = MOMENTUM * u + 2 * LR * h
            w, b = w - v, b - u
    return w, b


def test_groups_lars_and_clipping_by_parameter_on_several_servers(lab: Lab, tmp_path: Path) -> None:
    job = lab.submit(
        "layers",
        strategy={"name": "sync", "lr": LR},
        optimizer={
            "name": "lars",
            "trust": TRUST,
            "weight_decay": DECAY,
            "momentum": MOMENTUM,
            "clip_parameter_norm": LONGEST,
            "groups": [{"match": "bias", "lr_factor": 2.0, "weight_decay": 0.0, "adapt": False}],
        },
        stop={"epochs": EPOCHS},
        roles={"worker": {"count": 1, "device": "cpu"}, "server": {"count": 3}},
    )
    trained = lab.weights(lab.ended(job), tmp_path)
    sizes = {point.value for point in lab.points(job, "server/slice_bytes")}
    assert sizes == {0, 4 * 8, 4 * 1}, "the weight lies on one server, the bias on another"
    weight, bias = by_hand()
    assert np.allclose(trained["weight"].numpy(), weight, atol=1e-5)
    assert np.allclose(trained["bias"].numpy(), bias, atol=1e-5)
