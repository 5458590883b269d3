"""A job's life, driven step by step: a simulated agent speaks HTTP, the controller makes its passes when told."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest
from sqlalchemy import event, text

from backend.jobs import service as jobs
from backend.jobs.backoff import JobBackoff
from backend.metrics import service as metrics
from backend.nodes import repository as node_rows
from backend.platform import Platform
from backend.scheduler.controller import Controller
from backend.scheduler.placing.waiting_line import WaitingLine
from benchmarks import rows
from gradstream.center.entries import Checkpoint
from gradstream.center.ledger import Account
from gradstream.metrics import LEDGER, SHARE, SLICE, Point
from gradstream.process.exits import ExitReason
from gradstream.wire import plane
from gradstream.wire.redis import keys
from gradstream.wire.transport.messages import FIELD, Header
from tests.integration.backend.agent import Agent, put_file
from tests.integration.backend.jobs import spec, submit, workers
from tests.integration.backend.running import Running


def test_from_the_queue_to_success(running: Running, platform: Platform) -> None:
    assert running.status == ("running", None)
    assert set(running.processes(1)) == {"server-0.0", "worker-0.0", "worker-1.0", "evaluator.0"}
    j = running.agent.order("worker-0").plane_id
    assert plane.exists(platform.plane, j)

    running.succeed()

    assert running.status == ("succeeded", None)
    artifacts = {artifact["name"]: artifact["kind"] for artifact in running.items("artifacts")}
    assert artifacts == {"model.safetensors": "model", "job.yaml": "job", "metrics.parquet": "metrics"}
    model = running.api.get(f"/jobs/{running.id}/artifacts/model.safetensors")
    assert model.content == b"the model"
    assert "attachment" in model.headers["content-disposition"]
    assert running.agent.heartbeat() == {}, "nothing is desired any more"
    assert not plane.exists(platform.plane, j), "nothing is left on the data plane"
    told = [event["data"]["to"] for event in running.items("events") if event["kind"] == "status"]
    assert told == ["queued", "starting", "running", "succeeded"]


def test_whatever_the_evaluator_says_a_job_ends(running: Running) -> None:
    running.succeed(b'{"eval": {"f1": NaN, "a\\u0000b": Infinity, "\\ud800": 1}}')
    assert running.status == ("succeeded", None)
    assert running.items("events")[-1]["data"]["result"]["eval"] == {"f1": None, "a\ufffdb": None, "?": 1}


def test_nothing_is_desired_before_the_plane_is_there(
    api: httpx.Client, agent: Agent, controller: Controller, tmp_path: Path, platform: Platform
) -> None:
    submit(api, tmp_path)
    with platform.database.transaction() as session:
        WaitingLine(JobBackoff(platform.database)).place(session)
    assert agent.heartbeat() == {}
    controller.run_once()
    orders = agent.heartbeat()
    assert {order.label for order in orders.values()} == {"server-0", "worker-0", "worker-1", "evaluator"}
    assert all((order.bundle is None) == (order.role == "server") for order in orders.values())
    assert all(order.plane.password and order.store.token for order in orders.values())


def test_a_mistake_of_the_user_fails_the_job_with_the_end_of_its_log(running: Running) -> None:
    running.agent.log("worker-1", "Traceback\nValueError: no\n")
    running.agent.exit("worker-1", reason=ExitReason.USER_ERROR, code=1, message="loss(): ValueError: no")
    running.controller.run_once()
    assert running.status == ("stopping", "user_error")
    assert running.agent.heartbeat() == {}, "the others are killed"
    running.end_all()
    assert running.status == ("failed", "user_error")
    assert running.job["message"] == "worker-1: loss(): ValueError: no"
    failure = next(e for e in running.items("events") if e["data"].get("to") == "failed" and "log_tail" in e["data"])
    assert failure["data"]["log_tail"] == "Traceback\nValueError: no"


def test_a_lost_shard_makes_a_new_attempt_from_the_last_checkpoint(running: Running) -> None:
    running.agent.commit_checkpoint(1)
    running.agent.commit_checkpoint(2)
    fenced = running.agent.order("worker-0")
    running.agent.exit("server-0", reason=ExitReason.KILLED, code=-9, message="killed by signal 9")
    running.controller.run_once()
    assert running.status[0] in ("queued", "starting")
    assert put_file(running.agent.http, fenced, "checkpoints/3/worker-0.safetensors", b"late").status_code == 409
    running.end_all()
    running.start()
    assert running.status == ("running", None)
    assert running.job["retries_used"] == 1
    first, second = running.items("attempts")
    assert (first["status"], first["reason"], first["checkpoint"]) == ("lost", "killed", 2)
    assert second["resumed_from"] == {"attempt": 1, "checkpoint": 2}
    order = running.agent.order("worker-0")
    assert (order.resume and order.resume.checkpoint, order.attempt) == (2, 2)
    assert running.agent.resume("worker-0", "worker-0") == [("1/checkpoints/2/worker-0.safetensors", b"state")]
    assert running.agent.resume("worker-0", "worker-7") == []


def test_retries_end(api: httpx.Client, agent: Agent, controller: Controller, tmp_path: Path) -> None:
    running = Running(api, agent, controller, tmp_path, retries=0)
    agent.exit("server-0", reason=ExitReason.KILLED, code=-9, message="killed by signal 9")
    controller.run_once()
    running.end_all()
    assert running.status == ("failed", "killed")
    assert running.job["message"] == "server-0 ended: killed by signal 9. No new attempt: the job file allows no retries."


def test_a_lost_worker_starts_again_while_the_others_go_on(running: Running) -> None:
    running.agent.exit("worker-1", reason=ExitReason.KILLED, code=-9, message="killed by signal 9")
    running.controller.run_once()
    assert running.status == ("running", None)
    assert running.processes(1)["worker-1.0"] == "exited"
    running.agent.run_all()
    assert running.processes(1)["worker-1.1"] == "running"
    assert running.agent.order("worker-1").incarnation == 1
    assert running.job["retries_used"] == 1
    running.succeed()
    assert running.status == ("succeeded", None)


def test_under_bsp_a_lost_worker_makes_a_new_attempt(
    api: httpx.Client, agent: Agent, controller: Controller, tmp_path: Path
) -> None:
    running = Running(api, agent, controller, tmp_path, gate="bsp")
    agent.exit("worker-1", reason=ExitReason.KILLED, code=-9)
    controller.run_once()
    running.end_all()
    running.start()
    assert running.job["attempt"] == 2


def test_redis_restarted_empty_is_a_new_attempt_that_is_not_charged(running: Running, platform: Platform) -> None:
    platform.plane.flushall()
    running.controller.run_once()
    assert running.items("attempts")[0]["reason"] == "plane_lost"
    running.end_all(ExitReason.PLANE_LOST)
    running.start()
    assert running.status == ("running", None)
    assert (running.job["attempt"], running.job["retries_used"]) == (2, 0)


def test_stop_lets_the_workers_finish_then_kills(running: Running, platform: Platform) -> None:
    with platform.database.transaction() as session:
        ready = [Point(SHARE.name, 0, 0, 0, 0, 1.0, 100)]
        metrics.store(session, jobs.lock(session, UUID(running.id)), 1, [("worker-0.0", 0, ready)])
    entries = platform.plane.xlen(f"gs:{{{running.agent.order('worker-0').plane_id}}}:log")
    assert running.api.post(f"/jobs/{running.id}/stop").json()["status"] == "stopping"
    running.controller.run_once()
    assert platform.plane.xlen(f"gs:{{{running.agent.order('worker-0').plane_id}}}:log") == entries + 1, "stop is in the log"
    assert len(running.agent.heartbeat()) == 4, "they may still write their last checkpoint"
    with platform.database.transaction() as session:
        session.execute(text("UPDATE jobs SET stop_at = clock_timestamp()"))
    assert running.agent.heartbeat() == {}, "the time is over"
    running.end_all()
    assert running.status == ("cancelled", "stopped_by_user")


def test_a_stop_does_not_wait_for_workers_that_never_got_ready(running: Running, platform: Platform) -> None:
    hang = {"phase": "dataset()", "line": "w.py:12", "call": "urlopen", "seconds": 30.0}
    running.agent.reports[running.agent.order("worker-1").id]["hang"] = hang
    running.agent.heartbeat()
    [alert] = running.job["progress"]["alerts"]
    assert alert.startswith("worker-1 has been in dataset() for more than 30 s, at w.py:12 (urlopen)")
    assert alert in [event["message"] for event in running.items("events") if event["kind"] == "warning"]
    running.api.post(f"/jobs/{running.id}/stop")
    assert "worker-1" not in {order.label for order in running.agent.heartbeat().values()}, "it would not hear of the stop"
    with platform.database.transaction() as session:
        left = session.scalar(text("SELECT extract(epoch FROM stop_at - clock_timestamp()) FROM jobs"))
        assert left is not None
    assert left <= 2, "there is nothing to keep"


def test_a_large_model_has_longer_to_be_stored_when_its_job_is_stopped(running: Running, platform: Platform) -> None:
    with platform.database.transaction() as session:
        job = jobs.lock(session, UUID(running.id))
        slices = [Point(SLICE.name, -1, 0, 0, 0, 1.0, 300 * 2**20)]
        metrics.store(session, job, 1, [("server-0.0", 0, slices), ("server-1.0", 0, slices)])
    running.api.post(f"/jobs/{running.id}/stop")
    with platform.database.transaction() as session:
        left = session.scalar(text("SELECT extract(epoch FROM stop_at - clock_timestamp()) FROM jobs"))
        assert left is not None
    assert left > 300, "600 s more than others have, less what this test has taken"


@pytest.mark.parametrize(("taken", "told"), [(7, 2), (5, 0)], ids=["later-pushes", "all"])
def test_what_a_killed_shard_has_not_told_is_added(running: Running, platform: Platform, taken: int, told: int) -> None:
    accounts = {0: Account(5, 4, 0, 1), 1: Account(3, 3)}
    points = [
        Point(metric.name, rank, 0, 0, 0, 1.0, getattr(account, metric.name.removeprefix("ledger/")))
        for rank, account in accounts.items()
        for metric in LEDGER
    ]
    with platform.database.transaction() as session:
        metrics.store(session, jobs.lock(session, UUID(running.id)), 1, [("server-0.0", 0, points)])
    j = running.agent.order("worker-0").plane_id
    platform.plane.hset(keys.ledger(j), mapping={"0": f"{taken} {taken - 1} 0 1", "1": "3 3 0 0"})
    running.api.post(f"/jobs/{running.id}/stop")
    running.controller.run_once()
    running.end_all(ExitReason.KILLED)
    assert running.status == ("cancelled", "stopped_by_user")
    found = [event["data"]["completed"] for event in running.items("events") if "completed" in (event["data"] or {})]
    assert found == [told] * (told > 0)
    ledger = running.api.get(f"/jobs/{running.id}/overview").json()["ledger"]
    assert (ledger["pushed"], ledger["applied"], ledger["dropped"]) == (taken + 3, taken + 2, 1)


def test_a_clean_stop_is_a_cancelled_job_with_its_last_checkpoint(running: Running) -> None:
    running.api.post(f"/jobs/{running.id}/stop")
    running.controller.run_once()
    running.agent.commit_checkpoint(0)
    running.agent.exit(reason=ExitReason.STOPPED)
    running.controller.run_once()
    assert running.status == ("cancelled", "stopped_by_user")
    assert running.items("attempts")[0]["checkpoint"] == 0


def test_a_job_that_runs_too_long_is_timed_out(
    api: httpx.Client, agent: Agent, controller: Controller, tmp_path: Path, platform: Platform
) -> None:
    """What it waited and what it took to start does not count; what its lost attempts ran does."""
    running = Running(api, agent, controller, tmp_path, timeout="1h")

    def pass_time(what: str) -> None:
        with platform.database.transaction() as session:
            session.execute(text(what))
        controller.run_once()

    pass_time("UPDATE jobs SET started_at = started_at - interval '2 hours'")
    pass_time("UPDATE attempts SET running_at = running_at - interval '40 minutes'")
    agent.exit("server-0", reason=ExitReason.NODE_LOST, code=-1)
    controller.run_once()
    running.end_all()
    pass_time("UPDATE attempts SET running_at = running_at - interval '2 hours', ended_at = ended_at - interval '2 hours'")
    running.start()
    assert running.status == ("running", None)
    pass_time("UPDATE attempts SET running_at = running_at - interval '30 minutes' WHERE number = 2")
    assert running.status == ("stopping", "timeout")
    agent.exit(reason=ExitReason.STOPPED)
    controller.run_once()
    assert running.status == ("timed_out", "timeout")


def test_a_checkpoint_is_asked_for_once_until_it_is_there(
    api: httpx.Client, agent: Agent, controller: Controller, tmp_path: Path, platform: Platform
) -> None:
    Running(api, agent, controller, tmp_path, checkpoint={"every": "30s"})
    log = keys.log(agent.order("worker-0").plane_id)

    def requested_after_a_while() -> list[int]:
        with platform.database.transaction() as session:
            for column in ("running_at", "checkpoint_requested_at"):
                session.execute(text(f"UPDATE attempts SET {column} = {column} - interval '31 s'"))
        controller.run_once()
        found: Any = platform.plane.xrange(log)
        headers = [Header.unpack(fields[FIELD]) for _, fields in found]
        return [header.entry.number for header in headers if header and isinstance(header.entry, Checkpoint)]

    assert requested_after_a_while() == [1]
    assert requested_after_a_while() == [1], "one is under way"
    agent.commit_checkpoint(1)
    assert requested_after_a_while() == [1, 2]


def test_a_silent_node_is_lost_with_its_processes(running: Running, platform: Platform) -> None:
    with platform.database.transaction() as session:
        session.execute(text("UPDATE nodes SET last_seen_at = last_seen_at - interval '11 min'"))
        node_rows.stamp(session)
    running.controller.run_once()
    assert running.processes(1)["worker-0.0"] == "running", "nobody could have heard it: the API has just come"
    with platform.database.transaction() as session:
        session.execute(text("UPDATE presence SET up_since = up_since - interval '20 min', last_seen_at = clock_timestamp()"))
    running.controller.run_once()
    assert set(running.processes(1).values()) == {"lost"}
    [node] = running.api.get("/nodes").json()["items"]
    assert (node["status"], node["slots_used"]) == ("lost", 0)
    assert running.status == ("queued", "node_lost")
    running.controller.run_once()
    assert running.status == ("queued", "waiting_for_nodes")
    running.agent.heartbeat()
    running.start()
    assert running.status == ("running", None), "the node is back"
    assert running.job["retries_used"] == 0


def test_an_agent_that_starts_again_has_lost_its_processes(running: Running) -> None:
    old = running.agent.token
    running.agent.register()
    answer = running.agent.http.post("/agent/heartbeat", json={}, headers={"Authorization": f"Bearer {old}"})
    assert answer.status_code == 401, "the former agent is told that it was replaced"
    assert set(running.processes(1).values()) == {"lost"}


def test_jobs_wait_with_a_reason_and_run_when_slots_become_free(running: Running, tmp_path: Path) -> None:
    api, controller = running.api, running.controller
    big = submit(api, tmp_path, name="big", roles=workers(3))
    huge = submit(api, tmp_path, name="huge", roles=workers(5))
    later = submit(api, tmp_path, name="later", roles=workers(1))
    important = submit(api, tmp_path, name="important", roles=workers(4), priority=90)
    controller.run_once()
    waiting = {
        job["name"]: (job["position"], job["reason"], job["message"]) for job in api.get("/jobs?status=queued").json()["items"]
    }
    assert waiting == {
        "important": (1, "no_capacity", "Waits for 4 free slots; 2 of 4 are free."),
        "big": (2, "no_capacity", "Waits for 3 free slots; 2 of 4 are free."),
        "huge": (
            3,
            "too_large",
            "Needs 5 slots, and all connected machines together have 4. Use fewer workers (roles.worker.count), or add a machine "
            "(`gradstream join`).",
        ),
        "later": (4, "behind", "Waits for its turn behind other jobs."),
    }
    for job in (important, big, huge):
        api.post(f"/jobs/{job['id']}/stop")
    controller.run_once()
    assert api.get(f"/jobs/{later['id']}").json()["status"] == "starting"


def test_jobs_go_ahead_on_places_that_a_waiting_job_could_never_use(
    api: httpx.Client, anonymous: httpx.Client, join_token: str, controller: Controller, tmp_path: Path
) -> None:
    Agent(anonymous, join_token, "gpus", slots=4, gpus=1)
    on_gpus, on_cpus = workers(1, "cuda"), workers(2)
    kinds = {"first": on_gpus, "second": on_gpus, "small": on_cpus, "other": on_cpus}
    jobs = {name: submit(api, tmp_path, name=name, roles=roles) for name, roles in kinds.items()}
    plan = api.post("/jobs/plan", json={"spec": spec(roles=on_cpus)}).json()["start"]
    controller.run_once()
    now = {name: api.get(f"/jobs/{job['id']}").json() for name, job in jobs.items()}
    assert {name: job["status"] for name, job in now.items()} == {
        "first": "starting",
        "second": "queued",
        "small": "starting",
        "other": "queued",
    }
    assert (now["second"]["reason"], now["other"]["reason"], plan["reason"]) == ("no_gpu", "no_capacity", "no_capacity")


def test_a_job_without_servers_says_how_its_workers_combine_pushes(
    api: httpx.Client, anonymous: httpx.Client, join_token: str, controller: Controller, tmp_path: Path
) -> None:
    for name in ("one", "other"):
        Agent(anonymous, join_token, name, slots=3)
    found = {}
    for count, servers in ((2, 0), (4, 0), (1, 1)):
        roles = {"server": {"count": servers}, "worker": {"count": count, "device": "cpu"}}
        job = submit(api, tmp_path, name=f"of-{count}", roles=roles, strategy={"name": "sync"})
        assert job["collective"] is None
        controller.run_once()
        found[count] = api.get(f"/jobs/{job['id']}").json()["collective"]
        api.post(f"/jobs/{job['id']}/stop")
    assert found == {2: "shared", 4: "gloo", 1: None}


@pytest.mark.parametrize("share", [1, 0.5])
def test_workers_without_servers_that_each_have_a_gpu_combine_pushes_by_nccl(
    share: float, api: httpx.Client, anonymous: httpx.Client, join_token: str, controller: Controller, tmp_path: Path
) -> None:
    agent = Agent(anonymous, join_token, "gpus", slots=4, gpus=2)
    roles = {"server": {"count": 0}, "worker": {"count": 2, "device": "cuda", "gpu": share}}
    asked = {"name": "by-nccl", "strategy": {"name": "sync"}, "roles": roles}
    planned = api.post("/jobs/plan", json={"spec": spec(**asked), "size": {"parameters": 1000}}).json()
    job = submit(api, tmp_path, **asked)
    controller.run_once()
    job = api.get(f"/jobs/{job['id']}").json()
    agent.heartbeat()
    orders = [order for order in agent.orders.values() if order.role == "worker"]
    if share == 1:
        assert (job["collective"], job["shards"]) == ("nccl", 1)
        assert job["message"].endswith("They combine pushes by NCCL.")
        assert planned["shards"]["message"].endswith("holds the whole model, and they combine pushes by NCCL, as each has a GPU.")
        assert planned["local_share"] == 1
    else:
        assert (job["collective"], job["shards"]) == ("shared", 2)
    assert {order.spec.roles.server.collective for order in orders} == {job["collective"]}


def test_a_long_queue_costs_a_pass_no_more_than_a_short_one(api: httpx.Client, controller: Controller, platform: Platform) -> None:
    def asked() -> list[str]:
        controller.run_once()  # each is told why it waits
        said: list[str] = []

        def note(connection: object, cursor: object, statement: str, *rest: object) -> None:
            said.append(statement)

        event.listen(platform.database.engine, "before_cursor_execute", note)
        controller.run_once()
        event.remove(platform.database.engine, "before_cursor_execute", note)
        return said

    asks = []
    for more in (1, 40):
        with platform.database.transaction() as session:
            rows.insert_jobs(session, more, statuses=("queued",), seed=more)
            session.execute(text("UPDATE jobs SET attempt = 0"))
        asks.append(asked())
    assert len(asks[1]) < len(asks[0]) + 10, "it may also tidy up"
    assert not any("jobs.spec" in statement for statement in asks[1]), "nothing has changed since the last look"
    assert {job["message"] for job in api.get("/jobs").json()["items"]} == {"No machine is connected; the job starts when one is."}
