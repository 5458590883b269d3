"""The limit of elastic averaging. A worker's state is its x and its velocity v; a step takes it to T (x, v). With N = T^tau -
alpha T^(tau-1) E, E picking x, b = T^(tau-1) (1, 0), and e = n in turn, 1 under bsp, where beta = n alpha (else alpha):

    (z - 1 + beta) det(z^e - N) = alpha beta ((z^e - N_vv) b_x + N_xv b_v)

For tau = 1 without momentum, in turn, that gives the paper's 0 <= alpha <= (4 - 2 x) / (4 - x) for every odd n, and a little more
for even ones.
"""

from __future__ import annotations

import cmath
import math
from functools import lru_cache
from typing import Any

from gradstream.advise.roots import first_failure, settles
from gradstream.optim.spec import Sgd
from gradstream.spec import JobSpec

Matrix = tuple[float, float, float, float]
"""Row by row."""
_MAX_DEGREE = 24
"""Workers. With more of them the phases of z^n lie so close that only the worst one counts."""
_ANGLES = 96


def alpha_of(spec: JobSpec) -> float:
    given: float | None = _settings(spec).alpha
    return 0.9 / spec.roles.worker.count if given is None else given


def limit(spec: JobSpec) -> float | None:
    gate, n, alpha = spec.effective_gate, spec.roles.worker.count, alpha_of(spec)
    whole = gate.quorum is None and gate.cohort == 1 and not (gate.max_staleness and gate.max_staleness < n)
    velocity = _velocity(spec)
    if not whole or velocity is None or alpha == 0:
        return None
    return _limit(*velocity, alpha, _settings(spec).window, n, gate.mode == "bsp")


@lru_cache(256)
def _limit(momentum: float, looks_ahead: str, alpha: float, window: int, n: int, in_step: bool) -> float:
    def holds(x: float) -> bool:
        return _settles(_step(x, momentum, looks_ahead), alpha, window, n, in_step=in_step)

    return first_failure(holds, 2 * (1 + momentum) + 0.1)


def _settings(spec: JobSpec) -> Any:
    """A strategy of the kind that the rule is for."""
    return spec.strategy


def _velocity(spec: JobSpec) -> tuple[float, str] | None:
    if not spec.strategy.optimizers:  # EAMSGD makes its steps by itself
        return float(_settings(spec).delta), "eamsgd"
    sgd = spec.optimizer
    return (sgd.momentum, "nesterov" if sgd.nesterov else "") if isinstance(sgd, Sgd) else None


def _step(x: float, m: float, looks_ahead: str) -> Matrix:
    """One local step; the velocity in units of the learning rate times the curvature."""
    if looks_ahead == "eamsgd":  # v <- m v - x (theta + m v); theta <- theta + v
        return (1 - x, m * (1 - x), -x, m * (1 - x))
    if looks_ahead == "nesterov":  # v <- m v + x theta; theta <- theta - (x theta + m v)
        return (1 - x - m * x, -m * m, x, m)
    return (1 - x, -m, x, m)


def _settles(step: Matrix, alpha: float, window: int, n: int, *, in_step: bool) -> bool:
    before = _power(step, window - 1)
    b = (before[0], before[2])
    all_steps = _times(before, step)
    own = (all_steps[0] - alpha * b[0], all_steps[1], all_steps[2] - alpha * b[1], all_steps[3])
    beta = n * alpha if in_step else alpha
    trace, det = own[0] + own[3], own[0] * own[3] - own[1] * own[2]
    direct, through = alpha * beta * b[0], alpha * beta * (own[1] * b[1] - own[3] * b[0])
    if in_step and not settles([1.0, -trace, det]):  # what differs between workers
        return False
    if not in_step and n > _MAX_DEGREE:
        return all(_worst(k, beta, trace, det, direct, through) < 1 for k in range(1, _ANGLES + 1))
    e = 1 if in_step else n
    polynomial = [0.0] * (2 * e + 2)  # by power, highest first
    for power, value in ((2 * e, 1.0), (e, -trace), (0, det)):
        polynomial[2 * e - power] += value
        polynomial[2 * e + 1 - power] -= (1 - beta) * value
    polynomial[e + 1] -= direct
    polynomial[-1] -= through
    return settles(polynomial)


def _worst(k: int, beta: float, trace: float, det: float, direct: float, through: float) -> float:
    """The larger root w = z^n, whatever its phase, at one place z of the unit circle."""
    a = cmath.exp(1j * math.pi * k / _ANGLES) - 1 + beta
    linear, constant = -trace - direct / a, det - through / a
    root = cmath.sqrt(linear * linear - 4 * constant)
    return max(abs(-linear + root), abs(-linear - root)) / 2


def _times(a: Matrix, b: Matrix) -> Matrix:
    return (
        a[0] * b[0] + a[1] * b[2],
        a[0] * b[1] + a[1] * b[3],
        a[2] * b[0] + a[3] * b[2],
        a[2] * b[1] + a[3] * b[3],
    )


def _power(a: Matrix, k: int) -> Matrix:
    result: Matrix = (1.0, 0.0, 0.0, 1.0)
    while k:
        if k & 1:
            result = _times(result, a)
        a, k = _times(a, a), k >> 1
    return result
