"""Importance of settings as the API gives it: which jobs count, the figure of each, and what it says of too few."""

from __future__ import annotations

import json
import math
import random
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
from sqlalchemy import text

from backend.jobs import service as jobs
from backend.metrics import service as metrics
from backend.platform import Platform
from gradstream.metrics import EVAL_LOSS, LOSS, Point
from tests.integration.backend.test_lists import insert_jobs

START = 1_763_683_200.0
COUNT = 12


@pytest.fixture
def ids(api: httpx.Client, platform: Platform) -> list[UUID]:
    """Ended jobs: a loss is the learning rate times a factor; a second attempt raises the last one. Another setting is noise."""
    found, chance = insert_jobs(platform, COUNT), random.Random(0)
    with platform.database.transaction() as session:
        for number, id in enumerate(found):
            values = {"lr": 0.01 * (1 + number % 4), "args": {"hidden": chance.choice([8, 16])}}
            session.execute(
                text(
                    "UPDATE jobs SET status = 'succeeded', ended_at = created_at + interval '100 s',"
                    " spec = jsonb_set(jsonb_set(spec, '{strategy,lr}', :lr), '{workload,args}', :args) WHERE id = :id"
                ),
                {"id": id, **{name: json.dumps(value) for name, value in values.items()}},
            )
            for attempt, factors in enumerate([(3, 2, 1), (2, 4)], start=1):
                points = [
                    Point(EVAL_LOSS.name, -1, step, 100 * step, step, START + step, 10 * values["lr"] * factor)
                    for step, factor in enumerate(factors)
                ]
                metrics.store(session, jobs.lock(session, id), attempt, [("evaluator.0", 0, points)])
            both = [(f"worker-{rank}.0", 0, [Point(LOSS.name, rank, 1, 100, 1, START, 1.0 + rank)]) for rank in (0, 1)]
            metrics.store(session, jobs.lock(session, id), 1, both)
    return found


def ask(api: httpx.Client, ids: list[UUID], figure: str) -> dict[str, Any]:
    answer = api.get("/compare/importance", params={"job": [str(id) for id in ids], "figure": figure})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


@pytest.mark.few(1)
@pytest.mark.parametrize("figure", ["min:eval/loss", "eval/loss", "max:eval/loss"])
def test_the_setting_that_makes_the_figure_comes_first(api: httpx.Client, ids: list[UUID], figure: str) -> None:
    found = ask(api, ids, figure)
    first, *others = found["settings"]
    assert (found["runs"], found["believed"], found["reason"]) == (COUNT, True, None)
    assert found["r2"] > 0.8 > found["needed_r2"]
    assert (first["settings"], first["stands_out"], first["correlation"]) == (["strategy.lr"], True, pytest.approx(1))
    assert not any(each["stands_out"] for each in others)
    assert all("name" not in each["settings"] for each in found["settings"])
    assert ask(api, ids, figure) == found, "the same runs get the same result"


@pytest.mark.more
def test_only_ended_jobs_with_a_finite_figure_count(api: httpx.Client, platform: Platform, ids: list[UUID]) -> None:
    gone = uuid4()
    with platform.database.transaction() as session:
        session.execute(text("UPDATE jobs SET status = 'running' WHERE id = :id"), {"id": ids[0]})
        diverged = [Point(EVAL_LOSS.name, -1, 9, 900, 9, START + 9, math.nan)]
        metrics.store(session, jobs.lock(session, ids[1]), 2, [("evaluator.0", 1, diverged)])
    found = ask(api, [*ids, gone, ids[2]], "eval/loss")
    assert (found["runs"], found["running"], found["missing"]) == (COUNT - 2, [str(ids[0])], [str(gone)])
    assert found["without"] == [str(ids[1])], "its last value is not finite"
    assert ask(api, ids, "min:eval/loss")["runs"] == COUNT - 1, "its lowest one is"


def test_too_few_runs_are_refused_with_a_sentence(api: httpx.Client, ids: list[UUID]) -> None:
    found = ask(api, ids[:7], "eval/loss")
    assert (found["runs"], found["settings"], found["r2"], found["believed"]) == (7, [], None, False)
    assert found["reason"].startswith("Only 7 ended runs have a finite value of this figure. Compare at least 8")
    assert ask(api, ids, "user/never")["reason"].startswith("No ended run has")


def test_a_figure_that_is_the_same_everywhere_has_no_explanation(api: httpx.Client, ids: list[UUID]) -> None:
    """The mean of both workers' last values."""
    assert ask(api, ids, "train/loss")["reason"] == "The figure is the same in all runs, so no setting explains a difference."


@pytest.mark.more
def test_results_of_jobs_are_figures_too(api: httpx.Client, platform: Platform, ids: list[UUID]) -> None:
    """Seconds of training follow the learning rate; speed is samples by seconds."""
    with platform.database.transaction() as session:
        session.execute(
            text(
                "UPDATE jobs SET ended_at = created_at + 1000 * (spec->'strategy'->>'lr')::float * interval '1 s',"
                " loss = (spec->'strategy'->>'lr')::float, mean_staleness = 1 - loss,"
                " progress = jsonb_build_object('first_step_at', created_at, 'samples', 1000) WHERE id = ANY(:ids)"
            ),
            {"ids": ids},
        )
    for figure, sign in (("seconds", 1), ("speed", -1), ("loss", 1)):
        found = ask(api, ids, figure)
        assert found["believed"], figure
        assert found["settings"][0]["settings"] == ["strategy.lr"]
        assert found["settings"][0]["correlation"] == pytest.approx(sign)
    assert ask(api, ids, "samples")["reason"].startswith("The figure is the same")


@pytest.mark.parametrize("params", [{"figure": "a,b"}, {}])
def test_a_figure_is_named(api: httpx.Client, params: dict[str, str]) -> None:
    assert api.get("/compare/importance", params={"job": str(uuid4()), **params}).status_code == 422
