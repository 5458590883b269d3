"""The accuracy and loss of the default `Workload.evaluate`. It refuses shapes that would give a meaningless number: torch
broadcasts labels of shape (n, 1) against n predictions, and takes the largest of one column. Importing this imports torch."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from gradstream.errors import InvalidWorkload

_REMEDY = "override evaluate(), or set classifies = False"


def scalar(loss: object) -> float:
    """Return the value of a loss. Raises: InvalidWorkload, if it is no scalar tensor."""
    return checked_loss(loss).item()


def checked_loss(loss: object) -> Tensor:
    """Return the loss itself. Raises: InvalidWorkload, if it is no scalar tensor."""
    if not isinstance(loss, Tensor):
        raise InvalidWorkload(f"loss() must return a scalar tensor, not {described(loss)}")
    if loss.numel() != 1:
        raise InvalidWorkload(f"loss() must return a scalar tensor, not {described(loss)}; take its mean()")
    return loss


def share_correct(model: nn.Module, batch: Any) -> float:
    """Return the share of the labels `batch[1]` that have the largest score of `model(batch[0])`.

    Raises: InvalidWorkload, if that has no meaning."""
    if not isinstance(batch, list | tuple) or len(batch) < 2 or not isinstance(batch[1], Tensor):
        raise InvalidWorkload(
            f"the default evaluate() takes batch[0] as input and batch[1] as labels, and the batch is {described(batch)}; {_REMEDY}"
        )
    scores, labels = model(batch[0]), batch[1]
    if not isinstance(scores, Tensor):
        raise InvalidWorkload(
            f"the default evaluate() wants scores as one tensor, and the model gives {described(scores)}; {_REMEDY}"
        )
    if labels.is_floating_point() or labels.is_complex():
        raise InvalidWorkload(
            f"the labels are {labels.dtype}, which are not classes. For regression set classifies = False; else {_REMEDY}"
        )
    if scores.ndim and scores.shape[-1] == 1 and scores.shape[:-1] in (labels.shape, labels.shape[:-1]):
        raise InvalidWorkload(
            f"the model gives one score for each example (shape {_of(scores)}), so the largest one is always class 0. Override "
            "evaluate() with the share of (scores > 0) == labels, or set classifies = False"
        )
    if scores.shape[:-1] != labels.shape:
        squeeze = "; labels.squeeze(-1) in dataset() or collate_fn() helps" if labels.shape == (*scores.shape[:-1], 1) else ""
        raise InvalidWorkload(
            f"the labels have the shape {_of(labels)} and the scores {_of(scores)}, where the default evaluate() wants labels of "
            f"shape {tuple(scores.shape[:-1])}{squeeze}. Or {_REMEDY}"
        )
    return float((scores.argmax(-1) == labels).float().mean())


def default_predictions(model: nn.Module, batch: Any) -> tuple[Tensor, Tensor]:
    """Return `model(batch[0])` and `batch[1]`. Raises: InvalidWorkload."""
    if not isinstance(batch, list | tuple) or len(batch) < 2:
        raise InvalidWorkload(
            f"evaluate.metrics takes batch[0] as input and batch[1] as labels, and the batch is {described(batch)}; override "
            "predictions(model, batch), which returns outputs and labels"
        )
    return model(batch[0]), batch[1]


def described(value: object) -> str:
    """Describe the kind of a value, for an error."""
    if isinstance(value, Tensor):
        return f"a tensor of shape {_of(value)}"
    if isinstance(value, dict):
        return f"a dict of {', '.join(map(str, value)) or 'nothing'}"
    if isinstance(value, list | tuple) and value:
        return f"a {type(value).__name__} of {len(value)} {type(value[0]).__name__}"
    if hasattr(value, "shape"):
        return f"a {type(value).__name__} of shape {tuple(value.shape)}"
    return "None" if value is None else f"a {type(value).__name__}"


def _of(tensor: Tensor) -> tuple[int, ...]:
    return tuple(tensor.shape)


def is_number(value: object) -> bool:
    """Return whether the value is a number, or a tensor or array without dimensions."""
    if isinstance(value, bool | int | float):
        return True
    return getattr(value, "shape", None) == () and not isinstance(value, torch.nn.Module)
