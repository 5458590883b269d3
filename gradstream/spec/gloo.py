"""Limits of jobs without servers whose workers combine pushes by gloo, perhaps across machines."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gradstream.spec.job import JobSpec


def gloo_obstacle(spec: JobSpec) -> str | None:
    """Return what keeps the workers from combining pushes by gloo, and how to lift it; None: nothing. The gate is bsp without
    quorum."""
    if not spec.strategy.applies_mean:
        name = spec.strategy.name
        return f"gloo brings each worker the mean of the pushes only, and '{name}' needs each of them; take another strategy"
    if spec.codec.lossy or spec.pull_codec.lossy:
        return "gloo adds whole vectors, so a codec would round them and save no traffic; remove codec and pull_codec"
    if spec.network == "platform":
        return "gloo connects the workers, which network: platform keeps apart; set network: internet"
    return None
