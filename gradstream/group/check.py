"""The first mini-batch of a group that takes the model apart: it must compute the loss of the whole model."""

from __future__ import annotations

from typing import Any

from gradstream.errors import InvalidWorkload
from gradstream.group.mesh import PeerMesh
from gradstream.group.peers import Peers
from gradstream.group.requests import Check
from gradstream.group.stages import bounds
from gradstream.group.step import ProcessStep, near
from gradstream.group.tensor import plan
from gradstream.model.usercode import UserCode, blaming
from gradstream.process.exits import UserError

_ROUNDING = 1e-5
"""Difference that rounding alone makes, however small a loss is: it comes from larger numbers."""
_PLAN_REMEDY = "see that each colwise module leads to a rowwise one, and that no split goes through a head of attention"
_STAGES_REMEDY = "something goes around its blocks; override blocks(model) in the workload, or remove stages"
_BOTH_REMEDY = (
    "something goes around its blocks, or tensor_plan() splits what belongs together; override blocks(model) in the workload, or "
    "remove stages or tensor"
)


def check_together(process: ProcessStep, peers: Peers, mesh: PeerMesh, part: Any, code: UserCode) -> None:
    """Compare the loss of a part that the peers of the first pipeline compute together with that of the whole model. `process`: the
    lead's. Raises: UserError: they differ, or a part of the model fails."""
    whole = process.evaluate_whole(part, code)
    with blaming("loss()"):
        try:
            together = _evaluate_together(process, peers, mesh, part, code)
        except UserError as error:
            if isinstance(error.__cause__, InvalidWorkload):
                raise
            place, does, remedy = _explained(mesh)
            raise InvalidWorkload(
                f"{place}: the model fails when {does}, and not as a whole: {error.__cause__}; {remedy}"
            ) from error
        if near(together, whole) or abs(together - whole) < _ROUNDING:
            return
        if mesh.stages == 1:
            raise InvalidWorkload(
                f"{plan.PLACE}: the split model computes a loss of {together:.6g} where the whole one has {whole:.6g}; "
                + _PLAN_REMEDY
            )
        place, _, remedy = _explained(mesh)
        raise InvalidWorkload(
            f"{place}: the stages compute a loss of {together:.6g} where the whole model has {whole:.6g}: {remedy}"
        )


def _explained(mesh: PeerMesh) -> tuple[str, str, str]:
    """Return the key of the job file, what it does to the model, and a remedy."""
    if mesh.stages == 1:
        return plan.PLACE, "its modules are split", _PLAN_REMEDY
    return bounds.PLACE, "its blocks are shared out", _BOTH_REMEDY if mesh.tensor > 1 else _STAGES_REMEDY


def _evaluate_together(process: ProcessStep, peers: Peers, mesh: PeerMesh, part: Any, code: UserCode) -> float:
    others = range(1, mesh.stages * mesh.tensor)
    for number in others:
        peers.ask(number, Check(part))
    own = process.evaluate_once(part, code)
    answers = [peers.answer(number) for number in others]
    return float(answers[-1] if mesh.stages > 1 else own)
