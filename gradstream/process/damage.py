"""What people are told when something came damaged over the gradient plane."""

from __future__ import annotations


def sentence(label: str) -> str:
    """The first time for a process. `label`: `worker-0`, `server-1`."""
    return (
        f"{label} was sent a vector or a letter that was damaged, or of which a part was missing. It was refused and asked for "
        "again, so nothing of it counted; the metric plane/asked_again counts how often that happens. If it goes on, look at the "
        "memory and the network of its machine and of Redis, and for what else writes to the plane's Redis."
    )
