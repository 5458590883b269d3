"""The table of a model's parameters says what the model has, with norms that numpy would give."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from gradstream.updates.parameter_table import MAX_ROWS
from gradstream.updates.parameters import describe_parameters


def test_a_row_for_each_parameter_also_frozen_and_narrow_ones() -> None:
    model = nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 2, bias=False))
    model[0].bias.requires_grad = False
    model[1].to(torch.bfloat16)
    table = describe_parameters(model, base=4, step=9, samples=90)
    assert (table.base, table.step, table.samples, table.total, table.trained, table.left_out) == (4, 9, 90, 12, 10, 0)
    assert [(one.name, one.shape, one.count, one.dtype, one.requires_grad) for one in table.parameters] == [
        ("0.weight", (2, 3), 6, "float32", True),
        ("0.bias", (2,), 2, "float32", False),
        ("1.weight", (2, 2), 4, "bfloat16", True),
    ]
    for one, parameter in zip(table.parameters, model.parameters(), strict=True):
        assert one.norm == pytest.approx(float(np.linalg.norm(parameter.detach().double().numpy())), rel=1e-2)


def test_norms_are_finite_where_squares_overflow_and_null_where_values_are_not() -> None:
    model = nn.ParameterDict({"large": torch.full((4,), 1e30), "odd": torch.full((4,), float("nan"))})
    large, odd = describe_parameters(model, base=0, step=0, samples=0).parameters
    assert (large.norm, odd.norm) == (pytest.approx(2e30), None)


def test_a_model_of_very_many_parameters_is_cut_and_says_so() -> None:
    model = nn.ParameterList([torch.ones(1) for _ in range(MAX_ROWS + 3)])
    table = describe_parameters(model, base=0, step=0, samples=0)
    assert (len(table.parameters), table.left_out, table.total) == (MAX_ROWS, 3, MAX_ROWS + 3)
