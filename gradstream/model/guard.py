"""Notices user code that changes parameters by itself: only the job's optimizer may.

A worker trains a copy of the parameters, and the next pull replaces it. So what a loss, a forward or a hook writes into a
parameter is lost, or is counted as a part of the next push; on one machine the same code would have trained.

Each step compares what torch counts: the version of each parameter and the address of its values. Writes through `.data` or
numpy count nothing. So each step also compares a sample of the values, and some compare all of them: the first steps of a
process, and later ones as often as that takes at most 1 % of the time.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy
import torch
from torch import Tensor, nn

from gradstream.errors import InvalidWorkload
from gradstream.model.buffers import plain_name
from gradstream.model.flat_model import FlatModel
from gradstream.model.usercode import blaming
from gradstream.process.exits import UserError

GUIDE = "docs/guides/what-does-not-fit.md"
_FIRST = 3
"""Steps of a process whose values are always compared."""
_FIRST_SECONDS = 1.0
"""After which the first steps, too, are compared only as often as others: a model may have gigabytes."""
_SHARE = 0.01
"""Share of the time that comparing values may take after that."""
_SAMPLE = 1024
"""Values that are compared of a frozen parameter, since a frozen backbone may be large, and in each step of all trained ones."""


class _Marks(NamedTuple):
    versions: list[int]
    addresses: list[int]


_INTEGERS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
"""By size in bytes: numpy does not know every dtype."""


class _Home:
    """The vector that holds the parameters, and a sample of its values."""

    def __init__(self, vector: Tensor, addresses: list[int]) -> None:
        """`addresses`: of the parameters while they are views of it."""
        self.addresses = addresses
        size, stride = vector.element_size(), max(1, vector.numel() // _SAMPLE)
        self._start, self._size, self._stride = vector.data_ptr(), size, stride
        self._values = None if vector.is_cuda else _view_values(vector, stride)

    def sample(self) -> bytes:
        """Empty on a GPU, where a step would wait for it."""
        return b"" if self._values is None else self._values.tobytes()

    def parameter_changed_since(self, sample: bytes) -> int:
        """Return the index of a parameter with a value that has changed since this sample was taken."""
        pairs = enumerate(zip(sample, self.sample(), strict=True))
        place = next(index for index, (before, now) in pairs if before != now) // self._size
        address = self._start + place * self._stride * self._size
        return max((start, index) for index, start in enumerate(self.addresses) if start <= address)[1]


class _Scattered:
    """A sample of the values of parameters that lie apart, as those of `run --local` do."""

    def __init__(self, parameters: list[nn.Parameter], addresses: list[int]) -> None:
        self.addresses = addresses
        stride = max(1, sum(p.numel() for p in parameters) // _SAMPLE)
        self._values = {index: _view_values(p, stride) for index, p in enumerate(parameters) if _is_readable(p)}

    def sample(self) -> bytes:
        """Empty on a GPU, where a step would wait for it."""
        return b"".join([values.tobytes() for values in self._values.values()])

    def parameter_changed_since(self, sample: bytes) -> int:
        """Return the index of the first parameter with a value that has changed since this sample was taken."""
        at = 0
        for index, values in self._values.items():
            if values.tobytes() != sample[at : at + values.nbytes]:
                return index
            at += values.nbytes
        raise LookupError("no value has changed")


def _is_readable(p: nn.Parameter) -> bool:
    return not p.is_cuda and p.layout is torch.strided and p.is_contiguous() and p.numel() > 0 and p.requires_grad


def _view_values(values: Tensor, stride: int) -> numpy.ndarray:
    return values.detach().view(-1).view(_INTEGERS[values.element_size()])[::stride].numpy()


class ParameterGuard:
    """Call `begin` before user code runs and `check` after it. Not for two of them at once."""

    def __init__(
        self, model: nn.Module, always: bool = False, clock: Callable[[], float] = time.perf_counter, shared: bool = False
    ) -> None:
        """`always`: compare the values every time. `shared`: never, since other threads step on them meanwhile."""
        self._model, self._always, self._clock, self._shared = model, always, clock, shared
        named = list(model.named_parameters())
        self._names = [plain_name(name) for name, _ in named]
        self._parameters = [p for _, p in named]
        self._trained = [p.requires_grad for p in self._parameters]
        self._frozen = [p for p in self._parameters if not p.requires_grad]
        self._modules = _modules(model)
        self._count = 0
        self._spent, self._since = 0.0, clock()
        self._before = self._marks()
        self._sums: list[int] | None = None
        """Checksums of the values at `begin`; None: not taken this time."""
        self._homes: dict[int, _Home] = {}
        """By address."""
        self._scattered: _Scattered | None = None
        self._sampled: tuple[_Home | _Scattered, bytes] | None = None
        """The parameters at `begin`, and their sample then."""

    def begin(self, home: Tensor | None = None) -> None:
        """`home`: the vector that holds the parameters, which nothing else changes in a way that torch counts. None: an optimizer
        may have changed them since `check`."""
        self._sampled = None
        if home is None:
            self._before = self._marks()
            if self._scattered is None or self._scattered.addresses != self._before.addresses:
                self._scattered = _Scattered(self._parameters, self._before.addresses)
            self._sampled = self._scattered, self._scattered.sample()
        else:
            found = self._homes.get(home.data_ptr())
            if found is None:
                found = self._homes[home.data_ptr()] = _Home(home, [p.data_ptr() for p in self._parameters])
            self._before = _Marks(self._before.versions, found.addresses)
            self._sampled = None if self._shared else (found, found.sample())
        self._sums = self._summed() if self._looks() else None

    def check(self) -> None:
        """Raises: InvalidWorkload: a parameter is not as it was at `begin`."""
        if self._sums is not None or self._counted() or self._unfrozen():
            self._compare(self._before, self._marks())
        elif self._sampled and self._sampled[0].sample() != self._sampled[1]:
            values, before = self._sampled
            raise _refusal(_changed(self._names[values.parameter_changed_since(before)], trained=True))

    @contextmanager
    def watching(self, home: Tensor | None = None) -> Iterator[None]:
        """Raises: as `check`, which comes after the block."""
        self.begin(home)
        yield
        self.check()

    def _counted(self) -> bool:
        """Torch has counted a change."""
        versions, addresses = self._before
        return [p._version for p in self._parameters] != versions or [p.data_ptr() for p in self._parameters] != addresses

    def _unfrozen(self) -> bool:
        return bool(self._frozen) and any([p.requires_grad for p in self._frozen])

    def _looks(self) -> bool:
        if self._shared:
            return False
        self._count += 1
        if self._always or self._count == 1 or (self._count <= _FIRST and self._spent < _FIRST_SECONDS):
            return True
        return self._spent <= _SHARE * (self._clock() - self._since)

    def _compare(self, before: _Marks, after: _Marks) -> None:
        sums = None if self._sums is None else self._summed()
        for index, name in enumerate(self._names):
            if after.addresses[index] != before.addresses[index]:
                raise _refusal(f"it gave the parameter {name} new memory (such as p.data = ..., p.set_(), or moving the module)")
            if not self._trained[index] and self._parameters[index].requires_grad:
                raise _refusal(f"it unfroze the parameter {name}, which does not train then; let it require a gradient in model()")
            if self._sums is None or sums is None:
                changed = after.versions[index] != before.versions[index]
            else:  # a value that was changed and put back, bit for bit, is as it was
                changed = sums[index] != self._sums[index]
            if changed:
                raise _refusal(_changed(name, self._trained[index]))
        if after.versions != before.versions:
            self._always = True  # this code puts back what it changes; whether it does must be looked at each time
            self._before = after
        self._compare_structure()

    def _compare_structure(self) -> None:
        known = {id(p) for p in self._parameters}
        now = list(self._model.named_parameters())
        for name, p in now:
            if id(p) not in known:
                raise _refusal(f"it put another parameter at {plain_name(name)}, which does not train; make all of them in model()")
        modules = _modules(self._model)
        if modules != self._modules:
            name = plain_name(min(name for name, _ in modules ^ self._modules))
            raise _refusal(f"it added, removed or replaced the module {name}, and other processes do not; do that in model()")
        moved = set(self._names) ^ {plain_name(name) for name, _ in now}
        if moved:
            raise _refusal(f"it renamed the parameter {min(moved)}, and other processes do not; do that in model()")

    def _marks(self) -> _Marks:
        return _Marks([p._version for p in self._parameters], [p.data_ptr() for p in self._parameters])

    def _summed(self) -> list[int]:
        began = self._clock()
        sums = [_sum_of(p, trained) for p, trained in zip(self._parameters, self._trained, strict=True)]
        self._spent += self._clock() - began
        return sums


def watched(guard: ParameterGuard, home: Tensor | None, step: Callable[[], float]) -> float:
    """The loss that a step returns. Raises: UserError, if user code raises in it or changes parameters by itself."""
    guard.begin(home)
    try:
        loss = step()
    except UserError:
        _check(guard)  # a change in place often ends as an error of autograd, which says less
        raise
    _check(guard)
    return loss


@contextmanager
def hook_watched(guard: ParameterGuard, flat: FlatModel) -> Iterator[None]:
    """Inside, a hook may read the model. Raises: as `ParameterGuard.check`."""
    with flat.shown(), guard.watching(flat.home):
        yield


def _check(guard: ParameterGuard) -> None:
    with blaming("loss()"):
        guard.check()


def _modules(model: nn.Module) -> set[tuple[str, int]]:
    return {(name, id(module)) for name, module in model.named_modules()}


def _changed(name: str, trained: bool) -> str:
    if trained:
        return f"it changed the parameter {name} in place; only the job's optimizer may, and a pull would undo that"
    return f"it changed the frozen parameter {name}, which neither travels nor is kept in checkpoints; make it a buffer"


def _refusal(what: str) -> InvalidWorkload:
    return InvalidWorkload(f"{what}. {GUIDE} has patterns that work")


def _sum_of(p: Tensor, whole: bool) -> int:
    values = p.detach()
    if values.layout is not torch.strided:
        return 0
    if _is_hollow(values):
        return p._version
    flat = values.reshape(-1)
    if not whole:
        flat = flat[:: max(1, flat.numel() // _SAMPLE)]
    return zlib.crc32(flat.cpu().contiguous().view(torch.uint8).numpy().data) if flat.numel() else 0


def _is_hollow(values: Tensor) -> bool:
    """It has no memory of its own: see `DeviceCopy`."""
    return values.numel() > 0 and values.dim() > 0 and not any(values.stride())
