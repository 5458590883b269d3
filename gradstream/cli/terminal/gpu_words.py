"""The GPUs of a process in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence


def gpu_words(gpus: Sequence[int], share: int) -> str:
    """`GPU 0`, `GPUs 0, 1`, `1/2 of GPU 0`; empty: it computes on the CPU. `share`: k, if each process has 1/k of its GPU."""
    counts = Counter(gpus)
    if not counts:
        return ""
    if all(count == share for count in counts.values()):
        return f"GPU{'s' * (len(counts) > 1)} {', '.join(map(str, counts))}"
    return ", ".join(f"{_part(count, share)}GPU {gpu}" for gpu, count in counts.items())


def _part(count: int, share: int) -> str:
    return "" if count == share else f"{count}/{share} of "
