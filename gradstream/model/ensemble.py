"""`members: n` of a job: n models that train on the same mini-batches and are evaluated together.

    model    = [model() seeded by seed, seed + 1, ...]      one long vector for strategies, codecs and checkpoints
    tables   = members.<i>.<name>                           rows of their own for each member
    training = each member's own mean loss                  so its gradient is the one that it would have alone
    scoring  = combine(outputs of the members)              Workload.combine, by default their mean

Keys of the stored model are `members.<i>.<key>`. With one member all of this is the plain model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor, nn

from gradstream.errors import InvalidWorkload
from gradstream.input import randomness
from gradstream.model.parts import MicroBatch
from gradstream.model.tables import separate_tables
from gradstream.spec import JobSpec
from gradstream.workload import Workload


class Ensemble(nn.Module):
    """Takes the arguments of a member and returns the result of `combine` for all members' outputs."""

    def __init__(self, members: Sequence[nn.Module], combine: Callable[[list[Any]], Any]) -> None:
        super().__init__()
        self.members = nn.ModuleList(members)
        self._combine = combine

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self._combine([member(*args, **kwargs) for member in self.members])


def build(workload: Workload, spec: JobSpec) -> nn.Module:
    """Return the workload's model; with several members, an `Ensemble` whose member i is the model of the seed `spec.seed` + i.

    Raises: InvalidWorkload; whatever `model()` raises."""
    members = []
    for number in range(spec.members):
        with randomness.seeded(spec.seed + number):
            model = workload.model()
        if not isinstance(model, nn.Module):
            raise InvalidWorkload(f"model() must return an nn.Module, not a {type(model).__name__}")
        _check_values(model)
        members.append(model)
    if spec.members == 1:
        return members[0]
    _share_nothing(members)
    separate_tables(members)
    return Ensemble(members, workload.combine)


def _check_values(model: nn.Module) -> None:
    """Raises: InvalidWorkload: a tensor of the model has no values."""
    for name, tensor in (*model.named_parameters(), *model.named_buffers()):
        if tensor.is_meta:
            raise InvalidWorkload(
                f"model() leaves {name} on the meta device, where it has no values; build the model on the CPU, and give files of "
                "its values by weights(), which reads one tensor at a time"
            )


def _share_nothing(members: Sequence[nn.Module]) -> None:
    seen: set[int] = set()
    for member in members:
        trained = {id(parameter) for parameter in member.parameters() if parameter.requires_grad}
        if seen & trained:
            raise InvalidWorkload("two calls of model() returned the same parameters; with 'members', each call must make new ones")
        seen |= trained


def members(model: nn.Module) -> list[nn.Module]:
    """Return the members of an ensemble; any other model is its only member."""
    return list(model.members) if isinstance(model, Ensemble) else [model]


def train_step(
    model: nn.Module, batch: Sequence[MicroBatch], loss: Callable[[nn.Module, Any], Tensor], backward: Callable[[Tensor], None]
) -> float:
    """Leave in each member the gradient of its own loss over all parts of the batch. Returns the mean of the members' losses."""
    losses = []
    for member in members(model):
        total = 0.0
        for part, share in batch:
            value = loss(member, part)
            backward(value if share == 1.0 else share * value)
            total += share * value.item()
        losses.append(total)
    return sum(losses) / len(losses)
