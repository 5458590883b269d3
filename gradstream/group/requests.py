"""Requests of the lead of a group to its peers, and the answer to one that makes them compute."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from torch import Tensor

from gradstream.input.data import EvaluationBatch
from gradstream.model.parts import MicroBatch
from gradstream.optim.parameters import ParameterShape
from gradstream.optim.spec import Optimizer
from gradstream.user_logging.media import Pending
from gradstream.user_logging.scalars import Taken

if TYPE_CHECKING:
    from gradstream.group.rows.part_rows import PartGradients


class Train(NamedTuple):
    """Compute the gradient of these parts of a mini-batch."""

    position: int
    epoch: int
    """Number of the pass over the data."""
    shares: list[MicroBatch]
    scale: float | None
    """Factor on the loss in float16; None: another precision."""
    parts: int
    """Parts of the mini-batch in the replicate of this peer."""
    all_compute: bool
    """Each process of this machine has some parts."""
    examples: int
    """Examples of the mini-batch; 0 on another machine than the lead's."""
    rows: int = 0
    """`HeldRows.generation` of the lead."""


class Check(NamedTuple):
    """Return the loss of a part, computed together without training. With stages, the last one has it, and the others 0."""

    part: Any


class TrainOnMachine(NamedTuple):
    """Train these parts of a mini-batch with all processes of another machine. Theta follows the request, and the sum of their
    gradients follows the answer, a `Trained`: both as they are, so that they arrive where they stay."""

    position: int
    epoch: int
    shares: list[MicroBatch]
    scale: float | None


class TakeBuffers(NamedTuple):
    """Return the model's buffers. Another machine: a list, of its processes along all axes but tensor."""


class LoadBuffers(NamedTuple):
    floats: Tensor
    ints: Tensor


class TakeState(NamedTuple):
    """Return the state for a checkpoint. Another machine: a list, as for buffers."""


class LoadState(NamedTuple):
    state: dict[str, Any]


class LoadStates(NamedTuple):
    """As another machine has returned them, or fewer."""

    states: list[dict[str, Any]]


class TakeUse(NamedTuple):
    """Return the `PeerUse` since the last such request. Another machine: a list, of its processes."""


class MakeOptimizer(NamedTuple):
    """MakeStep this part of theta from now on."""

    rule: Optimizer
    lr: float
    part: slice
    parameters: tuple[ParameterShape, ...]
    """Those that lie in the part; empty: the rule works element by element."""


class MakeStep(NamedTuple):
    """Make a step of the optimizer on one's part of theta."""

    factor: float
    """On the learning rate."""
    share: float
    """Factor on the direction, which clips it; 1: it is short enough."""
    along_gradient: bool
    """Along the group's gradient; else along its other shared vector."""


class CallOptimizer(NamedTuple):
    """Call a method of one's optimizer, and return what it does."""

    method: Literal["reset", "vectors", "set_vectors", "state", "load"]
    arguments: tuple[Any, ...] = ()


class EndMachine(NamedTuple):
    """End, as the lead has trained to its end, or ends. Only for the processes of another machine."""


class BeginScoring(NamedTuple):
    """Begin an evaluation of theta as it is now. This and the next two are for the processes of an evaluator."""

    buffers: tuple[Tensor, Tensor] | None
    """Floats and integers; None: as they were."""


class ScoreBatch(NamedTuple):
    """Return the scores of a mini-batch: packed, a `ScoredBatch`."""

    one: EvaluationBatch


class EndScoring(NamedTuple):
    """Check that user code has changed no parameter."""


PeerRequest = Train | Check | TakeBuffers | LoadBuffers | TakeState | LoadState | TakeUse | MakeOptimizer | MakeStep | CallOptimizer
MachineRequest = TrainOnMachine | TakeBuffers | LoadBuffers | TakeState | LoadStates | TakeUse | EndMachine
ScoringRequest = BeginScoring | ScoreBatch | EndScoring
Request = PeerRequest | MachineRequest | ScoringRequest


class PeerUse(NamedTuple):
    """The use that a process of a group has made of its time and its machine."""

    computed: float
    """Seconds for which it computed gradients since it was last asked; it did not wait for other peers then."""
    cpu: float
    """Seconds of processor time since it began."""
    memory: int
    """Bytes that it has for itself: see `PrivateMemory`."""
    gpu_memory: int = 0
    """Bytes of its GPU, at most so far; 0: it computes on the CPU."""


class Left(NamedTuple):
    """The gradient that a process has left in memory that the lead sees."""

    reached: Collection[int]
    """The parameters, by index, whose places have a gradient of it."""
    late: Mapping[int, Tensor] = {}
    """Gradients of parameters, by index, that came after their bucket had been added."""


class Trained(NamedTuple):
    loss: float
    """The sum of the parts' losses, each times its share."""
    observed: str
    """Packed observations; empty: none."""
    logged: dict[str, Taken]
    """The values that the workload has logged, as `LoggedScalars.take_weighted` gives them."""
    left: Left = Left(())
    media: Sequence[Pending] = ()
    """The images, tables and others that the workload has logged."""
    rows: Sequence[PartGradients] = ()
    """The gradients of rows of embedding tables, of each part that this peer has computed."""
