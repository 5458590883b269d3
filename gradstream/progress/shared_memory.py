"""The sentence about shared memory that is too small."""

from __future__ import annotations

from collections.abc import Mapping


def sentence(missing: Mapping[int, int]) -> str:
    """Return the sentence, with its remedy. `missing`: bytes that each worker did not get, by rank."""
    ranks = sorted(missing)
    several = len(ranks) > 1
    who = f"Workers {', '.join(map(str, ranks[:-1]))} and {ranks[-1]}" if several else f"Worker {ranks[0]}"
    most, each = f"{max(missing.values()) / 1e6:,.1f} MB", " each" if several else ""
    return (
        f"{who} could not allocate {most} of shared memory{each}, so vectors go through Redis, which takes several times as long. "
        "Give /dev/shm that much for each worker of the machine: GRADSTREAM_SHM_SIZE or shm_size with Docker Compose, "
        "--shm-size with docker run, a larger tmpfs elsewhere."
    )
