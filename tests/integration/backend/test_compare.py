"""When jobs reached a target, as the API finds it, against a walk over every stored point."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest

from backend.jobs import service as jobs
from backend.metrics import keeping
from backend.metrics import service as metrics
from backend.metrics.charts import chart
from backend.metrics.store import folding
from backend.platform import Platform
from gradstream.metrics import EVAL_ACCURACY, LOSS, SENT, Point
from tests.integration.backend.jobs import spec, submit, upload
from tests.integration.backend.test_charts import statements

START = 1_763_683_200.0


def store(platform: Platform, job: str, source: str, number: int, points: list[Point], attempt: int = 1) -> None:
    with platform.database.transaction() as session:
        metrics.store(session, jobs.lock(session, UUID(job)), attempt, [(source, number, points)])


def learn(platform: Platform, job: str, *, rate: float, steps: int, seed: int) -> None:
    """Two workers whose losses fall noisily, some of them not finite, and an evaluator: so much that most of it is in blocks."""
    noise = random.Random(seed)
    for number, first in enumerate(range(0, steps, 500)):
        for rank in (0, 1):
            points = []
            for step in range(first, min(steps, first + 500)):
                at = (rank, step, 32 * (2 * step + rank), 2 * step + rank, START + 0.01 * step + noise.random())
                value = math.nan if noise.random() < 0.01 else math.exp(-rate * step) + noise.gauss(0, 0.05)
                points += [Point(LOSS.name, *at, value), Point(SENT.name, *at, 100.0 + rank)]
            store(platform, job, f"worker-{rank}.0", number, points)
        scored = Point(EVAL_ACCURACY.name, -1, first, 64 * first, first, START + 0.01 * first, 1 - math.exp(-rate * first))
        store(platform, job, "evaluator.0", number, [scored])


def ask(api: httpx.Client, ids: list[str], metric: str = LOSS.name, **goal: float) -> dict[str, Any]:
    answer = api.get("/compare/target", params={"job": ids, "metric": metric, **goal})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def stored(api: httpx.Client, id: str, name: str) -> list[dict[str, Any]]:
    found, after = [], 0
    while (page := api.get(f"/jobs/{id}/metrics", params={"names": name, "after": after, "limit": 500}).json())["items"]:
        found += [dict(zip(Point._fields, point, strict=True)) for batch in page["items"] for point in batch["points"]]
        after = page["next"]
    return found


@pytest.fixture
def several(api: httpx.Client, platform: Platform, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setattr(folding, "ENOUGH", 4096)
    made = [str(submit(api, tmp_path, name=name)["id"]) for name in ("slow", "quick", "hopeless")]
    for seed, (id, rate) in enumerate(zip(made, (0.001, 0.004, 0.0), strict=True)):
        learn(platform, id, rate=rate, steps=2001, seed=seed)
    return made


def test_it_is_the_first_of_all_stored_points_that_reached_it(api: httpx.Client, platform: Platform, several: list[str]) -> None:
    with platform.database.transaction() as session:
        [one, _] = chart.lines(session, UUID(several[0]), [LOSS.name])
        assert one.row.folded, "blocks are searched"
        assert len(one.waiting), "and what is not in blocks yet"
    answer = ask(api, several, at_most=0.1)
    assert [item["name"] for item in answer["items"]] == ["quick", "slow", "hopeless"], "the quickest first, who never did last"
    for item in answer["items"]:
        points = [point for point in stored(api, item["job"], LOSS.name) if point["value"] is not None]
        assert len(points) > 3900
        hits = [point for point in points if point["value"] <= 0.1]
        assert item["best"] == min(point["value"] for point in points)
        if item["name"] == "hopeless":
            assert (hits, item["reached"]) == ([], None)
            continue
        first = min(hits, key=lambda point: point["time"])
        assert {name: item["reached"][name] for name in ("time", "samples", "step", "version", "value", "rank")} == {
            name: first[name] for name in ("time", "samples", "step", "version", "value", "rank")
        }
        before = max(point["samples"] for point in points if point["time"] < first["time"])
        assert item["reached"]["samples_before"] == before
        sent = sum(point["value"] for point in stored(api, item["job"], SENT.name) if point["time"] <= first["time"])
        assert item["reached"]["sent_bytes"] == pytest.approx(sent)


def test_from_below_and_what_was_never_measured(api: httpx.Client, several: list[str]) -> None:
    items = ask(api, several, EVAL_ACCURACY.name, at_least=0.8)["items"]
    assert [(item["name"], item["reached"] and item["reached"]["step"]) for item in items] == [
        ("quick", 500),
        ("slow", 2000),
        ("hopeless", None),
    ]
    nothing = ask(api, several, "eval/f1", at_least=0.8)["items"]
    assert [(item["reached"], item["best"]) for item in nothing] == [(None, None)] * 3


def test_what_a_later_attempt_has_undone_does_not_count(api: httpx.Client, platform: Platform, tmp_path: Path) -> None:
    id = str(submit(api, tmp_path)["id"])
    for attempt, values in enumerate([{0: 0.1, 100: 0.5, 200: 0.9}, {150: 0.4, 250: 0.7, 350: 0.95}], start=1):
        points = [
            Point(EVAL_ACCURACY.name, -1, samples, samples, samples, START + 1000 * attempt + samples, value)
            for samples, value in values.items()
        ]
        store(platform, id, "evaluator.0", 0, points, attempt)
    [item] = ask(api, [id], EVAL_ACCURACY.name, at_least=0.9)["items"]
    assert (item["reached"]["attempt"], item["reached"]["samples"]) == (2, 350)
    [item] = ask(api, [id], EVAL_ACCURACY.name, at_least=0.5)["items"]
    assert (item["reached"]["attempt"], item["reached"]["samples"], item["reached"]["samples_before"]) == (1, 100, 0)


def test_a_deleted_job_is_named_and_keeps_nobody_from_an_answer(api: httpx.Client, several: list[str]) -> None:
    gone = str(uuid4())
    answer = ask(api, [gone, several[0], several[0]], at_most=0.1)
    assert (answer["missing"], len(answer["items"])) == ([gone], 1)


@pytest.mark.parametrize("goal", [{}, {"at_least": 1.0, "at_most": 0.0}, {"at_least": "nan"}])
def test_a_target_has_one_direction(api: httpx.Client, goal: dict[str, Any]) -> None:
    answer = api.get("/compare/target", params={"job": str(uuid4()), "metric": LOSS.name, **goal})
    assert answer.status_code == 422


@pytest.mark.more
def test_fifty_jobs_are_read_at_once(api: httpx.Client, platform: Platform, tmp_path: Path) -> None:
    """As few statements as two jobs need, though each has blocks to be opened; and each says what it says by itself."""
    bundle = upload(api, tmp_path)
    ids = [str(api.post("/jobs", json={"spec": spec(name=f"job-{n}"), "bundle": bundle}).json()["id"]) for n in range(50)]
    for seed, id in enumerate(ids):
        learn(platform, id, rate=0.002 + 0.0001 * seed, steps=300, seed=seed)
        if seed % 3:  # of the others some points wait
            keeping.fold(platform.database, UUID(id))
    asked: list[int] = []
    for several in (ids[:2], ids):
        with statements(platform) as seen:
            answer = ask(api, several, at_most=0.6)
        asked.append(len(seen))
    assert 0 < asked[0] <= asked[1] <= asked[0] + 3, "deeper series may take some more steps, but not each job its own"
    assert len(answer["items"]) == 50
    assert all(item["reached"] for item in answer["items"])
    seconds = [item["reached"]["seconds"] for item in answer["items"]]
    assert seconds == sorted(seconds)
    for item in answer["items"][::10]:
        assert ask(api, [item["job"]], at_most=0.6)["items"] == [item]
    assert len(api.get("/compare/target", params={"job": ids, "metric": LOSS.name, "at_most": 0.6}).content) < 50_000


@pytest.mark.parametrize("x", ["samples", "time"])
def test_charts_of_several_jobs_are_those_of_each(api: httpx.Client, several: list[str], x: str) -> None:
    asked = {"name": LOSS.name, "x": x, "columns": 100}
    each = [api.get(f"/jobs/{id}/chart", params=asked).json()["charts"][0] for id in several]
    nothing = str(uuid4())
    together = api.get("/compare/charts", params={**asked, "job": [*several, nothing]}).raise_for_status().json()["items"]
    assert together[:-1] == each
    assert together[-1]["series"] == []
    part = {**asked, "from": each[0]["from"] + 1, "to": each[0]["to"] - 1}
    assert api.get("/compare/charts", params={**part, "job": several}).json()["items"] == [
        api.get(f"/jobs/{id}/chart", params=part).json()["charts"][0] for id in several
    ]
    wrong = api.get("/compare/charts", params={**asked, "job": several, "from": 2, "to": 1})
    assert (wrong.status_code, "exchange them" in wrong.text) == (422, True)


def test_several_jobs_come_with_their_effective_values(api: httpx.Client, tmp_path: Path) -> None:
    made = [str(submit(api, tmp_path, name=name)["id"]) for name in ("one", "two")]
    items = api.get("/compare/jobs", params={"job": [made[1], str(uuid4()), made[0]]}).raise_for_status().json()["items"]
    assert [item["job"]["name"] for item in items] == ["two", "one"]
    assert [item["job"] for item in items] == [api.get(f"/jobs/{id}").json() for id in reversed(made)]
    assert [item["effective"] for item in items] == [api.get(f"/jobs/{id}/config").json()["effective"] for id in reversed(made)]
