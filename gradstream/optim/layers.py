"""Rules that treat each parameter of a model apart, as `torch.optim` classes.

    LARS   v <- m v + lr eta |w| / (|g| + decay |w|) (g + decay w);  w <- w - v
    LAMB   r = m / (sqrt(v) + eps) + decay w;                        w <- w - lr |w| / |r| r          m, v as Adam's
    Muon   u <- m u + g;  o = newton_schulz(g + m u);                w <- (1 - lr decay) w - lr 0.2 sqrt(max(rows, columns)) o

Where a norm is 0 and would stop a parameter for good, LARS and LAMB make the plain step: their factor is 1. Norms stay tensors,
so that a GPU is not waited for.

Sources: You, Gitman, Ginsburg 2017, "Large batch training of convolutional networks"; You et al. 2020, "Large batch optimization
for deep learning"; Jordan et al. 2024, "Muon"; the factor 0.2 sqrt(max) from Liu et al. 2025, "Muon is scalable for LLM
training": with it, matrices take the learning rate of AdamW.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.linalg import vector_norm

NS_COEFFICIENTS = (3.4445, -4.7750, 2.0315)
"""Coefficients of the quintic polynomial: the steepest at 0 that keeps singular values near 1."""


class LayerSteps(torch.optim.Optimizer):
    """One step for each parameter that has a gradient."""

    def __init__(self, groups: list[dict[str, Any]], **defaults: Any) -> None:
        super().__init__(groups, {"adapt": True, **defaults})

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """Make a step with the gradients in `grad`. A `closure` is refused: no caller here has one."""
        assert closure is None
        for group in self.param_groups:
            for w in group["params"]:
                if w.grad is not None:
                    self._step(w, w.grad, self.state[w], group)

    def _step(self, w: Tensor, g: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        raise NotImplementedError


class LarsSteps(LayerSteps):
    def _step(self, w: Tensor, g: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        decay, rate = group["weight_decay"], group["lr"]
        v = _kept(state, "momentum_buffer", w).mul_(group["momentum"])  # and no vector more: passes over memory are what costs
        if w.is_cuda and group["adapt"]:
            length, steepness = vector_norm(w), vector_norm(g)
            factor = group["trust"] * length / (steepness + decay * length)
            scale = rate * torch.where((length > 0) & (steepness > 0), factor, torch.ones_like(factor))
            v.addcmul_(g, scale).addcmul_(w, scale * decay)
        else:
            scale = rate * (_trust(float(vector_norm(w)), float(vector_norm(g)), group["trust"], decay) if group["adapt"] else 1.0)
            v.add_(g, alpha=scale)
            if decay:
                v.add_(w, alpha=scale * decay)
        w.sub_(v)


def _trust(length: float, steepness: float, trust: float, decay: float) -> float:
    return trust * length / (steepness + decay * length) if length > 0 and steepness > 0 else 1.0


class LambSteps(LayerSteps):
    def _step(self, w: Tensor, g: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        r = _adam_direction(g, state, group["betas"], group["eps"]).add_(w, alpha=group["weight_decay"])
        scale = torch.ones((), dtype=w.dtype, device=w.device)
        if group["adapt"]:
            length, step = vector_norm(w), vector_norm(r)
            scale = torch.where((length > 0) & (step > 0), length / step, scale)
        w.sub_(r.mul_(group["lr"] * scale))


class MuonSteps(LayerSteps):
    """Groups with `orthogonal` are stepped by Muon, the others by AdamW."""

    def _step(self, w: Tensor, g: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        if group["orthogonal"]:
            u = _kept(state, "momentum_buffer", w)
            u.mul_(group["momentum"]).add_(g)
            ahead = g.add(u, alpha=group["momentum"]) if group["nesterov"] else u
            direction, lr = newton_schulz(ahead, group["ns_steps"]), group["lr"] * 0.2 * max(w.shape) ** 0.5
        else:
            direction, lr = _adam_direction(g, state, group["betas"], group["eps"]), group["lr"]
        w.mul_(1 - group["lr"] * group["weight_decay"]).add_(direction, alpha=-lr)


def newton_schulz(x: Tensor, steps: int) -> Tensor:
    """Return the matrix with the singular vectors of `x` and singular values near 1, in the dtype of `x`."""
    a, b, c = NS_COEFFICIENTS
    wide = x.T if x.shape[0] > x.shape[1] else x
    y: Tensor = wide / vector_norm(wide).clamp(min=1e-7)
    for _ in range(steps):
        square = y @ y.T
        y = torch.addmm(y, torch.addmm(square, square, square, beta=b, alpha=c), y, beta=a)
    return y.T if x.shape[0] > x.shape[1] else y


def _adam_direction(g: Tensor, state: dict[str, Any], betas: tuple[float, float], eps: float) -> Tensor:
    """Return the direction of Adam, with corrected bias, as a new tensor; keep its means in `state`."""
    state["step"] = state.get("step", 0) + 1
    mean, square = (_kept(state, name, g) for name in ("exp_avg", "exp_avg_sq"))
    mean.lerp_(g, 1 - betas[0])
    square.mul_(betas[1]).addcmul_(g, g, value=1 - betas[1])
    root = (square / (1 - betas[1] ** state["step"])).sqrt_()
    direction: Tensor = (mean / (1 - betas[0] ** state["step"])).div_(root.add_(eps))
    return direction


def _kept(state: dict[str, Any], name: str, like: Tensor) -> Tensor:
    """Return a state vector; zeros before the first step."""
    if name not in state:
        state[name] = torch.zeros_like(like)
    kept: Tensor = state[name]
    return kept
