"""A job at one glance, and one of its processes restarted or stopped."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from sqlalchemy import event

from backend.overview import service
from backend.platform import Platform
from gradstream import metrics
from gradstream.metrics import Point
from gradstream.process.exits import ExitReason
from gradstream.spec import JobSpec
from gradstream.wire.redis import keys
from gradstream.wire.telemetry import records
from gradstream.wire.transport.messages import FIELD, Header
from tests.integration.backend.running import Running


def say(platform: Platform, running: Running, source: str, number: int, **values: float) -> None:
    """Metrics of the live attempt, as a process sends them; `_` in a name is its `/`."""
    j = running.agent.order("worker-0").plane_id
    place = (0, number + 1, 32 * number, number, 100.0 + number)
    points = [Point(name.replace("_", "/", 1), *place, value) for name, value in values.items()]
    fields = {"source": source, "batch": number, "points": records.pack_points(points)}
    platform.plane.xadd(keys.metrics(j), fields)  # type: ignore[arg-type]


def look(running: Running) -> dict[str, Any]:
    answer = running.api.get(f"/jobs/{running.id}/overview")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def act(running: Running, label: str, what: str) -> Any:
    return running.api.post(f"/jobs/{running.id}/processes/{running.agent.order(label).id}/{what}")


def choices(running: Running, label: str) -> dict[str, Any]:
    found: dict[str, Any] = running.api.get(f"/jobs/{running.id}/processes/{running.agent.order(label).id}/choices").json()
    return found


def test_a_job_that_has_just_begun(running: Running) -> None:
    found = look(running)
    assert (found["attempt"], found["failures"], found["best"], found["speed"], found["ledger"]) == (1, [], [], None, None)
    (attempt,) = found["attempts"]
    assert (attempt["status"], attempt["resumed_from"], attempt["cost"]) == ("running", None, None)
    assert attempt["queued_at"] <= attempt["started_at"] <= attempt["running_at"]


def test_history_is_read_only_where_it_is_told_of(running: Running, platform: Platform) -> None:
    def asked() -> list[str]:
        said: list[str] = []

        def note(connection: object, cursor: object, statement: str, *rest: object) -> None:
            said.append(statement)

        event.listen(platform.database.engine, "before_cursor_execute", note)
        with platform.database.transaction() as session:
            service.overview(session, UUID(running.id))
        event.remove(platform.database.engine, "before_cursor_execute", note)
        return [statement for statement in said if "FROM events" in statement]

    assert asked() == [], "one attempt has returned to no checkpoint"
    running.agent.exit("server-0", reason=ExitReason.NODE_LOST, code=-1)
    running.controller.run_once()
    running.end_all()
    running.start()
    (statement,) = asked()
    assert "events.kind IN" in statement


def test_where_the_time_goes_and_the_best_evaluation(running: Running, platform: Platform) -> None:
    say(platform, running, "server-0.0", 0, train_active=1.0)
    for number in range(3):
        say(platform, running, "worker-0.0", number, time_compute=0.25, time_data=0.0, time_wait=0.5)
    say(platform, running, "evaluator.0", 0, eval_accuracy=0.5)
    say(platform, running, "evaluator.0", 1, eval_accuracy=0.75)
    say(platform, running, "evaluator.0", 2, eval_accuracy=0.625)
    running.controller.run_once()
    found = look(running)
    (worker,) = found["workers"]
    assert (worker["label"], worker["pushes"], worker["compute"], worker["wait"]) == ("worker-0", 2, 0.5, 1.0)
    assert (worker["before"], found["seconds"]) == (0.0, 2.0)
    assert found["speed"] is None, "nothing has been applied"
    say(platform, running, "server-0.0", 1, train_staleness=0.0)
    running.controller.run_once()
    speed = look(running)["speed"]
    assert (speed["samples_per_second"], speed["workers"], speed["factor"], speed["one_alone"]) == (32.0, 2, None, None)
    assert "only 1 of 2 workers" in speed["message"]
    (best,) = found["best"]
    assert (best["value"], best["samples"], best["higher_is_better"]) == (0.75, 32, True)


def test_user_code_may_send_under_any_name(running: Running, platform: Platform) -> None:
    say(platform, running, "worker-x.0", 0, time_compute=0.25)
    say(platform, running, "worker-0.0", 0, time_compute=0.25)
    running.controller.run_once()
    assert [worker["label"] for worker in look(running)["workers"]] == ["worker-0"]


def test_what_the_machine_says_of_a_process_is_stored_once(running: Running) -> None:
    agent = running.agent
    id = agent.order("worker-0").id
    agent.reports[id] |= {"usage": {"at": 1000.5, "cpu": 0.5, "memory": 4096, "gpu": None, "gpu_memory": None}}
    agent.heartbeat()
    agent.heartbeat()
    (worker,) = look(running)["workers"]
    assert (worker["cpu"], worker["memory"], worker["gpu"]) == (0.5, 4096, None)
    taken = {one["label"]: one for node in running.api.get("/nodes").json()["items"] for one in node["processes"]}
    assert (taken["worker-0"]["cpu"], taken["worker-0"]["memory"], taken["worker-0"]["gpu_memory"]) == (0.5, 4096, None)
    assert taken["server-0"]["memory"] is None, "it has not been measured"
    stored = running.api.get(f"/jobs/{running.id}/metrics", params={"names": metrics.CPU.name}).json()["items"]
    assert [(batch["source"], len(batch["points"])) for batch in stored] == [("worker-0", 1)]
    agent.reports[id] |= {"usage": {"at": 1002.5, "cpu": 1.0, "memory": 8192, "gpu": 0.75, "gpu_memory": 1 << 30}}
    agent.heartbeat()
    assert look(running)["workers"][0]["memory"] == 8192
    [shown] = [one for node in running.api.get("/nodes").json()["items"] for one in node["processes"] if one["label"] == "worker-0"]
    assert (shown["memory"], shown["gpu"], shown["gpu_memory"]) == (8192, 0.75, 1 << 30)


def test_a_restarted_worker_is_another_incarnation_and_costs_no_retry(running: Running, platform: Platform) -> None:
    offered = choices(running, "worker-0")
    assert offered["restart"]["possible"]
    assert not offered["restart"]["new_attempt"]
    assert "The others continue." in offered["restart"]["message"]
    old = running.agent.order("worker-0").id
    answer = act(running, "worker-0", "restart")
    assert (answer.status_code, answer.json()["reason"]) == (200, "restarted")
    assert act(running, "worker-0", "restart").status_code == 409, "it has ended"
    running.controller.run_once()
    assert old not in running.agent.heartbeat(), "its node ends it"
    running.agent.run_all()
    assert running.processes(1)["worker-0.1"] == "running"
    assert running.job["retries_used"] == 0
    (failure,) = look(running)["failures"]
    assert (failure["label"], failure["reason"], failure["message"]) == ("worker-0", "restarted", "ada restarted it")
    assert failure["respawned"]
    assert failure["seconds"] > 0
    say(platform, running, "worker-0.1", 0, time_compute=0.25)
    running.controller.run_once()
    (worker,) = look(running)["workers"]
    assert worker["recovering"] == failure["seconds"]


def test_a_restarted_shard_takes_the_job_back_to_its_checkpoint(running: Running) -> None:
    running.agent.commit_checkpoint(1)
    offered = choices(running, "server-0")["restart"]
    assert offered["new_attempt"]
    assert "checkpoint 1 of attempt 1" in offered["message"]
    assert "at least 0 pushes are rolled back" in offered["message"]
    assert act(running, "server-0", "restart").status_code == 200
    running.controller.run_once()
    running.end_all()
    running.start()
    assert running.status == ("running", None)
    first, second = look(running)["attempts"]
    assert (first["status"], first["reason"]) == ("lost", "restarted")
    assert first["cost"]["seconds"] > 0
    assert second["resumed_from"] == {"attempt": 1, "checkpoint": 1}
    (failure,) = look(running)["failures"]
    assert (failure["label"], failure["respawned"]) == ("server-0", False), "the others ended because of it"


def test_a_restart_beside_a_shard_that_has_ended_is_a_new_attempt_and_says_so(running: Running) -> None:
    running.agent.exit("server-0")
    offered = choices(running, "evaluator")["restart"]
    assert offered["new_attempt"]
    assert "All processes end" in offered["message"]
    act(running, "evaluator", "restart")
    running.controller.run_once()
    assert running.status == ("queued", "restarted")


def test_a_stopped_worker_is_asked_to_leave_and_the_others_go_on(running: Running, platform: Platform) -> None:
    j = running.agent.order("worker-1").plane_id
    assert act(running, "worker-1", "stop").status_code == 200
    _, last = platform.plane.xrevrange(keys.log(j), count=1)[0]
    header = Header.unpack(last[FIELD])
    assert header is not None
    assert header.entry.rank == 1  # type: ignore[union-attr]
    running.agent.exit("worker-1", reason=ExitReason.STOPPED)
    running.controller.run_once()
    assert running.status == ("running", None)
    assert "worker-1.1" not in running.processes(1)
    assert look(running)["failures"] == []


def test_the_job_file_in_two_lengths(running: Running) -> None:
    found = running.api.get(f"/jobs/{running.id}/config").json()
    assert found["short"] == {
        "name": "small",
        "workload": {"entrypoint": "work:Work"},
        "strategy": {"name": "adag", "window": 2},
        "stop": {"steps": 10},
        "roles": {"worker": {"count": 2, "device": "cpu"}},
    }
    assert found["full"]["batch_size"] == 32
    for length in ("short", "full"):
        assert JobSpec.model_validate(found[length]) == JobSpec.model_validate(running.job["spec"])


def test_the_effective_values_have_the_defaults_of_strategy_gate_and_arguments(running: Running) -> None:
    found = running.api.get(f"/jobs/{running.id}/config").json()["effective"]
    assert (found["gate"], found["on_worker_loss"], found["strategy"]["window"]) == ({"mode": "asp"}, "continue", 2)
    assert found["workload"]["args"] == {"hidden": 8}
    assert found["roles"]["server"]["optimizer"]["lr"] == 1


def test_what_cannot_be_stopped_alone(running: Running) -> None:
    for label in ("server-0", "evaluator"):
        assert not choices(running, label)["stop"]["possible"]
        assert act(running, label, "stop").status_code == 409
    running.succeed()
    assert not choices_of_ended(running)["restart"]["possible"]


def choices_of_ended(running: Running) -> dict[str, Any]:
    id = next(process["id"] for process in running.items("processes") if process["label"] == "worker-0")
    found: dict[str, Any] = running.api.get(f"/jobs/{running.id}/processes/{id}/choices").json()
    return found
