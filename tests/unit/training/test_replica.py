"""What a worker tells of each of its mini-batches."""

from __future__ import annotations

import math

import pytest
import torch

from gradstream.spec import JobSpec
from gradstream.training.problem import Gradient
from gradstream.training.replica import LossNotFinite, Replica

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
    w = Replica(SPEC, Losses(*[1.0] * 6), lambda t, loss: told.append(w.samples.seen))  # type: ignore[arg-type]
    w.samples.note_center(320, workers=2)
    w.local(3)
    assert told == [320, 336, 352]
    posted = w.samples.post()
    w.local(1)
    assert told[-1] == 368, "what is posted stands behind theta, though no response says that the center has it"
    w.samples.answer(posted)
    w.samples.note_center(480, workers=2)  # the other worker has pushed, too
    w.local(1)
    assert told[-1] == 496


def test_the_loss_that_ends_a_job_is_told_before_it_does() -> None:
    told: list[float] = []
    w = Replica(SPEC, Losses(0.5, math.nan), lambda t, loss: told.append(loss))  # type: ignore[arg-type]
    with pytest.raises(LossNotFinite, match="mini-batch 1 is nan"):
        w.local(2)
    assert told[0] == 0.5
    assert math.isnan(told[1])


def test_theta_is_changed_in_place_and_never_replaced() -> None:
    w = Replica(SPEC, Losses(1.0))  # type: ignore[arg-type]
    theta = w.theta
    w.theta -= 1
    assert w.theta is theta is w.model.theta
    assert theta.tolist() == [-1, -1]
    with pytest.raises(AttributeError, match=r"w\.theta\.copy_\(x\)"):
        w.theta = theta + 1


def test_a_wait_in_the_midst_of_a_gradient_is_no_time_of_computing() -> None:
    w = Replica(SPEC, Losses(1.0))  # type: ignore[arg-type]
    waited: list[bool] = []
    w.batches.untimed(lambda: waited.append(True))()
    assert waited == [True]
    assert w.batches.compute_seconds < 0, "the gradient that it is part of takes at least as long, and is added"
