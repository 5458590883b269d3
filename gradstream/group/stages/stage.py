"""A stage: the blocks of a whole model that one process computes.

The user's `loss` runs unchanged in each process. A block before this stage gives what came from the process before; after this
stage's last block the call ends, and its output goes to the next process. So whatever the model computes before its blocks, such as
masks and embeddings, each process computes for itself, and the gradient that reaches it there is a part of the whole.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from numbers import Number
from typing import Any

from torch import Tensor, nn

from gradstream.data.source import each
from gradstream.errors import InvalidWorkload
from gradstream.group.stages.bounds import PLACE, stage_bounds
from gradstream.input import randomness


class _StageOver(BaseException):
    """The last block of this stage has given its output. No `except Exception` of user code stops it."""

    def __init__(self, output: Any) -> None:
        super().__init__()
        self.output = output


class Stage:
    def __init__(
        self,
        blocks: Sequence[nn.Module],
        number: int,
        count: int,
        filled: Callable[[nn.Module], AbstractContextManager[None]] = lambda block: nullcontext(),
    ) -> None:
        """Become stage `number` of `count`, from 0: this changes the blocks. `filled`: inside of it, a block of another stage can
        compute. Raises: InvalidWorkload: there are too few blocks."""
        bounds = stage_bounds([sum(p.numel() for p in block.parameters()) for block in blocks], count)
        self.first, self._end = bounds[number], bounds[number + 1]
        self.is_last = number == count - 1
        self._blocks = len(blocks)
        self._filled = filled
        self._received: Any = None
        self._runs = False
        self._seed: int | None = None
        self._next = 0
        """The block that is to be called next."""
        for index, block in enumerate(blocks):
            block.forward = self._in_place_of(index, block, block.forward)

    def run(self, compute: Callable[[], Tensor], received: Any, seed: int | None) -> Any:
        """Return what `compute`, which calls the model once, gives: the loss in the last stage, else the output of this stage.
        `received`: the output of the stage before. `seed`: for random numbers from this stage's first block on; None: they go
        on. Raises: InvalidWorkload; what `compute` raises."""
        self._received, self._seed, self._next, self._runs = received, seed, 0, True
        try:
            result: Any = compute()
            ended = self._blocks
        except _StageOver as over:
            result, ended = over.output, self._end
        finally:
            self._received, self._runs = None, False
        if self._next != ended or (ended < self._blocks) == self.is_last:
            raise InvalidWorkload(
                f"{PLACE}: loss() called {self._next} of {self._blocks} blocks of the model; it must call each once. Override "
                "blocks(model) in the workload, or remove stages"
            )
        return result

    def _in_place_of(self, index: int, block: nn.Module, forward: Callable[..., Any]) -> Callable[..., Any]:
        def staged(*args: Any, **kwargs: Any) -> Any:
            if not self._runs:
                with self._filled(block):
                    return forward(*args, **kwargs)
            if index != self._next:
                due = "its blocks had all been called" if self._next == self._blocks else f"block {self._next} was due"
                raise InvalidWorkload(
                    f"{PLACE}: the model called block {index} of 0 to {self._blocks - 1} where {due}; loss() must call the "
                    "model once, and the model each block once, in the order of blocks(model), which the workload may override; "
                    "else remove stages"
                )
            self._next += 1
            if index < self.first:
                return each(self._received, Tensor.clone)  # the model may change in place what a block gives
            if index == self.first and self._seed is not None:
                randomness.seed(self._seed)
            output = forward(*args, **kwargs)
            if index == self._end - 1 and not self.is_last:
                _check_output(output)
                raise _StageOver(output)
            return output

        return staged


def _check_output(output: Any) -> None:
    """Raises: InvalidWorkload: tensors may be hidden in it, whose gradients would be lost."""
    if isinstance(output, dict):
        output = list(output.values())
    if isinstance(output, list | tuple):
        for inner in output:
            _check_output(inner)
    elif not (output is None or isinstance(output, Tensor | Number | str)):
        raise InvalidWorkload(
            f"{PLACE}: a block gives a {type(output).__name__}, of which a stage cannot send the gradient; let blocks give "
            "tensors, alone or in tuples, lists and dicts, or override blocks(model)"
        )
