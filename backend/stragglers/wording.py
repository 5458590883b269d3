"""Durations and counts in sentences, with two digits that mean something. Pure."""

from __future__ import annotations

_PAST = {
    "is": "was",
    "are": "were",
    "has": "had",
    "computes": "computed",
    "runs": "ran",
    "share": "shared",
    "shares": "shared",
    "takes": "took",
    "waits": "waited",
}


def verb(word: str, *, past: bool) -> str:
    """Return the verb as it is, or in the past."""
    return _PAST[word] if past else word


def seconds(value: float) -> str:
    """Write the duration of a part of a mini-batch: 0.35 s, 12 ms."""
    if value < 0.0005:
        return "0 ms" if value < 5e-7 else f"{value * 1e3:.1g} ms"
    if value < 0.0995:
        return f"{float(f'{value * 1e3:.2g}'):g} ms"
    return f"{float(f'{value:.2g}'):g} s" if value < 99.5 else duration(value)


def duration(value: float) -> str:
    """Write the duration of a training: 45 s, 12 min, 3.5 h."""
    if value < 99.5:
        return f"{float(f'{value:.2g}'):g} s"
    if value < 99.5 * 60:
        return f"{value / 60:.2g} min"
    return f"{value / 3600:.2g} h" if value < 99.5 * 3600 else f"{value / 86400:.2g} days"


def count(value: float) -> str:
    """Write a large number: 960, 33,000, 1.2 million."""
    rounded = float(f"{value:.2g}")
    return f"{rounded / 1e6:g} million" if rounded >= 1e6 else f"{rounded:,.0f}"


def workers(ranks: list[int]) -> str:
    """Name workers: worker-1, worker-2 and worker-5."""
    names = [f"worker-{rank}" for rank in ranks]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
