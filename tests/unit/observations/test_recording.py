"""`Workload.observe`: what it takes, where it goes, and what it refuses."""

from __future__ import annotations

from typing import Any

import greenlet
import pytest
import torch

from gradstream import Workload
from gradstream.errors import InvalidWorkload
from gradstream.observations.histograms import ZERO, Observations
from gradstream.observations.recording import recording

observe = Workload().observe


def test_observations_go_to_the_innermost_recording_and_nowhere_without_one() -> None:
    outer, inner = Observations(), Observations()
    observe(torch.zeros(3), torch.ones(3))
    with recording(outer):
        observe(torch.zeros(2), torch.ones(2))
        with recording(inner):
            observe(torch.zeros(4), torch.zeros(4))
        observe(torch.zeros(2), torch.ones(2))
    assert (outer.examples, inner.examples) == (4, 4)
    assert outer.positives[ZERO] == 4
    assert inner.negatives[ZERO] == 4


def test_each_greenlet_records_its_own() -> None:
    mine, its = Observations(), Observations()

    def other() -> None:
        with recording(its):
            observe(torch.zeros(1), torch.zeros(1))
            greenlet.getcurrent().parent.switch()  # type: ignore[union-attr]
            observe(torch.zeros(1), torch.zeros(1))

    thread = greenlet.greenlet(other)
    with recording(mine):
        thread.switch()
        observe(torch.zeros(1), torch.zeros(1))
        thread.switch()
    assert (mine.examples, its.examples) == (1, 2)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
def test_logits_of_any_shape_and_precision_labels_of_any_type(dtype: torch.dtype) -> None:
    found = Observations()
    with recording(found):
        observe(torch.full((2, 3), 0.5, dtype=dtype, requires_grad=True), torch.ones(2, 3, dtype=torch.int64), 2)
        observe(torch.tensor(-0.5, dtype=dtype), torch.tensor(True), torch.tensor(3.0))
    assert found.examples == 7
    assert found.positives.sum() == 15
    assert found.positives[ZERO + 64] == 12


def test_under_autocast() -> None:
    found, layer = Observations(), torch.nn.Linear(4, 1)
    with recording(found), torch.autocast("cpu", torch.bfloat16):
        observe(layer(torch.randn(5, 4)).squeeze(1), torch.zeros(5))
    assert found.negatives.sum() == 5


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ((torch.tensor([0.0, float("nan")]), torch.zeros(2)), "observe: the logits hold a NaN or an infinity"),
        ((torch.tensor([float("inf")]), torch.zeros(1)), "observe: the logits hold a NaN or an infinity"),
        ((torch.zeros(2), torch.tensor([0.0, 2.0])), "observe: the labels hold a value outside of 0 to 1"),
        ((torch.zeros(1), torch.tensor([float("nan")])), "observe: the labels hold a value outside of 0 to 1"),
        ((torch.zeros(1), torch.tensor([-1])), "observe: the labels hold a value outside of 0 to 1"),
        ((torch.zeros(3, 1), torch.zeros(3)), r"observe: labels are a tensor of shape \(3,\) and logits .*\(3, 1\)"),
        ((torch.zeros(3), torch.zeros(3), torch.ones(2)), r"observe: weights are a tensor of shape \(2,\) and logits"),
        ((torch.zeros(3), torch.zeros(3), -1.0), "observe: the weights hold a value that is negative"),
        ((torch.zeros(3), torch.zeros(3), float("inf")), "observe: the weights hold a value that is negative or not finite"),
        (([0.0], torch.zeros(1)), "observe: logits must be a tensor of real numbers, not a list of 1 float"),
        ((torch.zeros(1), None), "observe: labels must be a tensor of real numbers, not None"),
        ((torch.zeros(1), torch.zeros(1), "2"), "observe: weights must be a tensor of real numbers, not a str"),
    ],
)
def test_what_has_no_meaning_is_refused_by_name(given: tuple[Any, ...], told: str) -> None:
    with pytest.raises(InvalidWorkload, match=told):
        observe(*given)
