"""The failure that explains a job's end, where several processes fail."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from gradstream.process.exits import ExitReason
from gradstream.process.headline import drop_reason, sort_failures


@dataclass(frozen=True)
class Failed:
    label: str
    reason: ExitReason
    message: str = ""
    ended_at: float = 0.0

    @property
    def role(self) -> str:
        return self.label.split("-")[0]


RAISED = "failed in evaluate(): ValueError: only one element tensors can be converted to Python scalars (w.py:9)"
EXPLAINED = "failed in loss(): it must return one number, not a tensor of shape (32,) (w.py:8)"
ORDERS = {
    "the platform's explanation before a bare exception": (
        Failed("worker-0", ExitReason.USER_ERROR, EXPLAINED, 2.0),
        Failed("evaluator", ExitReason.USER_ERROR, RAISED, 1.0),
    ),
    "also the evaluator's": (
        Failed("evaluator", ExitReason.USER_ERROR, EXPLAINED, 2.0),
        Failed("worker-0", ExitReason.USER_ERROR, RAISED, 1.0),
    ),
    "a worker before the evaluator": (
        Failed("worker-1", ExitReason.USER_ERROR, RAISED, 2.0),
        Failed("evaluator", ExitReason.USER_ERROR, RAISED, 1.0),
    ),
    "a mistake before a lost connection": (
        Failed("evaluator", ExitReason.USER_ERROR, RAISED, 3.0),
        Failed("worker-0", ExitReason.PLANE_LOST, "Redis is gone", 1.0),
    ),
    "a mistake before a dead server": (
        Failed("worker-0", ExitReason.LOSS_NOT_FINITE, "loss", 3.0),
        Failed("server-0", ExitReason.KILLED, "signal 9", 1.0),
    ),
    "a dead server before its clients": (
        Failed("server-1", ExitReason.KILLED, "signal 9", 2.0),
        Failed("worker-0", ExitReason.PLANE_LOST, "gone", 1.0),
    ),
    "the earliest among equals": (
        Failed("worker-1", ExitReason.USER_ERROR, RAISED, 1.0),
        Failed("worker-0", ExitReason.USER_ERROR, RAISED, 2.0),
    ),
}


@pytest.mark.parametrize("order", ORDERS)
def test_the_most_telling_failure_comes_first(order: str) -> None:
    first, second = ORDERS[order]
    assert sort_failures([first, second]) == sort_failures([second, first]) == [first, second]


def test_a_reason_that_was_told_is_left_out() -> None:
    message = "server-0 ended: killed by signal 9. No new attempt: the job file allows no retries."
    assert drop_reason(message, "killed by signal 9") == "server-0 ended. No new attempt: the job file allows no retries."
    assert drop_reason(message, None) == drop_reason(message, "another") == message
