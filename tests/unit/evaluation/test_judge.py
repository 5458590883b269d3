"""What an evaluation means: the best so far, the target, patience; and the same after a resume."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from gradstream.evaluation.judge import Judge, JudgeState
from gradstream.process.exits import UserError
from gradstream.sim.toys import job
from gradstream.spec import Best, JobSpec


def spec(best: dict[str, Any] | None = None, **stop: Any) -> JobSpec:
    return job({"name": "sync"}, best=best, steps=9).model_copy(
        update={"stop": JobSpec.model_validate({**MINIMAL, "best": best, "stop": {"steps": 9, **stop}}).stop}
    )


MINIMAL = {"name": "j", "workload": {"entrypoint": "a:B"}, "strategy": {"name": "sync"}}
LOSS = {"metric": "eval/loss"}


def judged(judge: Judge, *losses: float, start: int = 0) -> list[tuple[bool, str | None]]:
    return [tuple(judge.judge({"loss": loss}, samples=start + 100 * n, version=n)) for n, loss in enumerate(losses)]  # type: ignore[misc]


def test_patience_counts_evaluations_without_improvement_in_a_row() -> None:
    judge = Judge(spec(LOSS, patience=2))
    found = judged(judge, 3.0, 2.0, 2.5, 1.0, 1.0, 1.5)
    assert found == [(True, None), (True, None), (False, None), (True, None), (False, None), (False, "patience")]
    assert judge.state.best is not None
    assert (judge.state.best.value, judge.state.best.samples) == (1.0, 300)


def test_a_change_below_min_delta_is_no_improvement() -> None:
    assert judged(Judge(spec(LOSS | {"min_delta": 0.1}, patience=2)), 1.0, 0.95, 0.92)[-1] == (False, "patience")


def test_a_value_that_is_not_finite_is_never_the_best() -> None:
    judge = Judge(spec(LOSS, patience=9))
    found = judged(judge, float("nan"), 2.0, float("-inf"), float("nan"), 1.0)
    assert [best for best, _ in found] == [False, True, False, False, True]


def test_a_higher_accuracy_is_better_and_modes_can_be_said() -> None:
    assert not Best(metric="eval/accuracy").falls
    assert Best(metric="eval/perplexity", mode="min").is_better(3.0, 4.0)


def test_evaluations_that_a_resumed_job_repeats_count_once() -> None:
    """Else patience would run out earlier than in the undisturbed job, or at another evaluation."""
    losses = [3.0, 1.0, 2.0, 2.0, 2.0]
    whole = Judge(spec(LOSS, patience=3))
    assert [stop for _, stop in judged(whole, *losses)] == [None, None, None, None, "patience"]
    for lost_after in range(1, 6):
        first = Judge(spec(LOSS, patience=3))
        judged(first, *losses[:lost_after])
        resumed = Judge(spec(LOSS, patience=3), JudgeState.model_validate_json(first.state.model_dump_json()))
        assert [stop for _, stop in judged(resumed, *losses)] == [None, None, None, None, "patience"], lost_after
        assert resumed.state == whole.state


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (
            {"target": {"metric": "eval/acuracy", "at_least": 0.9}},
            r"^stop\.target\.metric: .* did you mean eval/accuracy\?",
        ),
        ({"target": {"metric": "eval/f1", "at_least": 0.9}}, r"It gives eval/loss, eval/accuracy"),
    ],
)
def test_a_metric_that_there_is_not_is_said_at_the_first_evaluation(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=said):
        Judge(spec(**settings)).judge({"loss": 1.0, "accuracy": 0.1}, samples=0, version=0)


def test_the_best_one_asks_for_its_metric_too() -> None:
    with pytest.raises(UserError, match=r"best\.metric: evaluate\(\) gives no eval/f1"):
        Judge(spec({"metric": "eval/f1", "mode": "max"})).judge({"loss": 1.0}, samples=0, version=0)


def test_known_metrics_have_a_better_side() -> None:
    assert not Best(metric="eval/auc").falls
    assert Best(metric="eval/normalized_entropy").falls
    with pytest.raises(ValidationError, match="say whether a lower or a higher eval/calibration is better"):
        Best(metric="eval/calibration")
