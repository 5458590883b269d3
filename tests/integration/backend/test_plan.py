"""A plan says what becomes of a job, by the scheduler's own placement; then the job is submitted and that comes true."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import text

from backend.jobs import repository as job_rows
from backend.platform import Platform
from backend.scheduler.controller import Controller
from benchmarks import rows
from gradstream.metrics import COMPUTE, SLICE, Point
from gradstream.wire.redis import keys
from gradstream.wire.telemetry import records
from tests.integration.backend.agent import Agent
from tests.integration.backend.jobs import spec, submit, upload, workers
from tests.integration.backend.running import Running

SIZE = {"parameters": 1_000_000, "step": 0.01}


def plan(api: httpx.Client, *, bundle: str | None = None, size: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    answer = api.post("/jobs/plan", json={"spec": spec(**changes), "bundle": bundle, "size": size})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def planned(start: dict[str, Any]) -> set[tuple[str, str]]:
    return {(process["label"], process["node"]) for process in start["processes"]}


@pytest.fixture
def two(anonymous: httpx.Client, join_token: str, agent: Agent) -> tuple[Agent, Agent]:
    return agent, Agent(anonymous, join_token, "node-2", slots=2)


def test_what_is_planned_is_what_the_controller_does(
    api: httpx.Client, two: tuple[Agent, Agent], controller: Controller, tmp_path: Path
) -> None:
    roles = {"server": {"count": 2}, "worker": {"count": 5, "device": "cpu"}}
    start = plan(api, roles=roles)["start"]
    assert (start["now"], start["position"]) == (True, None)
    assert api.get("/jobs").json()["items"] == [], "a plan submits nothing"
    job = submit(api, tmp_path, roles=roles)
    controller.run_once()
    processes = api.get(f"/jobs/{job['id']}/processes").json()["items"]
    assert {(each["label"], each["node"]) for each in processes} == planned(start)
    assert {"node-1", "node-2"} == {node for _, node in planned(start)}


def test_a_plan_names_few_machines_and_counts_many(
    api: httpx.Client, two: tuple[Agent, Agent], anonymous: httpx.Client, join_token: str
) -> None:
    roles = workers(two[0].slots + two[1].slots)
    assert plan(api, roles=roles)["start"]["message"].endswith("would start on node-1, node-2 at once.")
    more = [Agent(anonymous, join_token, f"rack-{number}", slots=8) for number in range(4)]
    start = plan(api, roles=workers(32 + two[0].slots + two[1].slots))["start"]
    assert start["message"].endswith(f"would start on {len(more) + 2} machines at once.")
    assert {f"rack-{number}" for number in range(4)} <= {node for _, node in planned(start)}


def test_a_job_that_would_wait_is_told_why_and_at_which_place(
    api: httpx.Client, agent: Agent, controller: Controller, tmp_path: Path
) -> None:
    Running(api, agent, controller, tmp_path, roles=workers(3))
    submit(api, tmp_path, name="first", roles=workers(2))
    submit(api, tmp_path, name="calm", roles=workers(1), priority=10)
    controller.run_once()
    start = plan(api, roles=workers(1))["start"]
    assert (start["now"], start["position"], start["ahead"], start["reason"]) == (False, 2, 1, "behind")
    assert planned(start) == {("server-0", "node-1"), ("worker-0", "node-1"), ("evaluator", "node-1")}, "if nothing else ran"
    assert plan(api, roles=workers(1), priority=90)["start"]["now"], "it comes before those"

    submitted = submit(api, tmp_path, name="new", roles=workers(1))
    controller.run_once()
    job = api.get(f"/jobs/{submitted['id']}").json()
    assert (job["position"], job["reason"], job["message"]) == (2, start["reason"], start["message"])


def test_a_job_that_never_fits_has_no_places(api: httpx.Client, agent: Agent) -> None:
    start = plan(api, roles=workers(9))["start"]
    assert (start["reason"], start["processes"]) == ("too_large", [])
    assert "Needs 9 slots" in start["message"]


def test_without_a_size_traffic_and_memory_are_left_open(api: httpx.Client, agent: Agent) -> None:
    found = plan(api)
    assert [found[what] for what in ("size", "traffic", "memory", "nodes")] == [None, None, None, []]
    assert (found["staleness"]["mean"], found["shards"]["count"]) == (1, 1)


def test_a_size_that_is_given_counts(api: httpx.Client, two: tuple[Agent, Agent]) -> None:
    found = plan(api, size=SIZE, roles=workers(6), codec={"name": "bf16"})
    assert (found["size"]["source"], found["size"]["size"]) == ("given", SIZE)
    assert (found["traffic"]["push_bytes"], found["traffic"]["pull_bytes"]) == (2_000_000, 4_000_000)
    assert found["traffic"]["sent_per_second"] == pytest.approx(2_000_000 / 2 / 0.01)
    assert found["local_share"] == pytest.approx(4 / 6), "the shard lies on the machine of four workers"
    needed = {node["node"]: node["needed"] for node in found["nodes"]}
    memory = found["memory"]
    assert needed["node-2"] == 2 * memory["worker"]
    arriving = 2 * 2 * (2_000_000 + 4_000_000)  # the two newest pushes of each worker elsewhere: as they come, and decoded
    assert needed["node-1"] == 4 * memory["worker"] + memory["server"] + memory["evaluator"] + arriving
    assert found["warnings"] == []
    large = plan(api, size={"parameters": 10**9})
    assert large["warnings"][0]["pointer"] == "/roles/worker/count"
    assert "node-1, which has 1.1 GB" in large["warnings"][0]["message"]


def test_a_job_that_does_not_fit_gets_lines_with_which_it_does(api: httpx.Client, anonymous: httpx.Client, join_token: str) -> None:
    """Each GPU, and the host, has 1 GiB."""
    Agent(anonymous, join_token, "gpus", slots=2, gpus=4)
    size = {"parameters": 20_000_000, "blocks": [2_000_000] * 10, "block_output": 10_000, "activations": 40_000_000}
    roles = {"server": {"count": 1}, "worker": {"count": 1, "device": "cuda"}}
    given = {"roles": roles, "strategy": {"name": "async"}, "batch_size": 32}
    found = plan(api, size=size, **given)
    assert "Vectors and activations take 1.5 GB of GPU 0 of gpus" in found["warnings"][0]["message"]
    assert found["memory"]["activations"] == 32 * 40_000_000
    assert found["proposal"]["lines"] == ["accumulate: 2"]
    assert "GPU 0 of gpus, with 0.9 GB of 1.1 GB" in found["proposal"]["message"]
    again = plan(api, size=size, accumulate=2, **given)
    assert (again["proposal"], again["warnings"]) == (None, [])
    never = plan(api, size={"parameters": 10**9}, **given)["proposal"]
    assert never["lines"] == []
    assert "The largest part is server-0, with 12.0 GB of gpus." in never["message"]


def test_what_a_shard_takes_of_its_gpu_is_counted(api: httpx.Client, anonymous: httpx.Client, join_token: str) -> None:
    Agent(anonymous, join_token, "gpus", slots=2, gpus=1)
    roles = {"server": {"count": 1, "device": "cuda"}, "worker": {"count": 2, "device": "cpu"}}
    found = plan(api, size=SIZE, roles=roles)
    [host, gpu] = found["nodes"]
    assert (gpu["node"], gpu["gpu"], gpu["role"], gpu["total"]) == ("gpus", 0, "server", 1 << 30)
    assert gpu["needed"] == found["memory"]["server"] + 2 * 4_000_000
    assert host["needed"] == 2 * found["memory"]["worker"] + found["memory"]["evaluator"] + 4_000_000
    assert found["warnings"] == []
    large = plan(api, size={"parameters": 10**8}, roles=roles)["start"]
    assert (large["now"], large["reason"]) == (False, "too_large")
    assert "Needs 1 GPU with 2.0 GB for its shards" in large["message"]
    auto = plan(api, size={"parameters": 10**8}, roles={**roles, "server": {"count": 1, "device": "auto"}})["start"]
    assert auto["now"]
    assert [each["gpus"] for each in auto["processes"] if each["role"] == "server"] == [[]], "it would not fit"
    trained = {"server": {"count": 1}, "worker": {"count": 1, "device": "cuda"}}
    warnings = plan(api, size={"parameters": 10**8}, roles=trained)["warnings"]
    [warning] = [each for each in warnings if "GPU" in each["message"]]
    assert warning["pointer"] == "/roles/worker/device"
    assert "2.8 GB of GPU 0 of gpus, which has 1.1 GB for them" in warning["message"]


def test_an_earlier_job_of_the_same_workload_tells_the_size(
    api: httpx.Client, agent: Agent, controller: Controller, platform: Platform, tmp_path: Path
) -> None:
    running = Running(api, agent, controller, tmp_path)
    j = agent.order("server-0").plane_id
    for source, name, value in (("server-0.0", SLICE.name, 4_000_000.0), ("worker-0.0", COMPUTE.name, 0.02)):
        points = records.pack_points([Point(name, 0, 2, 0, 0, 1000.0, value)])
        platform.plane.xadd(keys.metrics(j), {"source": source, "batch": 0, "points": points})  # type: ignore[arg-type]
    controller.run_once()
    bundle = upload(api, tmp_path)
    found = plan(api, bundle=bundle)
    assert (found["size"]["source"], found["size"]["job"]) == ("job", running.id)
    assert found["size"]["message"] == "As measured in small, a job of the same code."
    assert found["size"]["size"] == {"parameters": 1_000_000, "step": pytest.approx(0.01)}, "a window of 2 took 20 ms"
    assert "the latest job of this workload" in plan(api)["size"]["message"], "no bundle is named"
    assert found["tables"] is None
    table = {"rows": 300, "candidates": 0, "nbytes": 30_000, "made": 300, "evicted": 0, "counted": 300}
    summary = {"shard": 0, "version": 9, "samples": 90, "tables": {"user": table}}
    agent.put("server-0", "tables/shard-0.json", json.dumps(summary).encode())
    tables = plan(api, bundle=bundle)["tables"]
    assert tables["message"].startswith("As measured in small, a job of the same code. Rows are not known before the code runs.")
    [user] = tables["items"]
    assert (user["rows"], user["row_bytes"], user["server_bytes"], user["pull_bytes"]) == (300, 100, 30_000, None)
    larger = plan(api, bundle=bundle, batch_size=64)["size"]
    assert (larger["size"]["step"], larger["message"][-37:]) == (pytest.approx(0.02), "Scaled from mini-batches of 32 there.")
    assert plan(api, bundle=bundle, workload={"entrypoint": "work:Work", "args": {"hidden": 9}})["size"] is None
    assert plan(api, bundle=bundle, size=SIZE)["size"]["source"] == "given"


@pytest.mark.more
def test_earlier_jobs_are_found_without_a_look_at_all_others(platform: Platform) -> None:
    with platform.database.transaction() as session:
        ids = rows.insert_jobs(session, 2000)
        other = text("UPDATE jobs SET spec = jsonb_set(spec, '{workload,entrypoint}', '\"other:Work\"') WHERE id <> ALL(:ids)")
        session.execute(other, {"ids": ids[::100]})
        session.execute(text("ANALYZE jobs"))
    with platform.database.transaction() as session:
        found = job_rows.of_entrypoint(session, "work:Work", 64 * "0")
        assert [job.id for job in found] == ids[::100][::-1]
        read = text("SELECT seq_scan, idx_tup_fetch FROM pg_stat_xact_user_tables WHERE relname = 'jobs'")
        whole, fetched = session.execute(read).one()
    assert whole == 0
    assert fetched < 100


def test_an_earlier_job_that_is_not_understood_any_more_is_passed_over(platform: Platform, api: httpx.Client) -> None:
    with platform.database.transaction() as session:
        rows.insert_jobs(session, 1)
        session.execute(text('UPDATE jobs SET spec = spec || \'{"stop": "never"}\''))
    assert plan(api)["size"] is None


def test_a_job_without_servers_lies_on_one_machine(api: httpx.Client, two: tuple[Agent, Agent]) -> None:
    roles = {"server": {"count": 0}, "worker": {"count": 4, "device": "cpu"}}
    found = plan(api, size=SIZE, strategy={"name": "sync"}, roles=roles)
    assert planned(found["start"]) == {(label, "node-1") for label in ("worker-0", "worker-1", "worker-2", "worker-3", "evaluator")}
    assert (found["shards"]["count"], found["shards"]["sure"]) == (0, True)
    assert "each of its 4 workers holds a shard" in found["shards"]["message"]
    assert (found["local_share"], found["memory"]["server"]) == (1, 0)
    goes_on = plan(api, size=SIZE, strategy={"name": "sync"}, roles=roles, on_worker_loss="continue")
    assert "worker 0 holds the whole model" in goes_on["shards"]["message"]
    assert goes_on["memory"]["worker"] > found["memory"]["worker"]
    roles["worker"]["count"] = 6
    roles["server"]["collective"] = "shared"
    start = plan(api, strategy={"name": "sync"}, roles=roles)["start"]
    assert start["reason"] == "too_large"
    assert "6 slots on one machine" in start["message"]
    assert "set roles.server.count: 1" in start["message"]


def test_a_job_without_servers_that_needs_both_machines_combines_pushes_by_gloo(
    api: httpx.Client, two: tuple[Agent, Agent]
) -> None:
    roles = {"server": {"count": 0}, "worker": {"count": 6, "device": "cpu"}}
    found = plan(api, size=SIZE, strategy={"name": "sync"}, roles=roles)
    assert found["start"]["now"]
    message = found["shards"]["message"]
    assert message.endswith("holds the whole model, and they combine pushes by gloo, since they are on 2 machines.")
    assert (found["local_share"], found["memory"]["server"]) == (0, 0)
    vector = 4 * SIZE["parameters"]
    assert found["traffic"]["push_bytes"] == found["traffic"]["pull_bytes"] == pytest.approx(2 * 5 / 6 * vector, abs=1)
    shared = plan(api, size=SIZE, strategy={"name": "sync"}, roles={**roles, "worker": {"count": 4, "device": "cpu"}})
    assert found["memory"]["worker"] > shared["memory"]["worker"], "each holds a whole center"


def test_a_group_on_two_machines_says_what_travels_between_them(api: httpx.Client, two: tuple[Agent, Agent]) -> None:
    worker = {"count": 1, "device": "cpu", "group": {"replicate": 2, "machines": 2}}
    found = plan(api, size=SIZE, roles={"server": {"count": 1}, "worker": worker})
    assert found["start"]["now"], found["start"]["message"]
    assert found["traffic"]["machine_bytes"] == 4 * SIZE["parameters"]
    assert plan(api, size=SIZE)["traffic"]["machine_bytes"] is None


def test_auto_shards_are_those_that_the_size_comes_to(api: httpx.Client, anonymous: httpx.Client, join_token: str) -> None:
    Agent(anonymous, join_token, "wide", slots=4, cpus=16)
    auto = {"server": {"count": "auto"}, "worker": {"count": 2, "device": "cpu"}}
    unknown, known = plan(api, roles=auto), plan(api, roles=auto, size={"parameters": 20_000_000})
    assert (unknown["shards"]["count"], unknown["shards"]["sure"]) == (1, False)
    assert known["shards"]["count"] > 1
    assert len([each for each in known["start"]["processes"] if each["role"] == "server"]) == known["shards"]["count"]
    assert "80 MB" in known["shards"]["message"]


def test_the_balance_of_servers_under_rules_by_layer_is_said(api: httpx.Client, agent: Agent) -> None:
    size = {"parameters": 1_000_000, "largest_parameter": 400_000}
    roles = {"server": {"count": 8}, "worker": {"count": 1, "device": "cpu"}}
    by_layer, by_element = (
        plan(api, strategy={"name": "sync"}, optimizer={"name": name}, roles=roles, size=size)["shards"]["message"]
        for name in ("lars", "adam")
    )
    assert by_element == "roles.server.count: 8."
    assert "the largest is 40% of the model: its server has at least 3.2 times the mean." in by_layer


def test_mistakes_and_warnings_are_those_of_a_submit(api: httpx.Client, agent: Agent) -> None:
    wrong = api.post("/jobs/plan", json={"spec": spec(strategy={"name": "adag", "windw": 2})})
    assert (wrong.status_code, wrong.json()["errors"][0]["pointer"]) == (422, "/spec/strategy/windw")
    heavy = {"strategy": {"name": "async"}, "optimizer": {"name": "sgd", "momentum": 0.9}}
    assert plan(api, **heavy)["warnings"] == api.post("/jobs/validate", json={"spec": spec(**heavy)}).json()["warnings"]


TABLE = {
    "name": "user",
    "row_bytes": 100,
    "keys": 40.0,
    "push_bytes": 900.0,
    "pull_bytes": 800.0,
    "samples": 1000,
    "distinct": 500,
    "growth": 0.5,
    "cached": 0.4,
    "cache_bound": 4,
}


def test_tables_are_forecast_from_measured_keys_or_said_to_be_unknown(api: httpx.Client, agent: Agent) -> None:
    """Keys grow as the root of samples: 100 times the samples have 10 times the keys."""
    assert plan(api)["tables"] is None
    unknown = plan(api, tables={"user": {"most": 2048}})["tables"]
    assert (unknown["items"], "--plan --measure" in unknown["message"]) == ([], True)
    size = SIZE | {"epoch_samples": 100_000, "tables": [TABLE]}
    roles = {"server": {"count": 2}, "worker": {"count": 1, "device": "cpu"}}
    found = plan(api, size=size, roles=roles, stop={"epochs": 3})
    [user] = found["tables"]["items"]
    assert (user["rows"], user["server_bytes"], user["push_bytes"], user["cached"]) == (5000, 250_000, 900.0, 0.4)
    [node] = [each for each in found["nodes"] if each["gpu"] is None]
    assert user["full_at_rows"] == round((node["total"] - node["needed"]) // 2 / 100 * 2)
    assert user["full_at_samples"] == pytest.approx(1000 * (user["full_at_rows"] / 500) ** 2)
    assert user["message"].startswith("500 distinct keys in 1,000 examples, growing as examples^0.50. Rows are those after 100,000")
    [bounded] = plan(api, size=size, roles=roles, stop={"epochs": 3}, tables={"user": {"most": 2048}})["tables"]["items"]
    assert (bounded["rows"], bounded["full_at_samples"]) == (2048, None)
    [endless] = plan(api, size=SIZE | {"tables": [TABLE]}, stop={"epochs": 3})["tables"]["items"]
    assert (endless["rows"], "not known how many examples" in endless["message"]) == (None, True)
