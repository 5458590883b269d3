"""The systems by name: which file runs each, with what, where.

Rates: those of `work.ITEMS`; twice that where the gradients of two workers are averaged, and for adag, which pushes means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class System:
    file: str
    """A module of this folder with `main(told)`."""
    options: Mapping[str, Any] = field(default_factory=dict)
    counters: int = 2
    """Processes that count steps; with all of them under way, training has begun."""
    environment: str | None = None
    """One of `environments.ENVIRONMENTS`; None: the project's own."""

    @property
    def ours(self) -> bool:
        return self.file == "ours"


def _ours(
    strategy: str,
    *,
    rate: int = 1,
    counters: int = 2,
    shared_memory: bool = True,
    servers: int = 1,
    peers: int = 1,
    **job: Any,
) -> System:
    """`strategy`: its name, and its window if it has one. `rate`: times that of the item. `counters`: 1: one worker. `peers`:
    processes of a worker, each of which computes as many examples in a step as the item says. `job`: other keys of the job file."""
    name, *window = strategy.split()
    fields = {"name": name} | ({"window": int(window[0])} if window else {})
    how = {"counters": counters, "shared_memory": shared_memory, "servers": servers, "peers": peers}
    return System("ours", {"strategy": fields, "rate": rate, **how, "job": job}, counters)


_BF16: dict[str, Any] = {"codec": {"name": "bf16"}, "pull_codec": {"name": "bf16"}, "shared_memory": False}

SYSTEMS: dict[str, System] = {
    "single": System("single", counters=1),
    "ddp": System("ddp"),
    "hogwild": System("hogwild"),
    "rpc": System("rpc"),
    "rpc-batch": System("rpc", {"batch": True}),
    "ray": System("ray_server", environment="ray"),
    "ray-sync": System("ray_server", {"sync": True}, environment="ray"),
    "tf": System("tensorflow_server", counters=1, environment="tensorflow"),
    "gradstream-async": _ours("async", pipeline=1),
    "gradstream-async-p0": _ours("async"),
    "gradstream-sync": _ours("sync", rate=2),
    "gradstream-serverless": _ours("sync", rate=2, servers=0),
    "gradstream-adag12": _ours("adag 12", rate=2),
    "gradstream-adag12-threads": _ours("adag 12", rate=2, roles={"worker": {"count": 1, "hogwild": 2, "device": "cpu"}}),
    "gradstream-diloco-group": _ours("diloco 12", rate=2, peers=2),
    "gradstream-easgd": _ours("easgd 10"),
    "gradstream-async-bf16": _ours("async", pipeline=1, **_BF16),
    "gradstream-async-bf16-p0": _ours("async", **_BF16),
    "gradstream-single": _ours("single", counters=1),
    "gradstream-adag12-alone": _ours("adag 12", counters=1),
    "gradstream-adag12-alone-bf16": _ours("adag 12", counters=1, precision="bf16"),
    "gradstream-adag12-alone-compiled": _ours("adag 12", counters=1, compile=True),
    "single-bf16": System("single", {"precision": "bf16"}, counters=1),
    "single-compiled": System("single", {"compile": True}, counters=1),
}
EXTRA = ("gradstream-async-bf16-p0", *list(SYSTEMS)[list(SYSTEMS).index("gradstream-single") :])
"""Only if they are named, as by `benchmarks.gpu`. What `gradstream-single` costs beside `single` is the platform without an
exchange worth mentioning."""
DEFAULT = [name for name in SYSTEMS if name not in EXTRA]
