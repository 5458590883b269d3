"""The description of a model's parameters."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from gradstream.model.buffers import plain_name
from gradstream.updates.parameter_table import MAX_NAME, MAX_ROWS, ModelParameter, ParameterTable


def describe_parameters(model: nn.Module, *, base: int, step: int, samples: int) -> ParameterTable:
    """Describe the parameters as they are now."""
    named = list(model.named_parameters())
    listed = named[:MAX_ROWS]
    norms = _norms([parameter.detach() for _, parameter in listed])
    return ParameterTable(
        base=base,
        step=step,
        samples=samples,
        parameters=tuple(
            ModelParameter(
                name=plain_name(name)[:MAX_NAME],
                shape=tuple(parameter.shape),
                count=parameter.numel(),
                dtype=str(parameter.dtype).removeprefix("torch."),
                device=str(parameter.device),
                requires_grad=parameter.requires_grad,
                norm=norm,
            )
            for (name, parameter), norm in zip(listed, norms, strict=True)
        ),
        left_out=len(named) - len(listed),
        total=sum(parameter.numel() for _, parameter in named),
        trained=sum(parameter.numel() for _, parameter in named if parameter.requires_grad),
    )


def _norms(parameters: list[Tensor]) -> list[float | None]:
    """Return L2 norms; None: one is not finite."""
    return [norm if math.isfinite(norm) else None for norm in map(_norm, parameters)]


def _norm(parameter: Tensor) -> float:
    """Return the norm, in float64 where float32 would overflow."""
    if not (parameter.is_floating_point() or parameter.is_complex()):  # quantized by its library, and frozen
        parameter = parameter.double()
    norm = float(torch.linalg.vector_norm(parameter))
    return norm if math.isfinite(norm) else float(torch.linalg.vector_norm(parameter, dtype=torch.float64))
