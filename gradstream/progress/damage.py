"""The sentences about damaged vectors and messages of the data plane."""

from __future__ import annotations


def sentence(label: str) -> str:
    """The first time for a process. `label`: `worker-0`, `server-1`."""
    return (
        f"{label} received a corrupt or incomplete message; it was discarded and resent, no update was affected. The metric "
        "plane/retransmissions counts them. If it keeps growing, check memory and network of this machine and of Redis, and "
        "whether another program writes to the data plane's Redis."
    )
