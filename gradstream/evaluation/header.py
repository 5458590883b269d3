"""The header of a model's file: the job that trained it, so that a file which is found later says where it comes from."""

from __future__ import annotations

import json

import gradstream
from gradstream.evaluation.judge import BestEvaluation
from gradstream.process.order import ProcessOrder
from gradstream.process.saving.model_files import ENTRY


def describe_model(order: ProcessOrder, best: BestEvaluation | None = None) -> dict[str, str]:
    """The metadata of a `.safetensors` file: one entry, since several would have no order of their own, and the same model has the
    same bytes. `best`: the evaluation that the model is of, if it is a job's best one."""
    about: dict[str, object] = {"version": gradstream.__version__, "job": str(order.job_id), "name": order.spec.name}
    about["strategy"] = order.spec.strategy.name
    if order.origin and order.origin.commit:
        about |= {"commit": order.origin.commit, "dirty": order.origin.dirty}
    if best:
        about["best"] = best.model_dump(mode="json")
    return {ENTRY: json.dumps(about)}
