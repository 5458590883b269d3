"""Checkpoints as sets of files: parts of many files, files of earlier checkpoints, who may store what, and earlier versions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest
import torch
from safetensors.torch import save
from sqlalchemy import text

from backend.platform import Platform
from gradstream.center.entries import Committed, Entry
from gradstream.process.exits import ExitReason
from gradstream.process.order import plane_id
from gradstream.process.saving.part_list import MAX_FILES, MAX_RESTS_ON, PartList
from gradstream.wire.redis import keys
from gradstream.wire.transport.messages import FIELD, Header
from tests.integration.backend.agent import about
from tests.integration.backend.jobs import submit
from tests.integration.backend.running import Running

ROWS = "shard-0.rows-0.safetensors"


def next_attempt(running: Running) -> None:
    running.agent.exit("server-0", reason=ExitReason.KILLED, code=-9)
    running.controller.run_once()
    running.end_all()
    running.start()


def earlier(attempt: int, checkpoint: int, name: str, content: bytes) -> dict[str, Any]:
    return {"attempt": attempt, "checkpoint": checkpoint, "name": name, **about(content)}


def commit(running: Running, number: int, rows: bytes, rests_on: list[dict[str, Any]]) -> None:
    """A checkpoint whose shard has a file of rows, and rests on earlier ones."""
    agent, folder = running.agent, f"checkpoints/{number}/"
    assert agent.put("server-0", folder + ROWS, rows).status_code == 200
    assert agent.put_list("server-0", f"{folder}shard-0.json", {ROWS: rows}, rests_on).status_code == 200
    agent.commit_checkpoint(number)


def paths(running: Running) -> set[str]:
    found = running.api.get(f"/jobs/{running.id}/files").json()["files"]
    return {f"{file['attempt']}/{file['path']}" for file in found if file["path"].startswith("checkpoints/")}


def on_disk(running: Running, platform: Platform) -> set[str]:
    folder = platform.files.of_job(UUID(running.id))
    return {str(path.relative_to(folder)) for path in folder.glob("*/checkpoints/*/*")}


def test_a_part_of_many_files_is_whole_with_its_state_and_comes_back_whole(running: Running) -> None:
    agent, folder = running.agent, "checkpoints/1/"
    files = {f"shard-0.rows-{number}.safetensors": bytes([number]) * number for number in range(3)}
    for name, content in files.items():
        assert agent.put("server-0", folder + name, content).json()["committed_checkpoint"] is None
    assert agent.put_list("server-0", f"{folder}shard-0.json", files, []).json()["committed_checkpoint"] is None
    agent.commit_checkpoint(1)
    next_attempt(running)
    own = [(f"1/{folder}{name}", content) for name, content in files.items()]
    assert agent.resume("server-0", "shard-0") == [(f"1/{folder}shard-0.safetensors", b"state"), *own]
    assert agent.resume("worker-1", "worker-1") == [(f"1/{folder}worker-1.safetensors", b"state")]


def test_the_servers_hear_that_a_checkpoint_is_committed(running: Running, platform: Platform) -> None:
    """Then they make the next one by samples, which may rest on its rows."""

    def told() -> list[Entry]:
        log: Any = platform.plane.xrange(keys.log(plane_id(UUID(running.id), 1)))
        headers = [Header.unpack(fields[FIELD]) for _, fields in log]
        return [header.entry for header in headers if header and isinstance(header.entry, Committed)]

    running.agent.commit_checkpoint(1)
    assert told() == [Committed(1)]
    commit(running, 2, b"base", [])
    assert told() == [Committed(1), Committed(2)]
    commit(running, 3, b"x", [earlier(1, 2, ROWS, b"base")])
    assert told() == [Committed(1), Committed(2), Committed(3)]


def test_a_checkpoint_is_not_committed_while_a_listed_file_is_another(running: Running) -> None:
    agent, folder = running.agent, "checkpoints/1/"
    agent.put("server-0", folder + ROWS, b"rows")
    assert agent.put_list("server-0", f"{folder}shard-0.json", {ROWS: b"rows"}, []).status_code == 200
    agent.put("server-0", folder + ROWS, b"other")
    manifest = {"checkpoint": 1, "members": [0, 1], "servers": 1}
    for label, name in (("worker-0", "worker-0"), ("worker-1", "worker-1"), ("server-0", "shard-0")):
        agent.put(label, f"{folder}{name}.safetensors")
    assert agent.put("server-0", f"{folder}manifest.json", json.dumps(manifest).encode()).json()["committed_checkpoint"] is None
    agent.put("server-0", folder + ROWS, b"rows")
    assert agent.put("server-0", f"{folder}shard-0.safetensors").json()["committed_checkpoint"] == 1


def test_the_event_of_a_commit_says_what_a_job_that_never_ends_still_needs(running: Running) -> None:
    """Its workers have pushed 7 and 5 mini-batches; which data they are of does not matter to the manifest of another job."""
    agent = running.agent
    agent.commit_checkpoint(1)
    for label, name in (("worker-0", "worker-0"), ("worker-1", "worker-1"), ("server-0", "shard-0")):
        agent.put(label, f"checkpoints/2/{name}.safetensors")
    manifest = {"checkpoint": 2, "members": [0, 1], "servers": 1, "positions": {"0": 7, "1": 5}}
    assert agent.put("server-0", "checkpoints/2/manifest.json", json.dumps(manifest).encode()).json()["committed_checkpoint"] == 2
    data = [event["data"] for event in running.items("events") if event["kind"] == "checkpoint"]
    spec = running.api.get(f"/jobs/{running.id}").json()["spec"]
    assert "first_needed" not in data[0]
    assert data[1]["first_needed"] == 5 * 2 * spec["batch_size"]

    def needed() -> dict[int, Any]:
        listed = running.api.get(f"/jobs/{running.id}/files").json()["checkpoints"]
        return {each["number"]: each["first_needed"] for each in listed}

    assert needed() == {1: None, 2: data[1]["first_needed"]}
    agent.put("server-0", "checkpoints/3/shard-0.safetensors")
    for rank in (0, 1):
        agent.put(f"worker-{rank}", f"checkpoints/3/worker-{rank}.safetensors")
    placed = manifest | {"checkpoint": 3, "offsets": {"0": [40, 8, 16], "1": [32, 24]}}
    assert agent.put("server-0", "checkpoints/3/manifest.json", json.dumps(placed).encode()).json()["committed_checkpoint"] == 3
    data = [event["data"] for event in running.items("events") if event["kind"] == "checkpoint"]
    assert data[2]["first_needed"] == {"0": 32, "1": 8}, "a worker does not know of a third partition yet"
    assert needed() == {2: data[1]["first_needed"], 3: {"0": 32, "1": 8}}
    manifest["checkpoint"] = 4
    strange = manifest | {"positions": {"2": 1}}
    assert agent.put("server-0", "checkpoints/4/manifest.json", json.dumps(strange).encode()).status_code == 422, "another worker"


@pytest.mark.more
def test_files_that_a_kept_checkpoint_rests_on_stay_and_go_with_it(running: Running, platform: Platform) -> None:
    base = earlier(1, 1, ROWS, b"base")
    commit(running, 1, b"base", [])
    commit(running, 2, b"two", [base])
    commit(running, 3, b"three", [base, earlier(1, 2, ROWS, b"two")])
    for number in (4, 5):  # checkpoint 1 is forgotten; the next still rest on its file, and one on no other
        commit(running, number, b"x", [base])
        assert f"1/checkpoints/1/{ROWS}" in paths(running)
        assert paths(running) == on_disk(running, platform)
    assert {path.split("/")[2] for path in paths(running)} == {"1", "4", "5"}
    assert sum(path.startswith("1/checkpoints/1/") for path in paths(running)) == 1
    shown = running.api.get(f"/jobs/{running.id}/files").json()["checkpoints"]
    assert [(each["number"], each["rests_on"]) for each in shown] == [
        (number, [{"attempt": 1, "path": f"checkpoints/1/{ROWS}"}]) for number in (5, 4)
    ]
    next_attempt(running)
    [_, _, rested] = running.agent.resume("server-0", "shard-0")
    assert rested == (f"1/checkpoints/1/{ROWS}", b"base")
    commit(running, 6, b"new base", [])
    commit(running, 7, b"y", [earlier(2, 6, ROWS, b"new base")])
    assert f"1/checkpoints/1/{ROWS}" in paths(running), "the attempt resumes from checkpoint 5, which rests on it"
    next_attempt(running)
    for number in (8, 9, 10):
        commit(running, number, b"z", [])
    assert f"1/checkpoints/1/{ROWS}" not in paths(running)
    assert paths(running) == on_disk(running, platform)


def test_of_an_ended_job_a_collection_keeps_what_its_checkpoints_rest_on(running: Running, platform: Platform) -> None:
    base = earlier(1, 1, ROWS, b"base")
    commit(running, 1, b"base", [])
    for number in (2, 3):
        commit(running, number, b"x", [base])
    running.succeed()
    before = on_disk(running, platform)
    assert f"1/checkpoints/1/{ROWS}" in before
    for path in platform.files.root.rglob("*"):
        age(path)
    running.api.post("/storage/collect").raise_for_status()
    assert on_disk(running, platform) == before


def age(path: Path) -> None:
    import os

    os.utime(path, (0, 0))


BAD_LISTS: list[Any] = [
    [],
    {"files": [{"name": ROWS, "size": 4}]},
    {"files": [{"name": ROWS, **about(b"other")}]},
    {"files": [{"name": ROWS, **about(b"rows"), "size": 5}]},
    {"files": [{"name": "shard-0.rows-1", **about(b"rows")}]},
    {"files": [{"name": ROWS, **about(b"rows")}] * 2},
    {"files": [{"name": ROWS, **about(b"rows")}] * (MAX_FILES + 1)},
    {"files": [{"name": "shard-0.safetensors", **about(b"state")}]},
    {"files": [{"name": "shard-0.json", **about(b"rows")}]},
    {"files": [{"name": "../1/shard-0.rows", **about(b"rows")}]},
    {"files": [{"name": "/etc/passwd", **about(b"rows")}]},
    {"files": [{"name": "worker-0.safetensors", **about(b"state")}]},
    {"files": [{"name": "shard-0." + "x" * 200, **about(b"rows")}]},
    {"files": [{"name": ROWS, "size": -1, "sha256": about(b"rows")["sha256"]}]},
    {"files": [{"name": ROWS, "size": 10**30, "sha256": about(b"rows")["sha256"]}]},
    {"rests_on": [earlier(1, 1, "../../x", b"state")]},
    {"rests_on": [earlier(1, 1, "shard-0.rows-9", b"state")]},
    {"rests_on": [earlier(1, 1, "shard-0.safetensors", b"other")]},
    {"rests_on": [earlier(1, 2, ROWS, b"rows")]},
    {"rests_on": [earlier(2, 1, "shard-0.safetensors", b"state")]},
    {"rests_on": [earlier(10**12, 1, "shard-0.safetensors", b"state")]},
    {"rests_on": [earlier(1, 1, "shard-0.safetensors", b"state")] * (MAX_RESTS_ON + 1)},
    {"files": " " * (1 << 20)},
]


def test_a_list_names_only_what_is_stored_and_its_own(running: Running) -> None:
    running.agent.commit_checkpoint(1)
    running.agent.put("server-0", f"checkpoints/2/{ROWS}", b"rows")
    for content in BAD_LISTS:
        answer = running.agent.put("server-0", "checkpoints/2/shard-0.json", json.dumps(content).encode())
        assert (answer.status_code, str(content)[:90]) == (422, str(content)[:90]), answer.text
    commit(running, 2, b"rows", [earlier(1, 1, "shard-0.safetensors", b"state")])


def test_a_process_stores_its_own_part_and_no_other(running: Running) -> None:
    refused = [
        ("worker-0", "checkpoints/1/worker-1.safetensors"),
        ("worker-0", "checkpoints/1/shard-0.safetensors"),
        ("worker-0", "checkpoints/1/manifest.json"),
        ("worker-0", "model.safetensors"),
        ("worker-1", "tensors.safetensors"),
        ("worker-1", "environment.json"),
        ("server-0", "checkpoints/1/worker-0.safetensors"),
        ("server-0", "model.safetensors"),
        ("server-0", "checkpoints/1/shard-1.safetensors"),
        ("server-0", "checkpoints/1/shard-0.pt"),
        ("server-0", "checkpoints/1/shard-0"),
        ("server-0", "checkpoints/01/shard-0.safetensors"),
        ("server-0", "checkpoints/1/shard-00.safetensors"),
        ("server-0", "checkpoints/1/shard-0.a%2Fb"),
        ("server-0", "checkpoints/1/shard-0." + "x" * 101),
        ("evaluator", "checkpoints/1/worker-0.safetensors"),
        ("evaluator", "checkpoints/1/manifest.json"),
        ("evaluator", "tensors.safetensors"),
    ]
    for label, path in refused:
        answer = running.agent.put(label, path)
        assert (answer.status_code, label, path) == (422, label, path), answer.text
    assert paths(running) == set()


def test_a_committed_checkpoint_stays_as_it_is_but_a_next_incarnation_saves_anew(running: Running) -> None:
    agent = running.agent
    commit(running, 1, b"rows", [])
    for path in (ROWS, "shard-0.json", "shard-0.more", "shard-0.safetensors", "manifest.json"):
        assert agent.put("server-0", f"checkpoints/1/{path}", b"[]").status_code in (409, 422), path
    assert agent.put("server-0", f"checkpoints/1/{ROWS}", b"rows").status_code == 200, "a repeat"
    assert agent.put("worker-0", "checkpoints/1/worker-0.safetensors", b"anew").status_code == 200
    next_attempt(running)
    assert agent.resume("worker-0", "worker-0") == [("1/checkpoints/1/worker-0.safetensors", b"anew")]
    headers = {"Authorization": f"Bearer {agent.order('worker-0').store.token}"}
    for path in ("1/job.yaml", "1/checkpoints/1/none", "2/checkpoints/1/worker-0.safetensors", "1/checkpoints/1/../../job.yaml"):
        assert agent.http.get(f"/process/resume/{path}", headers=headers).status_code == 404, path


def test_a_worker_that_was_lost_at_the_checkpoint_does_not_resume_from_what_it_has_left_since(running: Running) -> None:
    """It came back, trained and was done: its state is newer than the center, so it begins at the center instead."""
    agent = running.agent
    for label, name in (("worker-0", "worker-0"), ("server-0", "shard-0")):
        agent.put(label, f"checkpoints/1/{name}.safetensors")
    manifest = {"checkpoint": 1, "members": [0], "away": [1], "servers": 1}
    assert agent.put("server-0", "checkpoints/1/manifest.json", json.dumps(manifest).encode()).json()["committed_checkpoint"] == 1
    agent.put("worker-1", "checkpoints/0/worker-1.safetensors", b"done")
    next_attempt(running)
    assert agent.resume("worker-0", "worker-0") == [("1/checkpoints/1/worker-0.safetensors", b"state")]
    assert agent.resume("worker-1", "worker-1") == []


def as_earlier_version(running: Running, platform: Platform) -> None:
    """Rows and files as earlier versions stored them: states and the description of tensors have the suffix `.pt`."""
    with platform.database.transaction() as session:
        change = "UPDATE files SET path = replace(path, '.safetensors', '.pt') WHERE job_id = :job AND path <> 'model.safetensors'"
        session.execute(text(change), {"job": running.id})
    for file in platform.files.of_job(UUID(running.id)).rglob("*.safetensors"):
        if file.name != "model.safetensors":
            file.rename(file.with_suffix(".pt"))


def test_a_running_job_of_an_earlier_version_resumes_and_goes_on(running: Running, platform: Platform) -> None:
    agent = running.agent
    agent.commit_checkpoint(1)
    agent.commit_checkpoint(2)
    agent.put("worker-1", "checkpoints/0/worker-1.safetensors", b"done")
    as_earlier_version(running, platform)
    with platform.database.transaction() as session:
        manifests = session.execute(text("SELECT manifest FROM checkpoints")).scalars().all()
        assert all(set(manifest) == {"checkpoint", "members", "servers", "version", "samples", "pushed"} for manifest in manifests)
    next_attempt(running)
    assert running.items("attempts")[-1]["resumed_from"] == {"attempt": 1, "checkpoint": 2}
    for label, part in (("server-0", "shard-0"), ("worker-0", "worker-0"), ("worker-1", "worker-1")):
        assert agent.resume(label, part) == [(f"1/checkpoints/2/{part}.pt", b"state")]
    for number in (3, 4):
        agent.commit_checkpoint(number)
    assert {path.split("/")[2] for path in paths(running) if path.startswith("1/")} == {"0", "2"}
    assert paths(running) == on_disk(running, platform)


def test_a_job_starts_from_a_finished_one_of_an_earlier_version(running: Running, platform: Platform, tmp_path: Path) -> None:
    agent = running.agent
    agent.put("worker-0", "tensors.safetensors", b"places")
    running.succeed()
    as_earlier_version(running, platform)
    before = on_disk(running, platform)
    for path in platform.files.root.rglob("*"):
        age(path)
    running.api.post("/storage/collect").raise_for_status()
    assert on_disk(running, platform) == before
    shown = running.api.get(f"/jobs/{running.id}/files").json()
    assert [each["number"] for each in shown["checkpoints"]] == [0]
    file = running.api.get(f"/jobs/{running.id}/files/1/checkpoints/0/shard-0.pt")
    assert file.content == b"state"
    job = submit(running.api, tmp_path, name="next", start_from={"job": running.id, "checkpoint": "last"})
    running.controller.run_once()
    agent.run_all()
    order = agent.order("worker-0")
    assert str(order.job_id) == job["id"]
    headers = {"Authorization": f"Bearer {order.store.token}"}
    found = {name: agent.http.get(f"/process/start/{name}", headers=headers) for name in ("tensors.pt", "shard-0.pt")}
    assert {name: answer.content for name, answer in found.items()} == {"tensors.pt": b"places", "shard-0.pt": b"state"}
    missing: httpx.Response = agent.http.get("/process/start/shard-0.safetensors", headers=headers)
    assert missing.status_code == 404


def start_files(running: Running, tmp_path: Path, checkpoint: str, *names: str) -> dict[str, bytes]:
    """Files that a process gets whose job starts from the running one, after that one is deleted."""
    agent, api = running.agent, running.api
    agent.put("worker-0", "tensors.safetensors", b"places")
    agent.put("evaluator", "model.safetensors", save({"w": torch.ones(2)}))
    job = submit(api, tmp_path, name="next", start_from={"job": running.id, "checkpoint": checkpoint})
    api.post(f"/jobs/{running.id}/stop")
    running.succeed()
    assert api.delete(f"/jobs/{running.id}").status_code == 204
    running.controller.run_once()
    agent.run_all()
    order = agent.order("server-0")
    assert str(order.job_id) == job["id"]
    headers = {"Authorization": f"Bearer {order.store.token}"}
    answers = {name: agent.http.get(f"/process/start/{name}", headers=headers) for name in names}
    return {name: answer.content for name, answer in answers.items() if answer.status_code == 200}


def test_a_job_starts_with_the_rows_of_a_checkpoint_and_of_those_that_it_rests_on(running: Running, tmp_path: Path) -> None:
    commit(running, 1, b"base", [])
    commit(running, 2, b"changed", [earlier(1, 1, ROWS, b"base")])
    names = ["shard-0.1-1-rows-0.safetensors", ROWS]
    found = start_files(running, tmp_path, "last", "shard-0.json", *names, "shard-1.json")
    assert PartList.model_validate_json(found.pop("shard-0.json")).start_names == names
    assert found == dict(zip(names, [b"base", b"changed"], strict=True))


def test_a_job_starts_with_the_trained_rows_beside_the_final_model(running: Running, tmp_path: Path) -> None:
    running.agent.put("server-0", "tables-0.safetensors", b"rows")
    assert start_files(running, tmp_path, "final", "tables-0.safetensors", "tables-1.safetensors") == {
        "tables-0.safetensors": b"rows"
    }
