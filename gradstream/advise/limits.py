"""Exact limits of stability: the largest learning rate times curvature, x = lr h, at which training still settles.

On f = h theta^2 / 2, with workers that take turns, every rule here is a linear recurrence in lr h, and it settles if all roots
of its characteristic polynomial lie inside the unit circle. With p the share of a push's center that the push takes off:

    sync, momentum m         (z - 1)(z - m) + p z = 0                                    serial: x < 2 (1 + m)
    async, n workers         (z - 1) z^(n-1) + p = 0                                     p < 2 sin(pi / (2 (2n - 1)))
    ... with `pipeline: 1`   2n for n                                                    each is one of its own pushes staler
    ... with momentum m      (z - 1)(z - m) z^(n-1) + p z = 0                            Nesterov: (1 + m) z - m for the last z
    a window of lambda steps p = 1 - (1 - x)^lambda; divided by lambda (adag) or by the staleness + 1 (dynsgd)
    easgd, easgd under bsp   a worker takes N = T^tau - alpha T^(tau-1) from its own x, and alpha T^(tau-1) from the center
    delayed_diloco           as momentum m, with p ((1 - o) z + o) / z for p, o = 1 - 1/n;  `pipeline: 1`: divided by another z
    geo, q = (1 - x)^k       (z - 1)(z^n - (1 - 1/n) q) + (1 - q) z / n = 0

A strategy names its rule by its `recurrence`. The limit of one that names none, as the distance rule or FedProx, or of an
optimizer that is not linear, as Adam or Adagrad, or has groups, is unknown: `limit` says None. Weight decay acts as so much more
curvature.
tests/unit/advise/test_limits.py runs all of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from gradstream.advise import elastic
from gradstream.advise.roots import smallest_crossing
from gradstream.optim.spec import Optimizer, Sgd
from gradstream.spec import JobSpec
from gradstream.strategies.base import Recurrence


def limit(spec: JobSpec) -> float | None:
    """The lr h at which the job stops to settle, lr being `rate(spec)`; None where no exact limit is known."""
    if spec.optimizer.groups or spec.server_optimizer.groups:
        return None
    rule = spec.strategy.recurrence
    return _RULES[rule](spec) if rule else None


def serial_limit(spec: JobSpec) -> float | None:
    """The same for one process that trains with the job's optimizer, as `gradstream run --local` does."""
    return None if spec.optimizer.groups else _stands(spec.optimizer, 1, 0)


def rate(spec: JobSpec) -> float:
    """The learning rate of a worker's step, or of the server's where workers make none of their own."""
    takes_strategys = spec.strategy.uses_lr_beside_optimizer or spec.optimizer.lr is None or not spec.strategy.optimizers
    return spec.strategy.lr if takes_strategys else (spec.optimizer.lr or spec.strategy.lr)


def alternating(spec: JobSpec) -> int:
    """How many pushes come between a worker's pull and its push, itself included: n, twice that where rounds overlap, or less
    where pushes that old are dropped. Workers of equal speed take turns, so then the same ones are dropped each time."""
    gate, pushes = spec.effective_gate, spec.roles.worker.count * (1 + spec.pipeline)
    return 1 if gate.mode == "bsp" else min(pushes, gate.max_staleness or pushes)


def _settings(spec: JobSpec) -> Any:
    """A strategy of the kind that the rule is for."""
    return spec.strategy


@lru_cache(256)
def _stands(optimizer: Optimizer, workers: int, delay: int) -> float | None:
    """The largest p, before the optimizer's own lr, that a center with this delay of its pushes stands."""
    if not isinstance(optimizer, Sgd):
        return None
    m = optimizer.effective_momentum(workers)
    if m == 0:
        return 2 * math.sin(math.pi / (2 * (2 * delay + 1)))

    def gain(z: complex) -> complex:
        looks_ahead = (1 + m) * z - m if optimizer.nesterov else z
        return -(z - 1) * (z - m) * z**delay / looks_ahead

    return smallest_crossing(gain, delay + 1)


def _server(spec: JobSpec, optimizer: Optimizer) -> float | None:
    """The largest sum of what pushes from one center take off it."""
    gate, n = spec.effective_gate, spec.roles.worker.count
    if gate.mode == "ssp" and gate.bound == 0:  # all from the same center, one after another
        plain = isinstance(optimizer, Sgd) and not optimizer.effective_momentum(n)
        weight = sum(1 / (s + 1) for s in range(n)) / n if spec.strategy.divides_by_staleness else 1.0
        return 2 / (n * weight) if plain else None
    stands = _stands(optimizer, n, alternating(spec) - 1)
    divided = alternating(spec) if spec.strategy.divides_by_staleness else 1
    return None if stands is None else stands * divided


def _of_gradients(spec: JobSpec) -> float | None:
    return _server(spec, spec.optimizer)


def _steps(stands: float | None, window: int) -> float | None:
    """The x at which `window` plain steps together take off `stands`: 1 - (1 - x)^window = stands."""
    if stands is None:
        return None
    if stands < 1:
        return 1 - float((1 - stands) ** (1 / window))
    return 2.0 if window % 2 == 0 else 1 + float((stands - 1) ** (1 / window))


def _plain(optimizer: Optimizer) -> bool:
    return isinstance(optimizer, Sgd) and not optimizer.momentum


def _of_windows(spec: JobSpec, window: int, share: float = 1.0) -> float | None:
    """Workers that make plain steps from what they pulled, and push all of that, or `share` of it."""
    server = spec.server_optimizer
    stands = _server(spec, server) if _plain(spec.optimizer) else None
    return _steps(None if stands is None else stands / (server.lr or 1.0) / share, window)


def _windows(spec: JobSpec) -> float | None:
    window = spec.strategy.steps_per_push()
    if window is None or window != spec.strategy.steps_per_pull():
        return None
    if spec.strategy.descends == "worker":
        return _of_windows(spec, window, spec.strategy.push_share())
    stands = _server(spec, spec.optimizer)  # the gradients of the window, by the server's own step
    return _steps(None if stands is None else stands * spec.strategy.lr / (spec.optimizer.lr or spec.strategy.lr), window)


def _averaging(spec: JobSpec) -> float | None:
    """Local SGD and DiLoCo. Equal workers that keep their momentum, averaged as they are, are one serial run."""
    window, server = spec.strategy.steps_per_push(), spec.server_optimizer
    averages = isinstance(server, Sgd) and (server.lr or 1.0) == 1.0 and not server.momentum
    if averages and getattr(spec.strategy, "inner", "keep") != "reset":
        return _stands(spec.optimizer, 1, 0)
    if window is None:
        return None
    limits = [_of_windows(spec, window), _of_windows(spec, 1) if getattr(spec.strategy, "switch", 0) else math.inf]
    return None if None in limits else min(x for x in limits if x is not None)


def _epochs(spec: JobSpec) -> float | None:
    """Return the limit of averages that hold for any number of local steps."""
    server = spec.server_optimizer
    averages = isinstance(server, Sgd) and (server.lr or 1.0) == 1.0 and not server.momentum
    return 2.0 if averages and _plain(spec.optimizer) else None


def outer_share(spec: JobSpec) -> float | None:
    """Return the share of the way to a minimum that the local steps of gathered pushes may go, with any local optimizer.
    With workers in turn, only the one that completes an outer step continues from the new center; the others hold the last."""
    n, server, gate = spec.roles.worker.count, spec.server_optimizer, spec.effective_gate
    dropped = gate.max_staleness is not None and gate.max_staleness <= 1 + spec.pipeline
    if spec.strategy.gathers(n) != n or dropped or not isinstance(server, Sgd):
        return None
    old = 0.0 if gate.mode == "ssp" and gate.bound == 0 else 1 - 1 / n
    stands = _outer(server.effective_momentum(n), server.nesterov, old, spec.pipeline)
    return None if stands is None else stands / (server.lr or 1.0)


@lru_cache(256)
def _outer(m: float, nesterov: bool, old: float, pipeline: int) -> float | None:
    def gain(z: complex) -> complex:
        looks_ahead = (1 + m) * z - m if nesterov else z
        return -(z - 1) * (z - m) * z**pipeline / looks_ahead / (1 - old + old / z)

    return smallest_crossing(gain, 2 + pipeline)


def _gathered(spec: JobSpec) -> float | None:
    return _steps(outer_share(spec), _settings(spec).window) if _plain(spec.optimizer) else None


def _merged(spec: JobSpec) -> float | None:
    gate, n = spec.effective_gate, spec.roles.worker.count
    whole = gate.quorum is None and gate.cohort == 1 and not (gate.max_staleness and gate.max_staleness < n)
    if _settings(spec).delay or not whole or not _plain(spec.optimizer):
        return None
    if gate.mode == "bsp":
        return _steps(1 + 1 / (3 - 2 / n), _settings(spec).window)
    return _steps(_geo_in_turn(n), _settings(spec).window)


@lru_cache(256)
def _geo_in_turn(n: int) -> float | None:
    kept = 1 - 1 / n

    def gain(z: complex) -> complex:
        return -(z - 1) * (z**n - kept) / (kept * (z - 1) + z / n)

    return smallest_crossing(gain, n)


_RULES: dict[Recurrence, Callable[[JobSpec], float | None]] = {
    "serial": serial_limit,
    "gradients": _of_gradients,
    "windows": _windows,
    "averages": _averaging,
    "epochs": _epochs,
    "elastic": elastic.limit,
    "gathered": _gathered,
    "merged": _merged,
}
