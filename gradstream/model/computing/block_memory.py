"""The parameters of a model's blocks on a device, in memory that a block has only while it computes.

    forward of block b     fill b; free all but b and b + 1; begin to fill b + 1
    backward of block b    fill b; free all but b and b - 1; begin to fill b - 1

So two blocks have memory at most. Backward of a block begins when a gradient reaches one of its outputs. Autograd refers to the
memory of a parameter, which is freed and filled again, and stays the same object. Parameters that stand outside of the blocks, or
in several of them, are not here.

Source: Zhao et al. 2023, "PyTorch FSDP: Experiences on Scaling Fully Sharded Data Parallel" (units are gathered before they compute
and freed after, the next one ahead of time).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from numbers import Number
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from gradstream.errors import InvalidWorkload
from gradstream.model.computing.host_values import HostValues, empty_like_part, hollow
from gradstream.model.computing.outside_use import PLACE, OutsideOfBlocks


class BlockMemory:
    """Call a block's forward as ever: it fills itself."""

    def __init__(self, rows: Sequence[Sequence[nn.Module]], model: nn.Module, host: HostValues, device: torch.device) -> None:
        """This changes the blocks. `rows`: the blocks of each member of the model, in the order of their calls."""
        self._device = device
        self._stream = torch.cuda.Stream(device) if device.type == "cuda" else None  # type: ignore[no-untyped-call]
        self._filled = list[_BlockParameters]()
        self._shown: _BlockParameters | None = None
        """The block that computes, forward or backward."""
        own = parameters_of_blocks(model, [block for row in rows for block in row])
        self._of_parameter = dict[int, _BlockParameters]()
        """By the parameter's id."""
        for row in rows:
            before: _BlockParameters | None = None
            for block in dict.fromkeys(row):
                if parameters := own[block]:
                    before = self._take(block, _BlockParameters(parameters, host, device), before)

    def _take(self, module: nn.Module, block: _BlockParameters, before: _BlockParameters | None) -> _BlockParameters:
        self._of_parameter |= {id(p): block for p in block.parameters}
        if before:
            block.before, before.after = before, block
        module.forward = partial(self._compute, block, module.forward)
        return block

    def holds(self, p: nn.Parameter) -> bool:
        """Return whether the parameter has memory only while its block computes."""
        return id(p) in self._of_parameter

    def free(self) -> None:
        """Free all blocks."""
        self._show(None)
        self._keep()

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Inside, a parameter that is used outside of its block is refused: it has no values there."""
        self._show(None)
        with OutsideOfBlocks(lambda used: self._of_parameter.get(id(used), self._shown) is not self._shown):
            yield

    @contextmanager
    def at_rest(self) -> Iterator[None]:
        """Inside, blocks that do not compute have their values in the host's memory."""
        blocks = set(self._of_parameter.values())
        for block in blocks:
            block.rest_on_host()
        try:
            yield
        finally:
            self.free()
            for block in blocks:
                block.rest_hollow()

    def _compute(self, block: _BlockParameters, forward: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Return what the block's forward gives. A checkpoint may call it in backward, too."""
        before = self._shown
        self._use(block, block.after)
        try:
            output = forward(*args, **kwargs)
        finally:
            if before is not block:
                self._show(None)
                torch.clear_autocast_cache()  # it holds narrow copies of the parameters
        for tensor in _outputs(output) if torch.is_grad_enabled() else ():
            if tensor.requires_grad:
                tensor.register_hook(lambda _: self._use(block, block.before))  # type: ignore[no-untyped-call]
        return output

    def _use(self, block: _BlockParameters, ahead: _BlockParameters | None) -> None:
        """Let this block compute, and begin to fill the one that comes next."""
        self._keep(block, ahead)
        self._fill(block)
        if block.copied:
            torch.cuda.current_stream(self._device).wait_event(block.copied)
        self._show(block)
        if ahead:
            self._fill(ahead)

    def _keep(self, *blocks: _BlockParameters | None) -> None:
        """Free all others."""
        others = [each for each in self._filled if each not in blocks]
        if others and self._stream:  # it fills the same memory with another block, when all that computes with it is over
            self._stream.wait_stream(torch.cuda.current_stream(self._device))
        for block in others:
            self._filled.remove(block)
            block.free()

    def _fill(self, block: _BlockParameters) -> None:
        if block in self._filled:
            return
        self._filled.append(block)
        if self._stream is None:
            block.fill()
            return
        with torch.cuda.stream(self._stream):
            block.fill()
            block.copied = self._stream.record_event()

    def _show(self, block: _BlockParameters | None) -> None:
        if self._shown is not block:
            if self._shown:
                self._shown.hide()
            if block:
                block.show()
            self._shown = block


class _Copy(NamedTuple):
    host: Tensor
    there: Tensor
    nbytes: int
    """Bytes of its memory on the device while it is filled."""


class _BlockParameters:
    """The parameters of one block. They are hollow while they have no values."""

    def __init__(self, parameters: Sequence[nn.Parameter], host: HostValues, device: torch.device) -> None:
        self.parameters = parameters
        self.before: _BlockParameters | None = None
        self.after: _BlockParameters | None = None
        self.copied: torch.cuda.Event | None = None
        """None: what was filled last is there."""
        self._copies = list[_Copy]()
        self._values = [host.of(p) for p in parameters]
        views = dict[int, Tensor]()
        runs, apart = host.runs(parameters)
        for run in runs:
            there = empty_like_part(host.theta, place := host.place_of(run), device)
            parts = torch.split(there, [p.numel() for p in run])
            views |= {id(p): part.view(p.shape) for p, part in zip(run, parts, strict=True)}
            self._copy(host.theta[place], there)
        for p in apart:
            views[id(p)] = torch.empty_like(p.data, device=device)
            self._copy(host.of(p), views[id(p)])
        self._views = [views[id(p)] for p in parameters]
        self._shells = [hollow(p, device, math.nan if p.is_floating_point() else 0) for p in parameters]
        self.rest_hollow()

    def _copy(self, host: Tensor, there: Tensor) -> None:
        self._copies.append(_Copy(host, there, there.untyped_storage().nbytes()))
        there.untyped_storage().resize_(0)

    def fill(self) -> None:
        for host, there, nbytes in self._copies:
            there.untyped_storage().resize_(nbytes)
            there.copy_(host, non_blocking=True)

    def free(self) -> None:
        for _, there, _ in self._copies:
            there.untyped_storage().resize_(0)

    def show(self) -> None:
        """Let the parameters have the values that were filled."""
        self._set(self._views)

    def hide(self) -> None:
        """Let the parameters have what they have at rest."""
        self._set(self._at_rest)

    def rest_hollow(self) -> None:
        self._at_rest = self._shells
        self.hide()

    def rest_on_host(self) -> None:
        self._at_rest = [values.to(p.dtype) for p, values in zip(self.parameters, self._values, strict=True)]
        self.hide()

    def _set(self, values: Sequence[Tensor]) -> None:
        for p, value in zip(self.parameters, values, strict=True):
            p.data = value


def parameters_of_blocks(model: nn.Module, blocks: Sequence[nn.Module]) -> dict[nn.Module, list[nn.Parameter]]:
    """Return the parameters that stand in each block, and nowhere else in the model."""
    within = dict[nn.Module, set[nn.Module]]()
    for block in blocks:
        for module in block.modules():
            within.setdefault(module, set()).add(block)
    users = dict[int, set[nn.Module]]()
    for module in model.modules():
        for p in module.parameters(recurse=False):
            users.setdefault(id(p), set()).update(within.get(module, {model}))
    return {block: [p for p in block.parameters() if users[id(p)] == {block}] for block in blocks}


def _outputs(output: Any) -> Iterator[Tensor]:
    """Yield the tensors that a block gives. Raises: InvalidWorkload: there may be others."""
    if isinstance(output, Tensor):
        yield output
    elif isinstance(output, dict | list | tuple):
        for each in output.values() if isinstance(output, dict) else output:
            yield from _outputs(each)
    elif not (output is None or isinstance(output, Number | str)):
        raise InvalidWorkload(
            f"{PLACE}: a block gives a {type(output).__name__}, in which a gradient could reach the block unseen, and its "
            "parameters would not be there; let blocks give tensors, alone or in tuples, lists and dicts, or override blocks(model)"
        )
