"""Update samples and tables of parameters: what workers store, what users read of it, and the limits of a job."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import text

from backend.jobs.backoff import JobBackoff
from backend.platform import Platform
from backend.scheduler.controller import Controller
from backend.updates import keeping
from gradstream.client import Client, Credentials
from gradstream.updates.parameter_table import PARAMETERS, ModelParameter, ParameterTable
from tests.integration.backend.agent import Agent
from tests.integration.backend.running import Running


@pytest.fixture
def sampled(api: httpx.Client, agent: Agent, controller: Controller, tmp_path: Path) -> Running:
    return Running(api, agent, controller, tmp_path, update_histograms={"every": 10})


def layer(name: str = "0.weight", **changes: Any) -> dict[str, Any]:
    given = {"name": name, "elements": 10, "zeros": 2, "not_finite": 1, "first": 250, "counts": [3, 0, 4], "norm": 2.5}
    return given | changes


def sample(step: int = 7, staleness: int = 0, *layers: dict[str, Any], **changes: Any) -> dict[str, Any]:
    place = {"step": step, "push": step, "base": step, "version": step + staleness + 1, "samples": 10 * step, "time": 1.7e9}
    given = {"staleness": staleness, "outcome": "applied", "pushes_gradient": True, "update": list(layers) or [layer()]}
    return place | given | changes


def post(running: Running, label: str, *samples: Mapping[str, Any], token: str | None = None) -> httpx.Response:
    headers = {"Authorization": f"Bearer {token or running.agent.order(label).store.token}"}
    return running.agent.http.post("/process/updates", json={"samples": samples}, headers=headers)


def put(running: Running, label: str, *samples: Mapping[str, Any]) -> None:
    response = post(running, label, *samples)
    assert (response.status_code, response.json()) == (200, {"dropped": 0, "why": None})


def found(running: Running, **params: Any) -> dict[str, Any]:
    answer = running.api.get(f"/jobs/{running.id}/updates", params=params)
    assert answer.status_code == 200, answer.text
    counts: dict[str, Any] = answer.json()
    return counts


def test_samples_of_workers_add_up_by_staleness_layer_and_worker(sampled: Running) -> None:
    two = layer(), layer("0.bias", elements=2, zeros=0, not_finite=0, first=252, counts=[2], norm=1.0)
    put(sampled, "worker-0", sample(1, 0, *two), sample(2, 3, *two))
    put(sampled, "worker-1", sample(1, 4, *two, outcome="dropped", lost=5))
    everything = found(sampled)
    assert {key: everything[key] for key in ("every", "ranks", "count", "used", "lost", "full")} == {
        "every": 10,
        "ranks": [0, 1],
        "count": 3,
        "used": 3,
        "lost": 5,
        "full": False,
    }
    assert [(one["name"], one["elements"]) for one in everything["layers"]] == [("0.weight", 10), ("0.bias", 2)]
    assert [(one["low"], one["high"], one["count"], one["dropped"]) for one in everything["groups"]] == [(0, 0, 1, 0), (3, 4, 2, 1)]
    stale = everything["groups"][1]
    assert (stale["first"], stale["counts"], stale["elements"], stale["zeros"], stale["not_finite"]) == (250, [6, 0, 12], 24, 4, 2)
    assert stale["norm"]["p50"] == pytest.approx((2.5**2 + 1) ** 0.5)
    [of_bias] = found(sampled, layer="0.bias", rank=1, what="gradient")["groups"]
    assert (of_bias["count"], of_bias["elements"], of_bias["counts"]) == (1, 2, [2])
    assert [group["low"] for group in found(sampled, by="samples")["groups"]] == [10, 10, 20]
    wrong = sampled.api.get(f"/jobs/{sampled.id}/updates", params={"layer": "1.weight"})
    assert (wrong.status_code, "there are 0.weight, 0.bias" in wrong.json()["detail"]) == (422, True)


def test_a_repeated_step_replaces_its_sample_and_the_sdk_reads_page_by_page(sampled: Running, server: str, token: str) -> None:
    for first in range(0, 120, 20):
        put(sampled, "worker-0", *(sample(step) for step in range(first, first + 20)))
    put(sampled, "worker-0", sample(0, 9))
    with Client(Credentials(server, token)) as client:
        stored = list(client.update_samples(sampled.id))
        assert [one.sample.step for one in stored] == [*range(1, 120), 0]
        assert (stored[-1].sample.staleness, stored[-1].rank, stored[-1].attempt) == (9, 0, 1)
        thinned = client.update_histograms(sampled.id, most=50)
        assert (thinned.count, thinned.used) == (120, 40)


WRONG = {
    "counts that do not add up": sample(1, 0, layer(elements=11)),
    "bins that there are not": sample(1, 0, layer(first=507)),
    "a norm that is none": sample(1, 0, layer(norm=-1.0)),
    "too many layers": sample(1, 0, *(layer() for _ in range(65))),
    "an outcome that there is not": sample(outcome="fenced"),
}


@pytest.mark.few(2)
@pytest.mark.parametrize("what", WRONG)
def test_what_user_code_sends_by_itself_is_checked(sampled: Running, what: str) -> None:
    assert post(sampled, "worker-0", sample(), WRONG[what]).status_code == 422
    assert found(sampled)["count"] == 0


def test_samples_are_for_users_alone_and_from_live_workers_of_jobs_that_measure(sampled: Running, anonymous: httpx.Client) -> None:
    for path in ("updates", "updates/samples", "parameters"):
        assert anonymous.get(f"/jobs/{sampled.id}/{path}").status_code == 401
    assert post(sampled, "server-0", sample()).status_code == 422
    token = sampled.agent.order("worker-0").store.token
    sampled.agent.exit("worker-0")
    assert post(sampled, "worker-0", sample(), token=token).status_code == 409
    assert sampled.agent.http.post("/process/updates", json={"samples": [sample()]}).status_code == 401


def test_a_job_without_the_setting_stores_none(running: Running) -> None:
    refused = post(running, "worker-0", sample())
    assert (refused.status_code, "no `update_histograms`" in refused.json()["detail"]) == (422, True)
    assert found(running)["every"] is None


def test_a_job_that_has_as_much_as_it_may_drops_the_rest(sampled: Running, platform: Platform) -> None:
    put(sampled, "worker-0", sample(1))
    with platform.database.transaction() as session:
        session.execute(text("UPDATE update_samples SET size = :size"), {"size": platform.settings.job_update_bytes})
    outcome = post(sampled, "worker-0", sample(2), sample(3)).json()
    assert (outcome["dropped"], "raise update_histograms.every" in outcome["why"]) == (2, True)
    assert (found(sampled)["count"], found(sampled)["full"]) == (1, True)


def test_retention_of_metrics_removes_the_samples_of_a_job_that_has_ended(sampled: Running, platform: Platform) -> None:
    put(sampled, "worker-0", sample())
    sampled.succeed()
    with platform.database.transaction() as session:
        session.execute(text("UPDATE jobs SET spec = jsonb_set(spec, '{retention,metrics}', '86400')"))
    keeping.tidy(platform.database, JobBackoff(platform.database))
    assert found(sampled)["count"] == 1
    with platform.database.transaction() as session:
        session.execute(text("UPDATE jobs SET ended_at = ended_at - interval '25 hours'"))
    keeping.tidy(platform.database, JobBackoff(platform.database))
    assert found(sampled)["count"] == 0


def table(base: int, norm: float | None = 2.0) -> ParameterTable:
    one = ModelParameter(name="0.weight", shape=(2, 3), count=6, dtype="float32", device="cpu", requires_grad=True, norm=norm)
    return ParameterTable(base=base, step=base, samples=10 * base, parameters=(one,), total=6, trained=6)


def test_worker_0_stores_the_table_of_parameters_anew(running: Running) -> None:
    assert running.api.get(f"/jobs/{running.id}/parameters").json() == {"attempt": None, "table": None}
    for base in (0, 5):
        assert running.agent.put("worker-0", PARAMETERS, table(base).model_dump_json().encode()).status_code == 200
    stored = running.api.get(f"/jobs/{running.id}/parameters").json()
    assert stored == {"attempt": 1, "table": table(5).model_dump(mode="json")}
    assert running.agent.put("worker-1", PARAMETERS, table(1).model_dump_json().encode()).status_code == 422
    broken = json.dumps(table(6).model_dump(mode="json") | {"total": -1}).encode()
    assert running.agent.put("worker-0", PARAMETERS, broken).status_code == 422
    assert running.api.get(f"/jobs/{running.id}/parameters").json() == stored
