"""Pipeline parallelism: micro-batches go through the stages of a group, forward and backward, several at the same time.

    stage k of p    p - 1 - k forwards, then one forward and one backward in turn, then the backwards that are left      (1F1B)

Each stage runs the backwards in the order of the micro-batches. So a group has the bits of one process that computes them one
after the other. With m micro-batches, a stage idles for (p - 1) / (m + p - 1) of the time.

Source: Narayanan et al. 2019, "PipeDream: Generalized pipeline parallelism for DNN training" (1F1B); Huang et al. 2019, "GPipe".
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from gradstream.data.source import each
from gradstream.group.neighbour_pipe import NeighbourPipe
from gradstream.group.stages.stage import Stage
from gradstream.input import randomness
from gradstream.input.data import to_device
from gradstream.model.parts import MicroBatch
from gradstream.model.usercode import blaming
from gradstream.process.begin import seed_of


class PipelineStage:
    """The work of one process of the group on mini-batches."""

    def __init__(
        self,
        stage: Stage,
        number: int,
        count: int,
        before: NeighbourPipe | None,
        after: NeighbourPipe | None,
        seed: int,
        device: torch.device,
    ) -> None:
        """`seed`: the same in all stages, see `drawing`. `device`: of this one, to which what it receives is copied."""
        self._stage, self._number, self._count, self._device = stage, number, count, device
        self._before, self._after, self._seed = before, after, seed
        self.position = 0
        """The number of the mini-batch."""
        self.adding: Callable[[int], AbstractContextManager[None]] = lambda number: nullcontext()
        """Inside of it, the backward of a micro-batch runs; by its number here."""

    def train_step(
        self,
        model: nn.Module,
        batch: Sequence[MicroBatch],
        loss: Callable[[nn.Module, Any], Tensor],
        backward: Callable[[Tensor], None],
    ) -> float:
        """Leave in this stage's parameters the gradient over all parts of the batch. Returns the loss in the last stage, else 0."""
        kept = deque[tuple[Any, Any]]()
        total = 0.0
        for number, goes_forward in one_forward_one_backward(self._number, self._count, len(batch)):
            part, share = batch[number]
            if goes_forward:
                kept.append(self._forward(number, partial(loss, model, part)))
                continue
            received, output = kept.popleft()
            with self.adding(number):
                if self._after:
                    _backward(output, to_device(self._after.receive(), self._device))
                else:
                    backward(output if share == 1.0 else share * output)
                    total += share * output.item()
                self._send_gradients(received)
        return total

    def close(self) -> None:
        """End the threads of its pipes."""
        for pipe in (self._before, self._after):
            if pipe:
                pipe.close()

    def evaluate_once(self, model: nn.Module, part: Any, loss: Callable[[nn.Module, Any], Tensor]) -> float:
        """Return the loss of a part in the last stage, else 0; nothing is trained."""
        with torch.no_grad():
            _, value = self._forward(0, partial(loss, model, part), draws=False)
        return 0.0 if self._after else float(value)

    @contextmanager
    def drawing(self, number: int) -> Iterator[int]:
        """Inside, draw the random numbers of this micro-batch: the same ones in all stages, until a stage comes to its first block.
        Gives a seed for that one's own."""
        with randomness.seeded(seed_of(self._seed, f"mini-batch {self.position}", number), gpus=False):
            yield seed_of(self._seed, f"mini-batch {self.position} in stage {self._number}", number)

    def _forward(self, number: int, compute: Callable[[], Tensor], *, draws: bool = True) -> tuple[Any, Any]:
        """`draws`: the blocks may draw random numbers, so each stage has its own."""
        received = to_device(self._before.receive(), self._device) if self._before else None
        for tensor in _floats(received):
            tensor.requires_grad_()
        with self.drawing(number) as own_seed, blaming("loss()"):
            output = self._stage.run(compute, received, own_seed if draws else None)
        if self._after:
            self._after.send(each(output, Tensor.detach))
        return received, output

    def _send_gradients(self, received: Any) -> None:
        if self._before:
            self._before.send([torch.zeros_like(x) if x.grad is None else x.grad for x in _floats(received)])


def one_forward_one_backward(stage: int, stages: int, micro_batches: int) -> Iterator[tuple[int, bool]]:
    """Yield what a stage does in turn: the number of a micro-batch, and True for its forward, False for its backward."""
    ahead = min(micro_batches, stages - 1 - stage)
    yield from ((number, True) for number in range(ahead))
    for number in range(ahead, micro_batches):
        yield number, True
        yield number - ahead, False
    yield from ((number, False) for number in range(micro_batches - ahead, micro_batches))


def _backward(output: Any, gradients: list[Tensor]) -> None:
    """`gradients`: of the tensors in the output of a stage, from the next one. Raises: UserError."""
    pairs = [(o, g) for o, g in zip(_floats(output), gradients, strict=True) if o.requires_grad]
    if pairs:
        with blaming("backward of loss()"):
            torch.autograd.backward([o for o, _ in pairs], [g for _, g in pairs])


def _floats(nest: Any) -> list[Tensor]:
    """Return the tensors in a nest that a gradient can reach, in order."""
    found: list[Tensor] = []
    each(nest, lambda tensor: found.append(tensor) if tensor.is_floating_point() else None)
    return found
