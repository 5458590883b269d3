"""A model on a device, apart from the vector in the host's memory that other processes see.

    before a step    theta (host)  ->  device: one copy for each run of parameters that stand one behind another in theta
    with fsdp        those of a block: before it computes (gradstream/model/computing/block_memory.py)

A parameter without values is *hollow*: it has shape and device, and no memory. So are those of blocks that other processes compute.
On the CPU the same code makes the same copies, so tests have them without a GPU.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import accumulate, groupby
from typing import NamedTuple

import torch
from torch import Tensor, nn

from gradstream.errors import InvalidWorkload
from gradstream.model.computing.block_memory import BlockMemory
from gradstream.model.computing.host_values import HostValues, empty_like_part, hollow


class _ParameterRun(NamedTuple):
    place: slice
    """In theta."""
    there: Tensor
    """Its values on the device, shape (n,)."""


class _Hollow(NamedTuple):
    parameter: nn.Parameter
    values: Tensor
    """Its values in the host's memory."""
    shell: Tensor
    """Its stand-in on the device."""


class DeviceCopy:
    def __init__(
        self,
        model: nn.Module,
        theta: Tensor,
        device: torch.device,
        elsewhere: Collection[nn.Parameter] = (),
        blocks: Sequence[Sequence[nn.Module]] = (),
    ) -> None:
        """Move the model to the device. `theta`: in the host's memory; the trained parameters are views of it, or of another
        dtype. `elsewhere`: parameters that become hollow. `blocks`: of each member of the model, those that have memory only while
        they compute."""
        self.device, self._theta = device, theta
        self._runs = list[_ParameterRun]()
        self._apart, self._masters = list[Tensor](), list[Tensor]()
        """Parameters of another dtype than theta, and their values in its dtype; both on the device."""
        self._hollow = dict[int, _Hollow]()
        """By the parameter's id."""
        self._gradient: Tensor | None = None
        trained = [p for p in model.parameters() if p.requires_grad]
        ends = list(accumulate(p.numel() for p in trained))
        places = {id(p): slice(end - p.numel(), end) for p, end in zip(trained, ends, strict=True)}
        host = HostValues(theta, places)
        self._blocks = BlockMemory(blocks, model, host, device) if blocks else None
        for p in elsewhere:
            self._empty(p, host.of(p))
        for buffer in model.buffers():
            buffer.data = buffer.data.to(device)  # so that two modules go on to share one
        model.to(device)
        for stays, row in groupby(trained, self._stays):
            if stays:
                self._place_run([(p, places[id(p)]) for p in row])

    def _stays(self, p: nn.Parameter) -> bool:
        """The parameter has memory all the time."""
        return id(p) not in self._hollow and not (self._blocks and self._blocks.holds(p))

    def _empty(self, p: nn.Parameter, values: Tensor) -> None:
        shell = hollow(p, self.device)
        self._hollow[id(p)] = _Hollow(p, values, shell)
        p.data = shell
        if p.requires_grad:
            p.register_post_accumulate_grad_hook(_refuse)  # type: ignore[no-untyped-call]

    def _place_run(self, row: list[tuple[nn.Parameter, slice]]) -> None:
        begin, end = row[0][1].start, row[-1][1].stop
        there = empty_like_part(self._theta, slice(begin, end), self.device)
        self._runs.append(_ParameterRun(slice(begin, end), there))
        for p, place in row:
            view = there[place.start - begin : place.stop - begin].view(p.shape)
            if p.dtype == view.dtype:
                p.data = view
            else:
                p.data = p.data.clone()
                self._apart.append(p.data)
                self._masters.append(view)

    def refresh(self) -> None:
        """Copy theta to the device. It must not change until what is computed with it has been read."""
        self.free_blocks()
        for place, there in self._runs:
            there.copy_(self._theta[place], non_blocking=True)
        if self._apart:
            torch._foreach_copy_(self._apart, self._masters)

    @property
    def gradient(self) -> Tensor:
        """A vector like theta on the device, in which gradients can be gathered."""
        if self._gradient is None:
            self._gradient = torch.empty_like(self._theta, device=self.device)
        return self._gradient

    def free_blocks(self) -> None:
        """Free what has memory only while it computes."""
        if self._blocks:
            self._blocks.free()

    def watching(self) -> AbstractContextManager[None]:
        """Inside, a loss may be computed. Raises: InvalidWorkload: it uses parameters of blocks outside of these."""
        return self._blocks.watching() if self._blocks else nullcontext()

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Inside, all parameters have the values of theta: hollow ones in the host's memory."""
        self.refresh()
        values = ((each.parameter, each.values.to(each.parameter.dtype)) for each in self._hollow.values())
        with _set(values), self._blocks.at_rest() if self._blocks else nullcontext():
            yield

    @contextmanager
    def filled(self, module: nn.Module) -> Iterator[None]:
        """Inside, the hollow parameters of this module have their values on the device, in memory that is freed afterwards."""
        found = [self._hollow[id(p)] for p in module.parameters() if id(p) in self._hollow]
        with _set((p, values.to(self.device, p.dtype, copy=True)) for p, values, _ in found):
            yield


@contextmanager
def _set(wanted: Iterable[tuple[nn.Parameter, Tensor]]) -> Iterator[None]:
    """Inside, parameters have these values."""
    before = list[tuple[nn.Parameter, Tensor]]()
    try:
        for p, values in wanted:
            before.append((p, p.data))
            p.data = values
        yield
    finally:
        for p, values in before:
            p.data = values


def _refuse(p: nn.Parameter) -> None:
    p.grad = None
    raise InvalidWorkload(
        f"roles.worker.group.stages: the loss used a parameter of shape {tuple(p.shape)} in another stage than that of its block; "
        "on a GPU each stage has the parameters of its own blocks alone. Set roles.worker.device: cpu, or let blocks use their own"
    )
