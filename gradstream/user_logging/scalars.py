"""Logged numbers between two reports. A number is reduced at once. A tensor on a GPU is copied there and read with the next report,
so that `log` never waits for the device."""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, get_args

from gradstream.errors import InvalidWorkload
from gradstream.user_logging.names import MAX_NAMES, check_name

if TYPE_CHECKING:
    from torch import Tensor

Reduction = Literal["mean", "min", "max", "last"]
"""The number that is reported for all that was logged under a name since the last report."""
_REDUCTIONS = get_args(Reduction)
Taken = tuple[Reduction, float, float]
"""Reduction, reduced number and weight of all that was logged under a name."""
_MAX_PENDING = 1024
"""Tensors of one name that may wait for a report on their device."""


class LoggedScalar:
    """The numbers of one name since the last report."""

    __slots__ = ("_highest", "_last", "_lowest", "_total", "pending", "reduce", "weight")

    def __init__(self, reduce: Reduction) -> None:
        self.reduce = reduce
        self.pending: list[tuple[Tensor, float]] = []
        """Tensors that are not read yet, each with its weight."""
        self._begin()

    def _begin(self) -> None:
        self._total = self.weight = 0.0
        self._lowest, self._highest, self._last = math.inf, -math.inf, math.nan

    def add(self, value: float, weight: float) -> None:
        self._total += weight * value
        self.weight += weight
        self._last = value
        if self.reduce == "min":
            self._lowest = _first_if(value < self._lowest, value, self._lowest)
        elif self.reduce == "max":
            self._highest = _first_if(value > self._highest, value, self._highest)

    def take(self) -> float | None:
        """Return the reduced number, and forget it. None: nothing was logged."""
        if not self.weight:
            return None
        match self.reduce:
            case "mean":
                taken = self._total / self.weight
            case "min":
                taken = self._lowest
            case "max":
                taken = self._highest
            case "last":
                taken = self._last
        self._begin()
        return taken


class LoggedScalars:
    """The numbers of all names. Several threads may add to it at once. A copy of it, also in another process, begins empty."""

    def __init__(self) -> None:
        self._scalars: dict[str, LoggedScalar] = {}
        self._lock = threading.Lock()
        self.weight = 1.0
        """The weight of what is added now in means; 0: it is left out."""
        self.dropped = 0
        """Values that were dropped so far, because there are too many names."""

    def __reduce__(self) -> tuple[type[LoggedScalars], tuple[()]]:
        return LoggedScalars, ()  # user code may pickle its workload, and a lock cannot be

    def add(self, name: str, value: Any, reduce: Reduction = "mean") -> None:
        """Raises: InvalidWorkload."""
        number = value if type(value) is float else _number_or_tensor(name, value)
        with self._lock:
            scalar = self._scalars.get(name)
            if scalar is None or scalar.reduce != reduce:
                scalar = self._find(name, reduce)
            if scalar is None:
                self.dropped += 1
            elif not self.weight:
                return
            elif isinstance(number, float):
                scalar.add(number, self.weight)
            else:
                scalar.pending.append((number, self.weight))
                if len(scalar.pending) >= _MAX_PENDING:
                    self._read_pending()

    def take(self) -> dict[str, float]:
        """Return the reduced numbers since the last call by name, and forget them. This waits for the device of pending tensors."""
        return {name: value for name, (_, value, _) in self.take_weighted().items()}

    def take_weighted(self) -> dict[str, Taken]:
        """Return reduction, number and weight by name, for `merge` in another process, and forget them."""
        with self._lock:
            self._read_pending()
            found = {name: (scalar.reduce, scalar.weight, scalar.take()) for name, scalar in self._scalars.items()}
        return {name: (reduce, value, weight) for name, (reduce, weight, value) in found.items() if value is not None}

    def merge(self, others: Mapping[str, Taken]) -> None:
        """Add what another process has taken. Raises: InvalidWorkload: it reduces a name in another way."""
        with self._lock:
            for name, (reduce, value, weight) in others.items():
                if scalar := self._scalars.get(name) or self._find(name, reduce):
                    scalar.add(value, weight)
                else:
                    self.dropped += 1

    def _find(self, name: str, reduce: Reduction) -> LoggedScalar | None:
        """Return the scalar of a name, which begins here. None: there are too many names. Raises: InvalidWorkload."""
        check_logged(name, reduce)
        if scalar := self._scalars.get(name):
            raise InvalidWorkload(
                f"log: '{name}' has reduce='{scalar.reduce}' in one call and '{reduce}' in another; give it the same in all calls"
            )
        if len(self._scalars) < MAX_NAMES:
            self._scalars[name] = LoggedScalar(reduce)
        return self._scalars.get(name)

    def _read_pending(self) -> None:
        """Read all tensors that wait on a device, in one copy for each."""
        pending = [(scalar, tensor, weight) for scalar in self._scalars.values() for tensor, weight in scalar.pending]
        if not pending:
            return
        import torch

        for device in {tensor.device for _, tensor, _ in pending}:
            there = [each for each in pending if each[1].device == device]
            values: list[float] = torch.stack([tensor for _, tensor, _ in there]).tolist()
            for (scalar, _, weight), value in zip(there, values, strict=True):
                scalar.add(value, weight)
        for scalar in self._scalars.values():
            scalar.pending.clear()


def check_logged(name: object, reduce: object) -> None:
    """Raises: InvalidWorkload."""
    check_name(name)
    if reduce not in _REDUCTIONS:
        raise InvalidWorkload(f"log: '{name}' has reduce={reduce!r}; choose one of {', '.join(map(repr, _REDUCTIONS))}")


def check_value(name: str, value: object) -> None:
    """Raises: InvalidWorkload: it is not one real number."""
    _number_or_tensor(name, value)


def _number_or_tensor(name: str, value: Any) -> float | Tensor:
    """Return a float, or a copy of a tensor that lies on a GPU, which user code may change from now on. Raises: InvalidWorkload."""
    if getattr(value, "is_cpu", False) and value.numel() == 1 and type(number := value.item()) is float:
        return number  # first, as most are tensors of losses
    if isinstance(value, int | float):
        return _as_float(name, value)
    import torch

    if isinstance(value, torch.Tensor):
        if value.numel() != 1 or value.is_complex():
            raise _not_a_number(name, value)
        if value.device.type == "cpu":
            return _as_float(name, value.item())
        return value.detach().reshape(()).to(torch.float64, copy=True)
    if getattr(value, "size", None) == 1 and getattr(getattr(value, "dtype", None), "kind", "") in "biuf":  # of numpy
        return _as_float(name, value.item())
    raise _not_a_number(name, value)


def _as_float(name: str, value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        raise InvalidWorkload(f"log: the integer under '{name}' is larger than any float; log its logarithm") from None


def _not_a_number(name: str, value: object) -> InvalidWorkload:
    from gradstream.accuracy import described

    return InvalidWorkload(f"log: '{name}' is {described(value)}, and a logged value is one real number; log its mean() or item()")


def _first_if(condition: bool, one: float, other: float) -> float:
    """A NaN stays: it is neither smaller nor larger than anything."""
    return one if condition or math.isnan(one) else other
