"""Notices a loss that uses the parameter of a block outside of it, where the parameter has no values."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from torch import Tensor
from torch.overrides import TorchFunctionMode

from gradstream.errors import InvalidWorkload

PLACE = "roles.worker.group.fsdp"


class OutsideOfBlocks(TorchFunctionMode):
    """Refuses tensors that are computed from the parameter of a block outside of it. To ask for shapes and devices is fine."""

    def __init__(self, is_outside: Callable[[Any], bool]) -> None:
        super().__init__()
        self._is_outside = is_outside

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        given = (*args, *kwargs.values()) if kwargs else args
        if (used := self._find(given)) is not None and _has_tensor(result):
            raise InvalidWorkload(
                f"{PLACE}: the loss used a parameter of shape {tuple(used.shape)} outside of its block; on a GPU a block has its "
                "parameters only while it computes. Set roles.worker.device: cpu, take replicate, or let blocks use their own"
            )
        return result

    def _find(self, given: Iterable[Any]) -> Tensor | None:
        for each in given:
            if isinstance(each, list | tuple):
                if (used := self._find(each)) is not None:
                    return used
            elif self._is_outside(each):
                return each  # type: ignore[no-any-return]
        return None


def _has_tensor(result: Any) -> bool:
    return isinstance(result, Tensor) or (isinstance(result, list | tuple) and any(map(_has_tensor, result)))
