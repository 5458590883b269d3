"""The sentence about shared memory that is too small."""

from __future__ import annotations

from collections.abc import Mapping


def sentence(missing: Mapping[int, int], *, ended: bool = False) -> str:
    """Return the sentence, with its remedy. `missing`: bytes that each worker did not get, by rank. `ended`: the job is over."""
    ranks = sorted(missing)
    several = len(ranks) > 1
    who = f"Workers {', '.join(map(str, ranks[:-1]))} and {ranks[-1]}" if several else f"Worker {ranks[0]}"
    most, each = f"{max(missing.values()) / 1e6:,.1f} MB", " each" if several else ""
    go, give = ("went", "Before the next run, give") if ended else ("go", "Give")
    return (
        f"{who} could not allocate {most} of shared memory{each}, so vectors {go} through Redis, which takes several times as "
        f"long. {give} /dev/shm that much for each worker of the machine: GRADSTREAM_SHM_SIZE or shm_size with Docker Compose, "
        "--shm-size with docker run, a larger tmpfs elsewhere."
    )
