"""Settings and results of jobs as columns, order, filter and groups of their list, and as CSV."""

from __future__ import annotations

import csv
import io
import json
import statistics
from typing import Any
from uuid import UUID

import httpx
import pytest
from sqlalchemy import text

from backend.db import now
from backend.platform import Platform
from backend.progress.folding import fold
from gradstream.metrics import Point
from tests.integration.backend.test_lists import insert_jobs, pages

LR = [0.5, 0.05, 0.5, None, 0.1, 10]
HIDDEN = [8, "wide", 8, 16, True, {"a": 1}]
ACCURACY = [0.9, 0.8, None, 0.7, 0.95, 0.8]


@pytest.fixture
def ids(api: httpx.Client, platform: Platform) -> list[UUID]:
    """Six jobs, the oldest first, with these settings and results."""
    found = insert_jobs(platform, len(LR))
    with platform.database.transaction() as session:
        for id, lr, hidden, accuracy in zip(found, LR, HIDDEN, ACCURACY, strict=True):
            result = (
                [] if accuracy is None else [("evaluator-0.0", [point("eval/accuracy", 0.2), point("eval/accuracy", accuracy)])]
            )
            logged = [("worker-0.0", [point("user/norm", 3.0), point("user/norm", 1.0)])]
            values = {"lr": lr, "args": {"hidden": hidden}, "progress": fold({}, 1, result + logged, now(session))}
            session.execute(
                text(
                    "UPDATE jobs SET progress = :progress,"
                    " spec = jsonb_set(jsonb_set(spec, '{strategy,lr}', :lr), '{workload,args}', :args) WHERE id = :id"
                ),
                {"id": id, **{name: json.dumps(value) for name, value in values.items()}},
            )
    return found


def point(name: str, value: float) -> Point:
    return Point(name=name, value=value, rank=0, step=1, samples=16, version=1, time=0.0)


def column(api: httpx.Client, ids: list[UUID], field: str, **query: Any) -> list[Any]:
    """Its values, the oldest job first."""
    values = api.get("/jobs", params={"column": field, **query}).json()["values"]
    return [values[str(id)].get(field) for id in ids]


def test_settings_and_results_are_columns(api: httpx.Client, ids: list[UUID]) -> None:
    assert column(api, ids, "strategy.lr") == column(api, ids, "lr") == LR
    assert column(api, ids, "hidden") == column(api, ids, "workload.args.hidden") == [*HIDDEN[:5], '{"a": 1}']
    assert column(api, ids, "eval/accuracy") == column(api, ids, "max:eval/accuracy") == ACCURACY
    assert column(api, ids, "min:eval/accuracy") == [None if value is None else 0.2 for value in ACCURACY]
    assert column(api, ids, "user/norm") == [1.0] * 6
    assert column(api, ids, "max:user/norm") == [3.0] * 6
    assert set(column(api, ids, "strategy")) == {job["strategy"] for job in pages(api, 50)}
    assert api.get("/jobs").json()["values"] == {}
    fields = api.get("/jobs/fields").json()
    assert {"strategy.lr", "workload.args.hidden", "roles.worker.count", "batch_size"} <= set(fields["settings"])
    assert fields["results"] == ["eval/accuracy", "user/norm"]


@pytest.mark.few(5)
@pytest.mark.parametrize("descending", [True, False])
@pytest.mark.parametrize("field", ["strategy.lr", "workload.args.hidden", "eval/accuracy", "user/norm", "tags", "no.such"])
def test_any_field_orders_all_jobs_page_by_page(field: str, descending: bool, api: httpx.Client, ids: list[UUID]) -> None:
    found = pages(api, 2, by=field, descending=descending, column=field)
    assert sorted(job["id"] for job in found) == sorted(map(str, ids))
    if field == "strategy.lr":
        known = sorted((value for value in LR if value is not None), reverse=descending)
        values = dict(zip(map(str, ids), LR, strict=True))
        assert [values[job["id"]] for job in found] == [*known, None]


@pytest.mark.parametrize(
    ("where", "places"),
    [
        (["strategy.lr>=0.1"], [0, 2, 4, 5]),
        (["lr<0.5", "eval/accuracy>0.85"], [4]),
        (["lr=0.50"], [0, 2]),
        (["lr!=0.5"], [1, 4, 5]),
        (["hidden = wide"], [1]),
        (["hidden>5"], [0, 2, 3]),
        (["hidden=true"], [4]),
        (['hidden="8"'], []),
        (["accuracy>0"], []),
    ],
)
def test_conditions_find_jobs_on_all_pages(
    where: list[str], places: list[int], api: httpx.Client, platform: Platform, ids: list[UUID]
) -> None:
    if where == ["accuracy>0"]:
        with platform.database.transaction() as session:
            session.execute(text("UPDATE jobs SET accuracy = NULL"))
    page = api.get("/jobs", params={"where": where, "limit": 1}).json()
    assert page["total"] == len(places)
    assert {job["id"] for job in pages(api, 2, where=where)} == {str(ids[place]) for place in places}


def test_a_condition_that_cannot_be_read_is_named(api: httpx.Client) -> None:
    refused = api.get("/jobs", params={"where": ["lr>1", "nonsense"]})
    assert refused.status_code == 422
    assert refused.json()["errors"] == [
        {"pointer": "/query/where/1", "message": "write a field, one of = != < <= > >= and a value, such as strategy.lr>=0.1"}
    ]
    assert api.get("/jobs", params={"column": [f"a.b{number}" for number in range(21)]}).status_code == 422
    assert api.get("/jobs", params={"where": "lr='; drop table jobs; --"}).json()["total"] == 0


def test_groups_have_count_mean_and_spread(api: httpx.Client, ids: list[UUID]) -> None:
    groups = api.get("/jobs/groups", params={"group": "workload.args.hidden", "column": ["lr", "hidden"]}).json()
    assert not groups["more"]
    by_value = {str(group["value"]): group for group in groups["items"]}
    assert groups["items"][0] == by_value["8"]
    eight = by_value["8"]["columns"]["lr"]
    assert (by_value["8"]["jobs"], eight) == (2, {"count": 2, "mean": 0.5, "spread": 0.0, "low": 0.5, "high": 0.5})
    assert by_value["16"]["columns"].keys() == {"hidden"}, "no job of it has a learning rate"
    [every] = api.get("/jobs/groups", params={"group": "user/norm", "column": "lr"}).json()["items"]
    known = [value for value in LR if value is not None]
    assert every["columns"]["lr"]["mean"] == pytest.approx(statistics.mean(known))
    assert every["columns"]["lr"]["spread"] == pytest.approx(statistics.stdev(known))


def test_a_table_is_csv_of_all_jobs_in_its_order(api: httpx.Client, platform: Platform, ids: list[UUID]) -> None:
    api.patch(f"/jobs/{ids[0]}", json={"tags": ["=1+1", "b"]})
    answer = api.get("/jobs/table", params={"by": "lr", "column": ["lr", "tags", "status"]})
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert [row["lr"] for row in rows] == ["10", "0.5", "0.5", "0.1", "0.05", ""]
    assert {row["id"] for row in rows} == set(map(str, ids))
    assert next(row for row in rows if row["id"] == str(ids[0]))["tags"] == "'=1+1, b", "no spreadsheet computes it"
