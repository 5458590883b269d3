"""`roles.server.count: auto`: the number of shards, from the model's size, the cores of its hosts and the path of its vectors.

A push keeps one shard busy for `work` seconds; s shards share that, and each further one costs a response and a header more:

    seconds of an exchange at the servers = work max(1 / s, largest) + MESSAGE (s - 1)

`largest` is the share of the largest parameter, where the servers' optimizer needs whole ones (lars, lamb, muon); else it is 0.
The smallest number of shards whose cost is within TOLERANCE of the lowest is taken, and never more than there are cores beside the
workers: on a machine that is full, shards only take turns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gradstream.optim.spec import Sgd
from gradstream.spec import JobSpec

LOCAL = 0.35e-9
"""Seconds that a shard takes for a byte of a push in shared memory: to apply it and to hand the new center over."""
REMOTE = 3.5e-9
"""Seconds for a byte that comes and goes through Redis."""
STATE = 0.75e-9
"""Seconds more for each byte of a push and each vector of state that the server's optimizer keeps."""
MESSAGE = 0.3e-3
"""Seconds that one more shard adds to an exchange: a response, and a header to read. These four were measured on one core of 2024
(docs/adr/0029-auto-shards.md says how); the number of shards goes with the root of their ratios."""
TOLERANCE = 1.1
"""Ratio of a cost to the lowest one, at most."""
MAX_AUTO_SHARDS = 16


@dataclass(frozen=True, slots=True)
class Host:
    """A machine of the job, and its workers there."""

    cpus: int
    workers: int


@dataclass(frozen=True, slots=True)
class ShardCount:
    shards: int
    reason: str
    """The reason for the number, as a sentence."""


def choose(spec: JobSpec, nbytes: int, hosts: Sequence[Host], largest: float = 0.0) -> ShardCount:
    """Choose the number of shards. `nbytes`: of the whole center. `hosts`: those with workers; shards lie on them in turn.
    `largest`: share of the largest parameter in it, if the servers' optimizer needs whole ones; 0: not known."""
    work = nbytes * _per_byte(spec, len(hosts))
    spare = sum(max(0, host.cpus - host.workers * spec.roles.worker.cores) for host in hosts)
    most = max(1, min(MAX_AUTO_SHARDS, spare))
    costs = {
        shards: work * max(1 / shards, largest_share(spec, largest)) + MESSAGE * (shards - 1)
        for shards in range(1, MAX_AUTO_SHARDS + 1)
    }
    wanted = _fewest(costs, MAX_AUTO_SHARDS)
    shards = _fewest(costs, most)
    way = "in shared memory" if len(hosts) == 1 else f"on {len(hosts)} machines"
    told = f"the center has {_short(nbytes / 1e6)} MB, which keep one shard busy for {_short(1e3 * work)} ms per push {way}"
    if shards < wanted:
        cores = f"{spare} of {sum(host.cpus for host in hosts)} cores are left beside the workers"
        return ShardCount(shards, f"{_count(shards)}, where {wanted} would be best: {told}, and {cores}.")
    if shards == 1:
        return ShardCount(
            1, f"1 shard: {told}; another one would cost {_short(1e3 * MESSAGE)} ms of messages to save half of that."
        )
    return ShardCount(shards, f"{_count(shards)}: {told}, {_short(1e3 * costs[shards])} ms with {shards}.")


def largest_share(spec: JobSpec, largest: float) -> float:
    """Return the share of the vector that one shard holds at least, since a parameter of the share `largest` is in it."""
    return largest if spec.optimizer_at_servers.sees == "matrix" else 0.0


def _fewest(costs: dict[int, float], most: int) -> int:
    best = min(cost for shards, cost in costs.items() if shards <= most)
    return next(shards for shards, cost in costs.items() if cost <= TOLERANCE * best)


def _per_byte(spec: JobSpec, hosts: int) -> float:
    optimizer = spec.optimizer if spec.strategy.descends == "server" else spec.server_optimizer
    kept = 0 if isinstance(optimizer, Sgd) and not optimizer.momentum else len(optimizer.state_vectors)
    remote = 1 - 1 / hosts
    return (1 - remote) * LOCAL + remote * REMOTE + STATE * kept


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def _count(shards: int) -> str:
    return f"{shards} shard" + "s" * (shards != 1)
