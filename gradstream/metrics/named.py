"""Metrics of an evaluation that a job file names in `evaluate.metrics`, so that the workload needs no code for them."""

from __future__ import annotations

import difflib
import re

from gradstream.metrics.definition import CATALOGUE, Better

NAMED = ("accuracy", "top-5", "precision", "recall", "f1", "average_precision", "auc", "mse", "mae", "perplexity")
"""All names. Any other number may stand in the place of 5."""
_TOP = re.compile(r"top[-_]([1-9][0-9]{0,3})")


def metric_key(name: str) -> str:
    """Return the key of a named metric: `f1`, or `top_5` of `top-5`. Raises: ValueError: there is no such metric."""
    if name in NAMED and not name.startswith("top"):
        return name
    if found := _TOP.fullmatch(name):
        return f"top_{found[1]}"
    close = difflib.get_close_matches(name.lower(), NAMED, 1, 0.5)
    hint = f"did you mean '{close[0]}'? There are" if close else "there are"
    raise ValueError(f"there is no metric '{name[:40]}'; {hint}: {', '.join(NAMED)}, where 5 may be another number")


def top_count(key: str) -> int | None:
    """Return k of `top_k`; None: it is another metric."""
    found = _TOP.fullmatch(key)
    return int(found[1]) if found else None


def better_side(metric: str) -> Better:
    """Return which values of a metric are better, as far as its name tells."""
    if metric in CATALOGUE:
        return CATALOGUE[metric].better
    return "higher" if top_count(metric.removeprefix("eval/")) else "neither"
