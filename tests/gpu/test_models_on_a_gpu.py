"""Models of all kinds on a GPU: theta stays there, and gradients reach pinned memory as they are."""

from __future__ import annotations

import pytest
import torch

from gradstream.training.replica import Replica
from tests.nets import KINDS, job, problem

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="THIS MACHINE HAS NO CUDA DEVICE: models on it are not tested"),
]


def trained(kind: str, device: torch.device, accumulate: int = 1) -> list[torch.Tensor]:
    """What a worker would send in each of its steps: copies on the CPU. The centers come from there, too."""
    spec = job(kind, accumulate=accumulate)
    made = problem(spec, 0, device)
    w = Replica(spec, made)
    centers = [w.theta.to("cpu", copy=True) for _ in range(2)]
    out = torch.zeros_like(w.theta, device="cpu", pin_memory=w.theta.is_cuda)
    sent = []
    w.model.train_in(centers)
    w.model.gather_into(out, lambda: None, None)
    for step in range(6):
        center, other = centers[step % 2], centers[1 - step % 2]
        w.model.set_theta(center)
        g = w.grad()
        assert w.theta.device.type == g.device.type == device.type
        out.copy_(g)
        sent.append(out.clone())
        other.copy_(center).sub_(out, alpha=0.1)
    return sent


@pytest.mark.parametrize("accumulate", [1, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_it_sends_what_it_would_send_on_the_cpu(kind: str, accumulate: int) -> None:
    here, there = (trained(kind, torch.device(name), accumulate) for name in ("cpu", "cuda:0"))
    if kind in ("mixed", "autocast"):  # bfloat16 keeps 8 bits, which two devices round apart
        assert torch.nn.functional.cosine_similarity(here[0], there[0], dim=0) > 0.9
        return
    for expected, found in zip(here, there, strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-4)
