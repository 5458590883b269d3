"""The sentences about workers that all others wait for, in a job without servers."""

from __future__ import annotations

from collections.abc import Mapping


def sentence(rank: int, seconds: float, *, ended: bool = False) -> str:
    """Return the sentence, with its remedy. `seconds`: for which the others have waited, as far as that is known. `ended`: the
    job is over."""
    if ended:
        return (
            f"All others waited for worker-{rank} for more than {seconds:.0f} s. Its log may say where its process hung. Before "
            "the next run, look at loss() and dataset(), or at its machine."
        )
    return (
        f"All others wait for worker-{rank}, for more than {seconds:.0f} s. Its mini-batch takes long, or its process hangs or is "
        "stopped: look at its log and its machine. Restart it to begin a new attempt from the last checkpoint."
    )


def resolutions(awaited: Mapping[int, float]) -> dict[int, str]:
    """Return the sentence that says the alert is over, for each worker that has one. `awaited`: the seconds, by rank; 0: over."""
    return {rank: f"worker-{rank} goes on, and the others with it." for rank, seconds in awaited.items() if seconds}
