"""Comparing states bit for bit."""

from __future__ import annotations

from typing import Any

import torch


def difference(one: Any, other: Any, where: str = "") -> str | None:
    """Where two nests of dicts, lists, tensors and plain values differ first; None if they do not."""
    if type(one) is not type(other):
        return f"{where}: {one!r} and {other!r}"
    if isinstance(one, torch.Tensor):
        same = one.dtype == other.dtype and torch.equal(one, other)
        return None if same else f"{where}: {one} and {other}"
    if isinstance(one, dict):
        if one.keys() != other.keys():
            return f"{where}: keys {list(one)} and {list(other)}"
        pairs = [(f"{where}.{key}", value, other[key]) for key, value in one.items()]
    elif isinstance(one, list | tuple):
        if len(one) != len(other):
            return f"{where}: lengths {len(one)} and {len(other)}"
        pairs = [(f"{where}[{at}]", a, b) for at, (a, b) in enumerate(zip(one, other, strict=True))]
    else:
        return None if one == other else f"{where}: {one!r} and {other!r}"
    return next((found for at, a, b in pairs if (found := difference(a, b, at))), None)
