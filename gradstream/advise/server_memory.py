"""The memory of servers, in vectors as long as the model, all shards together. Pure, and without torch.

    the center   theta, the optimizer's state, slots, bases and the average: once, and once more in a checkpoint that is stored
    a step       what `apply` and the optimizer make, a mean of a round, and responses
    beside       centers that wait for an evaluation, one that the drift is measured from, one that is exported

Mailboxes of workers on the same machine belong to the workers. `forecast.remote_memory` counts those of others.
"""

from __future__ import annotations

from typing import Any

from gradstream.optim.spec import Sgd
from gradstream.spec import JobSpec
from gradstream.spec.cadence import HOLD_AT, MAX_KEPT


def server_vectors(spec: JobSpec, *, on_gpu: bool = False) -> int:
    """Return the vectors at most. `on_gpu`: there each step works on whole vectors."""
    n, strategy = spec.roles.worker.count, spec.strategy
    bases = n * (1 + spec.pipeline) if strategy.keeps_base else 0
    center = 1 + kept_by(spec.optimizer_at_servers) + strategy.server_slots + bases + (spec.evaluate.average is not None)
    is_sampled = spec.effective_gate.mode != "bsp" and not (strategy.responds or strategy.keeps_base)
    return 2 * center + _of_a_step(spec, on_gpu) + is_sampled + _for_evaluations(spec) + (spec.export is not None)


def kept_by(optimizer: Any) -> int:
    """Return the vectors of an optimizer's state."""
    plain = isinstance(optimizer, Sgd) and not (optimizer.momentum or optimizer.momentum_correction)
    return 0 if plain else len(optimizer.state_vectors)


def responses(spec: JobSpec) -> int:
    """Return the responses with vectors of their own that a server makes at once."""
    if not spec.strategy.responds:
        return 0
    return spec.roles.worker.count if spec.effective_gate.mode == "bsp" else 1


def _of_a_step(spec: JobSpec, on_gpu: bool) -> int:
    strategy, optimizer = spec.strategy, spec.optimizer_at_servers
    in_one_pass = strategy.applies_mean and optimizer.is_plain and optimizer.clip_norm is None and not on_gpu
    sums_up = spec.effective_gate.mode == "bsp" and spec.roles.worker.count > 1 and not (in_one_pass or strategy.responds)
    return strategy.apply_vectors + optimizer.step_vectors + sums_up + responses(spec) + spec.pull_codec.lossy


def _for_evaluations(spec: JobSpec) -> int:
    """Return the centers that wait for an evaluation by samples: those at which workers wait, one of each round that was under way
    then, and the last one. A worker whose rounds begin without a pull does not wait."""
    if spec.evaluate.cadence.by_time:
        return 0
    if not spec.strategy.pulls_every_round:
        return MAX_KEPT + 1
    if spec.effective_gate.mode == "bsp":
        return HOLD_AT + 1
    threads = spec.roles.worker.hogwild if spec.strategy.hogwild == "gradients" else 1
    return min(MAX_KEPT, HOLD_AT - 1 + spec.roles.worker.count * threads * (1 + spec.pipeline)) + 1
