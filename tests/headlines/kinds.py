"""Small jobs of many kinds, whose headline numbers are recomputed."""

from __future__ import annotations

from typing import Any


def kind(name: str, strategy: dict[str, Any], workers: int = 2, servers: int = 1, **fields: Any) -> dict[str, Any]:
    roles = {"worker": {"count": workers, "device": "cpu"}, "server": {"count": servers}}
    return {"name": name, "strategy": {"lr": 0.02, **strategy}, "roles": roles, "stop": {"epochs": 6}, **fields}


FEW: tuple[dict[str, Any], ...] = (
    kind("slow-worker", {"name": "async"}, args={"straggler": "{folder}", "lag": 0.05}),
    kind("sync", {"name": "sync"}, servers=2),
    kind("adag", {"name": "adag", "window": 3}, batch_size=24),
    kind("easgd", {"name": "easgd", "window": 4}),
    kind("nan-dropped", {"name": "async"}, on_nan="drop", args={"breaks": "nan", "after": 5}),
    kind("nan-failed", {"name": "async"}, args={"breaks": "nan", "after": 5}),
)

_MORE: tuple[dict[str, Any], ...] = (
    kind("single", {"name": "single"}, workers=1),
    kind("one-sync", {"name": "sync"}, workers=1),
    kind("ssp", {"name": "async"}, gate={"ssp": 1}),
    kind("too-stale", {"name": "async"}, workers=3, gate={"mode": "asp", "max_staleness": 1}),
    kind("quorum", {"name": "sync"}, workers=3, gate={"mode": "bsp", "quorum": 2}),
    kind("adag-bsp", {"name": "adag", "window": 3}, gate="bsp"),
    kind("dc-asgd", {"name": "dc_asgd"}),
    kind("downpour", {"name": "downpour", "n_push": 2, "n_fetch": 3}),
    kind("dynsgd", {"name": "dynsgd", "window": 3}),
    kind("distance", {"name": "distance", "window": 3}),
    kind("eamsgd", {"name": "eamsgd", "window": 4}),
    kind("geo", {"name": "geo", "window": 4}),
    kind("local-sgd", {"name": "local_sgd", "window": 4}),
    kind("fedavg", {"name": "fedavg"}),
    kind("fedprox", {"name": "fedprox"}),
    kind("diloco", {"name": "diloco", "window": 4}),
    kind("delayed-diloco", {"name": "delayed_diloco", "window": 4}),
    kind("int8", {"name": "async"}, codec={"name": "int8"}),
    kind("topk", {"name": "sync"}, codec={"name": "topk"}),
    kind("three-servers", {"name": "async"}, servers=3),
    kind("warm-start", {"name": "async"}, gate={"mode": "asp", "warm_start": 256}),
    kind("pipelined", {"name": "async"}, pipeline=1),
    kind("three-workers", {"name": "sync"}, workers=3),
    kind("small-batch", {"name": "async"}, batch_size=7),
)


def kinds(count: int) -> list[dict[str, Any]]:
    """The first so many; they begin again after the last."""
    known = [*FEW, *_MORE]
    return [{**known[number % len(known)], "name": f"{known[number % len(known)]['name']}-{number}"} for number in range(count)]
