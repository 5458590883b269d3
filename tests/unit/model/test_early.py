"""Gradients that leave while backward runs are those of backward, however the loss comes to them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from gradstream.errors import PlaneLost
from gradstream.model.early import EarlyGradients
from tests.nets import job, problem

X = torch.linspace(-1, 1, 24).view(4, 6)


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.unused, self.last = nn.Linear(6, 6), nn.Linear(2, 2), nn.Linear(6, 6)

    def forward(self, x: Tensor) -> Tensor:
        return self.last(self.first(x).tanh())  # type: ignore[no-any-return]


def plain(net: Net) -> Tensor:
    return net(X).square().mean()  # type: ignore[no-any-return]


def with_a_backward_of_its_own(net: Net) -> Tensor:
    net(X + 1).mean().backward()
    return plain(net)


def in_pieces(net: Net) -> Tensor:
    """Each piece goes backward by itself, so the layer's gradient comes twice."""
    x = X.clone().requires_grad_()
    for _ in range(2):
        x = checkpoint(net.first, x, use_reentrant=True)  # type: ignore[assignment]
    return net.last(x).square().mean()  # type: ignore[no-any-return]


def backward(loss: Tensor) -> None:
    loss.backward()  # type: ignore[no-untyped-call]


@pytest.mark.parametrize("loss", [plain, with_a_backward_of_its_own, in_pieces])
def test_they_are_the_gradients(loss: Callable[[Net], Tensor]) -> None:
    torch.manual_seed(1)
    net = Net()
    backward(loss(net))
    parts = [torch.zeros_like(p) if p.grad is None else p.grad for p in net.parameters()]
    expected = torch.cat([part.reshape(-1) for part in parts])
    net.zero_grad()
    out, told = torch.full_like(expected, 7.0), list[int | str]()
    early = EarlyGradients(list(net.parameters()), out, lambda: told.append("settled"), told.append)
    for _ in range(2):
        early.during(backward)(loss(net))
        assert torch.allclose(early.gathered(), expected, rtol=0, atol=1e-7)
        assert all(p.grad is None for p in net.parameters())
        assert (told[:2], told[-1]) == (["settled", -1], 0)
        del told[:2]
        assert ("settled" in told, -1 in told) == (False, loss is in_pieces)
        places = [place for place in told if place != -1]
        assert places == sorted(places, reverse=True), "from the end on"
        assert 48 in places, "the last layer begins there, and left before the others came"
        told.clear()


def test_a_plane_that_is_lost_meanwhile_is_not_the_users_fault() -> None:
    def lost() -> None:
        raise PlaneLost("the log of this attempt is gone")

    spec = job("plain")
    made = problem(spec, 0)
    made.gather_into(torch.empty_like(made.theta), lost, lambda start: None)
    with pytest.raises(PlaneLost, match="the log"):
        made.gradient(0)


def test_without_any_gradient_all_are_0() -> None:
    net, told = Net(), list[int | str]()
    out = torch.ones(sum(p.numel() for p in net.parameters()))
    early = EarlyGradients(list(net.parameters()), out, lambda: told.append("settled"), told.append)
    early.during(backward)(torch.ones(1, requires_grad=True).sum())
    assert not early.gathered().any()
    assert told == ["settled", -1, 0]
