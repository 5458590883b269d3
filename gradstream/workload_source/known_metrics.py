"""Metrics that a job file names and a workload cannot give: those beside the default `evaluate`, whose names are known."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator

from gradstream import metrics as catalogue
from gradstream.errors import Mistake
from gradstream.metrics.named import NAMED, metric_key, top_count
from gradstream.spec import JobSpec
from gradstream.spec.stopping import ACCURACY, LOSS
from gradstream.workload_source.annotations import read_value
from gradstream.workload_source.classes import StaticWorkload, defines, value_of

_OBSERVED = [metric.name for metric in catalogue.EVALUATED.values()]
_BY_NAME = ", or name it in evaluate.metrics"
_HOW = ", or call self.observe(logits, labels) in loss()"
_DECIDE = {"evaluate", "summarize", "classifies"}
"""Attributes of a workload that decide which metrics there are."""


def unknown_metrics(found: StaticWorkload, spec: JobSpec) -> Iterator[Mistake]:
    """Yield the metrics of `stop.target` and `best` that the default `evaluate` does not give."""
    wanted = {"/stop/target": spec.stop.target, "/best": spec.best}
    metrics = _metrics(found)
    if metrics is None:
        return
    metrics += [name for name in (f"eval/{metric_key(each)}" for each in spec.evaluate.metrics) if name not in metrics]
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
                f"{'' if ACCURACY in metrics else ', as classifies is False'}; override evaluate() for other metrics"
                f"{_BY_NAME if _has_name(part.metric) else ''}{_HOW if part.metric in _OBSERVED else ''}",
            )


def _has_name(metric: str) -> bool:
    key = metric.removeprefix("eval/")
    return key in NAMED or top_count(key) is not None


def _metrics(found: StaticWorkload) -> list[str] | None:
    """Return the metrics of the default `evaluate`; None: the workload has its own, or the text does not say."""
    if found.is_adapter or any(defines(found, name) for name in ("evaluate", "summarize")) or _is_set_later(found):
        return None
    value = value_of(found, "classifies") if defines(found, "classifies") else None
    if value is None and defines(found, "classifies"):
        return None
    classifies = value is None or read_value(value) is not False
    observed = _OBSERVED if _observes(found) else []
    return list(dict.fromkeys([LOSS, *([ACCURACY] if classifies else []), *observed]))


def _observes(found: StaticWorkload) -> bool:
    """A method names `observe`."""
    return any(
        isinstance(each, ast.Attribute) and each.attr == "observe" for owner in found.ancestry for each in ast.walk(owner.node)
    )


def _is_set_later(found: StaticWorkload) -> bool:
    """A method assigns one of them, as in `self.classifies = False`."""
    return any(
        isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store) and each.attr in _DECIDE
        for owner in found.ancestry
        for each in ast.walk(owner.node)
    )
