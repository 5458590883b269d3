"""What a worker tells of each of its mini-batches."""

from __future__ import annotations

import math

import pytest
import torch

from gradstream.spec import JobSpec
from gradstream.train.problem import Gradient
from gradstream.train.replica import LossNotFinite, Replica

SPEC = JobSpec.model_validate(
    {
        "name": "told",
        "workload": {"entrypoint": "a:B"},
        "strategy": {"name": "adag", "window": 3, "lr": 0.1},
        "roles": {"worker": {"count": 2}},
        "batch_size": 16,
        "stop": {"steps": 100},
    }
)


class Losses:
    """A problem that has these losses, of 16 examples each."""

    total = per_epoch = 100
    total_samples, epoch_samples = 1600, None

    def __init__(self, *losses: float) -> None:
        self.theta, self._losses = torch.zeros(2), losses

    def gradient(self, t: int) -> Gradient:
        return Gradient(torch.zeros(2), self._losses[t], 16)


def test_each_mini_batch_of_a_window_has_a_sample_number_of_its_own() -> None:
    told: list[int] = []
    w = Replica(SPEC, Losses(*[1.0] * 6), lambda t, loss: told.append(w.seen))  # type: ignore[arg-type]
    w.note_center(320, workers=2)
    w.local(3)
    assert told == [320, 336, 352]
    _, posted = w.count_push()
    w.local(1)
    assert told[-1] == 368, "what is posted stands behind theta, though no response says that the center has it"
    w.count_answered(posted)
    w.note_center(480, workers=2)  # the other worker has pushed, too
    w.local(1)
    assert told[-1] == 496


def test_the_loss_that_ends_a_job_is_told_before_it_does() -> None:
    told: list[float] = []
    w = Replica(SPEC, Losses(0.5, math.nan), lambda t, loss: told.append(loss))  # type: ignore[arg-type]
    with pytest.raises(LossNotFinite, match="mini-batch 1 is nan"):
        w.local(2)
    assert told[0] == 0.5
    assert math.isnan(told[1])
