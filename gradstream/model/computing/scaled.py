"""A worker's problem in float16: backward runs at a scaled loss, and gradients are unscaled before they leave."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from torch import Tensor

from gradstream.errors import InvalidWorkload
from gradstream.input.data import Batches
from gradstream.input.prefetch import Prefetched
from gradstream.model.computing.precision import LossScale, loss_scale
from gradstream.model.flat_model import FlatModel
from gradstream.model.parts import Minibatch
from gradstream.model.problem import ModelProblem
from gradstream.model.usercode import UserCode
from gradstream.spec import JobSpec

if TYPE_CHECKING:
    from gradstream.model.rows.working_rows import WorkingRows


class ScaledProblem(ModelProblem):
    """A `ModelProblem` that `Overflows`. A server drops an overflowed gradient that is pushed as it is; where the worker
    descends, such a gradient is zero."""

    scale: LossScale

    def __init__(
        self,
        code: UserCode,
        flat: FlatModel,
        batches: Batches | Prefetched,
        spec: JobSpec,
        rows: WorkingRows | None,
        scale: LossScale,
    ) -> None:
        """Raises: InvalidWorkload."""
        if rows:
            raise InvalidWorkload(
                "precision: fp16 scales the loss, and rows of embedding tables would get scaled gradients; take bf16"
            )
        super().__init__(code, flat, batches, spec.at_once)
        self.scale = scale
        self.overflowed = False
        self._skips = spec.strategy.descends == "worker"

    def gather_into(self, out: Tensor, wait_for_push: Callable[[], None], send_ahead: Callable[[int], None] | None) -> None:
        super().gather_into(out, wait_for_push, None)  # until backward is over, gradients are scaled, and one may overflow

    def _step(self, taken: Minibatch, backward: Callable[[Tensor], None]) -> float:
        loss = super()._step(taken, self.scale.scaling(backward))
        self.overflowed = not self.scale.unscale(self._flat.trained)
        if self.overflowed and self._skips:
            for p in self._flat.trained:
                p.grad = None
        return loss

    def state(self) -> dict[str, Any]:
        return super().state() | {"loss_scale": self.scale.state()}

    def load(self, state: dict[str, Any]) -> None:
        super().load(state)
        if "loss_scale" in state:
            self.scale.load(state["loss_scale"])


def problem_of(
    code: UserCode, flat: FlatModel, batches: Batches | Prefetched, spec: JobSpec, rows: WorkingRows | None = None
) -> ModelProblem:
    """Return the problem of a worker of this job. Raises: InvalidWorkload."""
    if scale := loss_scale(spec):
        return ScaledProblem(code, flat, batches, spec, rows, scale)
    return ModelProblem(code, flat, batches, spec.at_once, rows)
