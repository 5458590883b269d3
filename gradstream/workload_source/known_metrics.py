"""Metrics that a job file names and a workload cannot give: those beside the default `evaluate`, whose names are known."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator

from gradstream.errors import Mistake
from gradstream.spec import JobSpec
from gradstream.spec.stopping import ACCURACY, LOSS
from gradstream.workload_source.annotations import read_value
from gradstream.workload_source.classes import StaticWorkload, defines, value_of

_DECIDE = {"evaluate", "summarize", "classifies"}
"""Attributes of a workload that decide which metrics there are."""


def unknown_metrics(found: StaticWorkload, spec: JobSpec) -> Iterator[Mistake]:
    """Yield the metrics of `stop.target` and `best` that the default `evaluate` does not give."""
    wanted = {"/stop/target": spec.stop.target, "/best": spec.best}
    metrics = _metrics(found)
    if metrics is None:
        return
    if spec.members > 1:
        metrics += [f"eval/members_{metric.removeprefix('eval/')}" for metric in metrics]
    for pointer, part in wanted.items():
        if part and part.metric not in metrics:
            close = difflib.get_close_matches(part.metric, metrics, 1, 0.8)
            hint = f"; did you mean {close[0]}?" if close else "."
            name = found.definition.node.name
            yield Mistake(
                f"{pointer}/metric",
                f"{name} has the default evaluate(), which gives no {part.metric}{hint} It gives {', '.join(metrics)}"
                f"{'' if ACCURACY in metrics else ', as classifies is False'}; override evaluate() for other metrics",
            )


def _metrics(found: StaticWorkload) -> list[str] | None:
    """Return the metrics of the default `evaluate`; None: the workload has its own, or the text does not say."""
    if any(defines(found, name) for name in ("evaluate", "summarize")) or _is_set_later(found):
        return None
    if not defines(found, "classifies"):
        return [LOSS, ACCURACY]
    value = value_of(found, "classifies")
    return None if value is None else [LOSS] if read_value(value) is False else [LOSS, ACCURACY]


def _is_set_later(found: StaticWorkload) -> bool:
    """A method assigns one of them, as in `self.classifies = False`."""
    return any(
        isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store) and each.attr in _DECIDE
        for owner in found.ancestry
        for each in ast.walk(owner.node)
    )
