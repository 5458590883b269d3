"""The kinds of groups, by the axis along which their peers differ."""

from __future__ import annotations

from gradstream.group.fsdp import FsdpProblem
from gradstream.group.problem import GroupProblem
from gradstream.group.stages.fsdp import StagesFsdpProblem
from gradstream.group.stages.problem import StagesProblem
from gradstream.group.stages.tensor import StagesTensorProblem
from gradstream.group.tensor.fsdp import TensorFsdpProblem
from gradstream.group.tensor.problem import TensorProblem
from gradstream.spec import JobSpec


def kind_of_group(spec: JobSpec) -> type[GroupProblem]:
    """Return the problem of a worker that is such a group."""
    group = spec.roles.worker.group
    if group.stages > 1:
        if group.tensor > 1:
            return StagesTensorProblem
        return StagesFsdpProblem if group.fsdp > 1 else StagesProblem
    if group.tensor > 1:
        return TensorFsdpProblem if group.fsdp > 1 else TensorProblem
    return FsdpProblem if group.fsdp > 1 else GroupProblem
