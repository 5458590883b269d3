"""What processes leave: files of checkpoints, and their output."""

from __future__ import annotations

import json
from http.client import HTTPConnection
from pathlib import Path
from uuid import UUID

import httpx
import pytest
import torch
from safetensors.torch import save
from sqlalchemy import text
from typer.testing import CliRunner

from backend.files import FileStore
from backend.platform import Platform
from backend.scheduler.controller import Controller
from gradstream.cli.main import app
from gradstream.client import Client, Credentials
from gradstream.process.exits import ExitReason
from gradstream.process.order import ProcessOrder
from tests.integration.backend.agent import Agent, put_file
from tests.integration.backend.jobs import spec, submit, upload
from tests.integration.backend.running import Running
from tests.integration.backend.test_checkpoint_parts import next_attempt
from tests.support import TIMEOUT


def test_only_known_files_with_the_right_bytes_are_stored(running: Running) -> None:
    order = running.agent.order("worker-0")
    assert put_file(running.agent.http, order, "../../escape", b"x").status_code in (401, 404, 422)
    assert put_file(running.agent.http, order, "checkpoints/1/other.txt", b"x").status_code == 422
    headers = {"Authorization": f"Bearer {order.store.token}", "X-Sha256": "0" * 64}
    damaged = running.agent.http.put("/process/files/checkpoints/1/worker-0.safetensors", content=b"x", headers=headers)
    assert damaged.status_code == 422
    assert "damaged" in damaged.json()["detail"]


def test_a_full_disk_is_named(running: Running, platform: Platform, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing can be written to `/dev/full`, and the file behind this link stays."""
    full = platform.files.temporary()
    full.symlink_to("/dev/full")
    with monkeypatch.context() as context:
        context.setattr(FileStore, "temporary", lambda self: full)
        answer = running.agent.put("worker-0", "checkpoints/1/worker-0.safetensors")
    assert answer.status_code == 503
    assert answer.json()["detail"] == "The disk of the control plane is full; ask the operator to free some space, then try again."
    assert not full.is_symlink(), "what was written of it is removed"
    assert running.agent.put("worker-0", "checkpoints/1/worker-0.safetensors").status_code == 200


def begin_put(running: Running, order: ProcessOrder, path: str, size: int) -> tuple[int, str]:
    """Declare a file and send one byte of it: what is answered before the rest comes."""
    at = running.agent.http.base_url
    connection = HTTPConnection(at.host, at.port or 80, timeout=TIMEOUT)
    connection.putrequest("PUT", f"{at.path}process/files/{path}")
    for name, value in {"Authorization": f"Bearer {order.store.token}", "X-Sha256": "0" * 64, "Content-Length": str(size)}.items():
        connection.putheader(name, value)
    connection.endheaders(b"x")
    answer = connection.getresponse()
    told = answer.status, json.loads(answer.read())["detail"]
    connection.close()
    return told


def test_what_may_not_be_stored_is_refused_before_it_is_read(running: Running, platform: Platform) -> None:
    ended, lives = running.agent.order("worker-0"), running.agent.order("worker-1")
    running.agent.exit("worker-0")
    assert begin_put(running, ended, "checkpoints/1/worker-0.safetensors", 10**10) == (
        409,
        "worker-0 has ended; it stores nothing any more.",
    )
    assert begin_put(running, lives, "checkpoints/1/other.txt", 10**10)[0] == 422
    assert begin_put(running, lives, "checkpoints/1/worker-1.json", 10**8) == (
        422,
        "checkpoints/1/worker-1.json has 100,000,000 bytes, 1,048,576 are allowed.",
    )
    assert running.status == ("running", None)
    assert running.agent.put("worker-1", "checkpoints/1/worker-1.safetensors").status_code == 200
    with platform.database.transaction() as session:
        session.execute(text("UPDATE files SET size = :size"), {"size": platform.settings.job_files_bytes})
    status, why = begin_put(running, lives, "checkpoints/2/worker-1.safetensors", 10**10)
    assert (status, running.status) == (413, ("stopping", "stored_bytes"))
    assert running.job["message"] == why
    assert "GRADSTREAM_JOB_FILES_BYTES" in why


def test_a_job_may_store_so_many_bytes_in_all(running: Running, platform: Platform) -> None:
    most = platform.settings.job_files_bytes
    agent, almost = running.agent, most - 100
    assert agent.put("worker-0", "checkpoints/1/worker-0.safetensors", b"x").status_code == 200
    with platform.database.transaction() as session:
        session.execute(text("UPDATE files SET size = :size"), {"size": almost})
    assert agent.put("worker-1", "checkpoints/1/worker-1.safetensors", b"x" * 100).status_code == 200
    assert agent.put("worker-1", "checkpoints/1/worker-1.safetensors", b"x" * 100).status_code == 200, "the same file anew"
    assert agent.put("worker-1", "checkpoints/2/worker-1.safetensors", b"x").status_code == 413


def test_parts_of_checkpoints_that_were_never_completed_go_with_the_next_that_is(running: Running, platform: Platform) -> None:
    for number in (1, 2):
        running.agent.put("worker-0", f"checkpoints/{number}/worker-0.safetensors")
    running.agent.commit_checkpoint(3)
    running.agent.put("worker-0", "checkpoints/0/worker-0.safetensors")
    running.agent.put("worker-0", "checkpoints/5/worker-0.safetensors")
    running.agent.commit_checkpoint(4)
    stored = {file["path"].split("/")[1] for file in running.api.get(f"/jobs/{running.id}/files").json()["files"]}
    assert stored == {"0", "3", "4", "5"}
    assert {path.name for path in (platform.files.of_attempt(UUID(running.id), 1, "checkpoints")).iterdir()} == stored


def test_a_checkpoint_is_committed_only_when_all_its_files_are_there(running: Running) -> None:
    agent = running.agent
    manifest = b'{"checkpoint": 1, "members": [0, 1], "servers": 1}'
    for label, path, content in (
        ("server-0", "checkpoints/1/manifest.json", manifest),
        ("worker-0", "checkpoints/1/worker-0.safetensors", b"0"),
        ("server-0", "checkpoints/1/shard-0.safetensors", b"s"),
    ):
        assert agent.put(label, path, content).json()["committed_checkpoint"] is None
    assert running.items("attempts")[0]["checkpoint"] is None
    assert agent.put("worker-1", "checkpoints/1/worker-1.safetensors", b"1").json()["committed_checkpoint"] == 1
    assert agent.put("worker-1", "checkpoints/1/worker-1.safetensors", b"1").json()["committed_checkpoint"] is None, "once"


BAD_MANIFESTS = [
    '{"members":[],"servers":4000000}',
    '{"members":[],"servers":2}',
    '{"members":[],"servers":0}',
    '{"members":[],"servers":"x"}',
    '{"members":[7],"servers":1}',
    '{"members":[-1],"servers":1}',
    '{"members":"01","servers":1}',
    '{"members":{},"servers":1}',
    '{"members":[],"servers":1,"version":"<b>"}',
    '{"members":[],"servers":1,"samples":1e400}',
    '{"servers":1}',
    "[]",
    "7",
    "{",
    '{"members":[],"servers":1,"pushed":{"x":1}}',
    '{"members":[],"servers":1,"pushed":{"0":-1}}',
    "[" * 60_000,
    "\ud800",
    f'{{"members":[],"servers":1,"version":{"9" * 5_000}}}',
    f'{{"members":[{"0," * 2_000}0],"servers":1}}',
    "{" + " " * 70_000 + "}",
]
BAD_RESULTS = [
    "[]",
    "7",
    "{",
    '{"eval":[]}',
    '{"eval":{"a":"b"}}',
    '{"best":{"metric":"a","value":"x","samples":1}}',
    '{"samples":-1}',
]


def test_manifests_and_results_are_compared_with_the_job(running: Running) -> None:
    agent = running.agent
    agent.put("server-0", "checkpoints/2/shard-0.safetensors")
    for content in BAD_MANIFESTS:
        answer = agent.put("server-0", "checkpoints/2/manifest.json", content.encode("utf-8", "surrogatepass"))
        assert (answer.status_code, content[:40]) == (422, content[:40]), answer.text
    for content in BAD_RESULTS:
        assert agent.put("evaluator", "result.json", content.encode()).status_code == 422, content
    assert agent.put("server-0", "checkpoints/١/manifest.json", b"{}").status_code == 422, "digits of other scripts"
    files = running.api.get(f"/jobs/{running.id}/files").json()
    assert (files["checkpoints"], [file["path"] for file in files["files"]]) == ([], ["checkpoints/2/shard-0.safetensors"])
    agent.commit_checkpoint(2)


def test_old_checkpoints_are_forgotten(running: Running, platform: Platform) -> None:
    for number in (1, 2, 3):
        running.agent.commit_checkpoint(number)
    folder = platform.files.of_job(running.agent.order("worker-0").job_id) / "1" / "checkpoints"
    assert sorted(path.name for path in folder.iterdir()) == ["2", "3"]


def test_the_best_model_says_which_evaluation_it_is_of_and_the_newest_judgement_is_found(running: Running) -> None:
    about = {"gradstream": '{"best": {"metric": "eval/loss", "value": 0.25, "samples": 12000, "version": 7}}'}
    running.agent.put("evaluator", "best.safetensors", save({"w": torch.zeros(1)}, metadata=about))
    running.agent.put("evaluator", "evaluations.json", b"{}")
    [best] = [item for item in running.items("artifacts") if item["name"] == "best.safetensors"]
    assert (best["kind"], best["note"]) == ("model", "eval/loss 0.25 at 12,000 samples")
    headers = {"Authorization": f"Bearer {running.agent.order('evaluator').store.token}"}
    assert running.agent.http.get("/process/latest/evaluations.json", headers=headers).content == b"{}"
    assert running.agent.http.get("/process/latest/nothing.json", headers=headers).status_code == 404
    assert running.agent.http.get("/process/start", headers=headers).status_code == 404


def test_a_job_starts_from_a_copy_of_another_ones_model(running: Running, platform: Platform, tmp_path: Path) -> None:
    content = save({"w": torch.ones(2)})
    running.agent.put("evaluator", "model.safetensors", content)
    for reference in (running.id, "small"):
        job = submit(running.api, tmp_path, name="next", start_from={"job": str(reference)})
        started = running.api.get(f"/jobs/{job['id']}/events").json()["items"]
        assert any(str(running.id) in event["message"] and event["kind"] == "start" for event in started)
        platform.files.remove_job(running.agent.order("worker-0").job_id)  # as when it is deleted
        assert (platform.files.of_job(UUID(job["id"])) / "start.safetensors").read_bytes() == content
        running.agent.put("evaluator", "model.safetensors", content)


def put_parts(running: Running, model: str, about: str = "{}", *, only: int = 3) -> dict[str, bytes]:
    """Store a model of two parts and its index, or the first of these files."""
    parts = {
        f"{model}-0000{k}-of-00002.safetensors": save({f"w{k}": torch.ones(k)}, metadata={"gradstream": about}) for k in (1, 2)
    }
    named = {f"w{k}": part for k, part in enumerate(parts, 1)}
    index = {"metadata": {"total_size": 12, "gradstream": about}, "weight_map": named}
    files = dict([*parts.items(), (f"{model}.safetensors.index.json", json.dumps(index).encode())][:only])
    for name, content in files.items():
        answer = running.agent.put("evaluator", name, content)
        assert answer.status_code == 200, answer.text
    return files


def test_a_job_starts_from_a_copy_of_all_parts_of_a_model(running: Running, platform: Platform, tmp_path: Path) -> None:
    files = put_parts(running, "model")
    listed = {item["name"]: item for item in running.items("artifacts")}
    assert {listed[name]["kind"] for name in files} == {"model"}
    assert listed["model.safetensors.index.json"]["note"] == "2 parts, 12 bytes of tensors"
    job = submit(running.api, tmp_path, name="next", start_from={"job": "small"})
    folder = platform.files.of_job(UUID(job["id"]))
    assert {path.name: path.read_bytes() for path in (folder / "start").iterdir()} == files
    assert not (folder / "start.safetensors").exists()
    config = running.api.get(f"/jobs/{job['id']}").json()
    assert config["started_from"]["file"] == "model.safetensors.index.json"


def test_a_job_has_one_whole_model_whatever_form_its_attempts_store(running: Running, platform: Platform, tmp_path: Path) -> None:
    def listed() -> list[str]:
        return [item["name"] for item in running.items("artifacts") if item["name"].startswith("model")]

    def started_from() -> str:
        job = submit(running.api, tmp_path, name=f"next-{len(listed())}", start_from={"job": str(running.id)})
        assert running.api.post(f"/jobs/{job['id']}/stop").json()["status"] == "cancelled", "else it would run beside"
        return str(running.api.get(f"/jobs/{job['id']}").json()["started_from"]["file"])

    running.agent.put("evaluator", "model.safetensors", save({"w1": torch.ones(3)}))
    folder = platform.files.of_job(running.agent.order("worker-0").job_id)
    next_attempt(running)
    put_parts(running, "model", only=2)
    assert listed() == [started_from()] == ["model.safetensors"], "the parts wait for their index"
    parts = sorted(put_parts(running, "model"))
    assert sorted(listed()) == parts
    assert started_from() == "model.safetensors.index.json"
    assert not (folder / "1" / "model.safetensors").exists()
    next_attempt(running)
    running.agent.put("evaluator", "model.safetensors", save({"w1": torch.ones(3)}))
    assert listed() == [started_from()] == ["model.safetensors"]
    assert list(folder.glob("2/model*")) == []


def test_an_index_comes_after_its_parts_and_no_job_starts_from_parts_of_two_models(running: Running, tmp_path: Path) -> None:
    early = {"metadata": {"total_size": 1}, "weight_map": {"w": "model-00001-of-00001.safetensors"}}
    refused = running.agent.put("evaluator", "model.safetensors.index.json", json.dumps(early).encode())
    assert (refused.status_code, "is not stored; an index comes after all parts" in refused.text) == (422, True)
    assert running.agent.put("worker-0", "model-00001-of-00001.safetensors").status_code == 422, "it is the evaluator's"
    first, second = (json.dumps({"best": {"metric": "eval/loss", "value": value, "samples": 12}}) for value in (0.5, 0.25))
    put_parts(running, "best", first)
    put_parts(running, "best", second, only=1)
    note = next(item["note"] for item in running.items("artifacts") if item["name"].endswith("index.json"))
    assert note == "eval/loss 0.5 at 12 samples; 2 parts, 12 bytes of tensors"
    body = {"spec": spec(start_from={"job": "small", "checkpoint": "best"}), "bundle": upload(running.api, tmp_path)}
    answer = running.api.post("/jobs", json=body)
    assert (answer.status_code, "are just being replaced; try again" in answer.text) == (422, True)
    put_parts(running, "best", second)
    assert running.api.post("/jobs", json=body).status_code == 201


def test_a_job_starts_from_the_checkpoint_that_was_the_newest_when_it_was_submitted(
    api: httpx.Client, agent: Agent, controller: Controller, platform: Platform, tmp_path: Path
) -> None:
    roles = {"server": {"count": 2}, "worker": {"count": 2, "device": "cpu"}}
    running = Running(api, agent, controller, tmp_path, roles=roles)
    agent.put("worker-0", "tensors.safetensors", b"places")
    agent.commit_checkpoint(1)
    agent.commit_checkpoint(2)
    job = submit(api, tmp_path, name="next", start_from={"job": "small", "checkpoint": "last"})
    record = {"job": running.id, "name": "small", "checkpoint": "last", "attempt": 1, "number": 2, "version": 2, "samples": 20}
    assert {key: value for key, value in job["started_from"].items() if value is not None} == record
    [event] = api.get(f"/jobs/{job['id']}/events", params={"kind": "start"}).json()["items"]
    assert event["message"] == f"It starts from checkpoint 2 of attempt 1 of small, version 2, 20 samples ({running.id})."
    assert event["data"] == record
    for number in (3, 4):  # the other job goes on, and its checkpoint 2 is removed
        agent.commit_checkpoint(number)
        assert agent.put("server-0", f"checkpoints/{number}/shard-0.safetensors", b"newer").status_code == 200
    assert not platform.files.of_attempt(UUID(running.id), 1, "checkpoints/2").exists()
    api.post(f"/jobs/{running.id}/stop")
    running.succeed()
    assert api.delete(f"/jobs/{running.id}").status_code == 204
    assert not platform.files.of_job(UUID(running.id)).exists()
    controller.run_once()
    agent.run_all()
    order = agent.order("worker-0")
    assert str(order.job_id) == job["id"]
    headers = {"Authorization": f"Bearer {order.store.token}"}
    for name, content in (("tensors.safetensors", b"places"), ("shard-0.safetensors", b"state"), ("shard-1.safetensors", b"state")):
        assert agent.http.get(f"/process/start/{name}", headers=headers).content == content
    for name in ("shard-2.safetensors", "start.safetensors", "manifest.json"):
        assert agent.http.get(f"/process/start/{name}", headers=headers).status_code == 404
    assert api.get(f"/jobs/{job['id']}").json()["started_from"] == job["started_from"]


@pytest.mark.more
def test_a_checkpoint_of_a_job_that_was_stopped_or_went_on_in_a_new_attempt_is_taken_too(running: Running, tmp_path: Path) -> None:
    last = {"job": running.id, "checkpoint": "last"}
    running.agent.put("worker-0", "tensors.safetensors")
    running.agent.commit_checkpoint(1)
    running.agent.exit("server-0", reason=ExitReason.KILLED, code=-9)
    running.controller.run_once()
    running.end_all()
    running.start()
    assert running.job["attempt"] == 2
    before = submit(running.api, tmp_path, name="next", start_from=last)["started_from"]
    assert (before["attempt"], before["number"]) == (1, 1), "the new attempt has none yet"
    running.agent.commit_checkpoint(2)
    running.agent.commit_checkpoint(0)
    running.api.post(f"/jobs/{running.id}/stop")
    running.agent.exit(reason=ExitReason.STOPPED)
    running.controller.run_once()
    assert running.status[0] == "cancelled"
    after = submit(running.api, tmp_path, name="next", start_from=last)["started_from"]
    assert (after["attempt"], after["number"]) == (2, 0)


def test_a_kept_checkpoint_is_taken_by_its_number_and_a_removed_one_is_refused_with_those_that_are_kept(
    running: Running, tmp_path: Path
) -> None:
    running.agent.put("worker-0", "tensors.safetensors")
    for number in (1, 2, 3):
        running.agent.commit_checkpoint(number)
    running.agent.exit("server-0", reason=ExitReason.KILLED, code=-9)
    running.controller.run_once()
    running.end_all()
    running.start()
    for number in (1, 3):  # checkpoint 3 of attempt 1 stays beside both: the live attempt has resumed from it
        running.agent.commit_checkpoint(number)

    def started(**start: int) -> tuple[int, int, int, str]:
        job = submit(running.api, tmp_path, name="next", start_from={"job": running.id, **start})
        [event] = running.api.get(f"/jobs/{job['id']}/events", params={"kind": "start"}).json()["items"]
        record = job["started_from"]
        return record["checkpoint"], record["attempt"], record["number"], event["message"].partition(" of small")[0]

    assert started(checkpoint=1) == (1, 2, 1, "It starts from checkpoint 1 of attempt 2")
    assert started(checkpoint=3) == (3, 2, 3, "It starts from checkpoint 3 of attempt 2")
    assert started(checkpoint=3, attempt=1) == (3, 1, 3, "It starts from checkpoint 3 of attempt 1")
    for start, named in (
        ({"checkpoint": 2}, "2"),
        ({"checkpoint": 2, "attempt": 1}, "2 of attempt 1"),
        ({"checkpoint": 10**15}, f"{10**15}"),
    ):
        body = {"spec": spec(start_from={"job": "small", **start}), "bundle": upload(running.api, tmp_path)}
        answer = running.api.post("/jobs", json=body)
        kept = "it keeps 3 of attempt 2, 1 of attempt 2, 3 of attempt 1"
        assert answer.status_code == 422
        assert f"start_from.checkpoint: small ({running.id}) has no checkpoint {named}, or has removed it; {kept}." in answer.text


def test_a_checkpoint_without_its_tensors_is_refused_with_the_reason(running: Running, tmp_path: Path) -> None:
    running.agent.commit_checkpoint(1)
    body = {"spec": spec(start_from={"job": "small", "checkpoint": "last"}), "bundle": upload(running.api, tmp_path)}
    answer = running.api.post("/jobs", json=body)
    assert answer.status_code == 422
    assert "not stored: the layout of its model in checkpoints" in answer.text
    body["spec"]["start_from"]["checkpoint"] = "final"
    assert "`checkpoint: last` takes its newest checkpoint" in running.api.post("/jobs", json=body).text


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("start", "said"),
    [
        ({"job": "nobody"}, "there is no job 'nobody'"),
        ({"job": "small"}, "has no model.safetensors; a job stores its model when training ends"),
        ({"job": "small", "checkpoint": "best"}, "has no best.safetensors; it had no `best`"),
        ({"job": "small", "checkpoint": "last"}, "is running and has no checkpoint yet"),
        ({"file": "/home/me/a.safetensors"}, "put it into the folder of the code"),
        ({"file": "../a.safetensors"}, "put it into the folder of the code"),
    ],
)
def test_what_a_job_cannot_start_from_is_refused(start: dict[str, str], said: str, running: Running, tmp_path: Path) -> None:
    body = {"spec": spec(name="next", start_from=start), "bundle": upload(running.api, tmp_path)}
    answer = running.api.post("/jobs", json=body)
    assert answer.status_code == 422
    assert said in answer.text


def test_logs_are_stored_once_and_in_order(running: Running) -> None:
    agent = running.agent
    assert agent.log("worker-0", "first\n") == 6
    assert agent.log("worker-0", "first\n") == 6, "a repeat"
    assert agent.log("worker-0", "later\n", offset=100) == 6, "a gap is asked for again"
    assert agent.log("worker-0", "st\nsecond\x00\n", offset=3) == 14, "what overlaps is stored once"
    page = running.api.get(f"/jobs/{running.id}/logs", params={"role": "worker", "rank": 0}).json()
    assert "".join(chunk["text"] for chunk in page["items"]) == "first\nsecond\ufffd\n"
    assert running.api.get(f"/jobs/{running.id}/logs", params={"after": page["next"]}).json()["items"] == []
    tail = running.api.get(f"/jobs/{running.id}/logs", params={"tail": 1}).json()
    assert tail["items"][-1]["text"] == "second\ufffd\n"


def test_logs_are_read_back_from_the_end_to_the_beginning(running: Running) -> None:
    end = 0
    for number in range(7):
        end = running.agent.log("worker-0", f"line {number}\n", end)
    seen: list[str] = []
    before: dict[str, int] = {}
    while True:
        page = running.api.get(f"/jobs/{running.id}/logs", params={"tail": 2, **before}).json()
        seen = [chunk["text"] for chunk in page["items"]] + seen
        if page["earlier"] is None:
            break
        before = {"before": page["earlier"]}
    assert seen == [f"line {number}\n" for number in range(7)]


def test_a_page_of_logs_has_a_mebibyte_and_every_way_to_read_goes_on(running: Running) -> None:
    end, written = 0, list[str]()
    for number in range(3):
        written.append(f"{number}" * 699_999 + "\n")
        end = running.agent.log("worker-0", written[-1], end)
    url, where = f"/jobs/{running.id}/logs", {"process": running.agent.order("worker-0").id}
    first = running.api.get(url, params=where).json()
    assert [chunk["text"][0] for chunk in first["items"]] == ["0"]
    last = running.api.get(url, params={"tail": 100, **where}).json()
    assert [chunk["text"][0] for chunk in last["items"]] == ["2"]
    assert last["earlier"] is not None
    assert running.api.get(f"{url}/download").text.count("\n") >= 3
    token = running.api.headers["authorization"].removeprefix("Bearer ")
    with Client(Credentials(str(running.api.base_url).removesuffix("/api/v1/"), token)) as client:
        for tail, expected in ((None, "012"), (100, "012"), (1, "12")):
            chunks = [chunk.text[0] for chunk in client.logs(running.id, role="worker", rank=0, tail=tail)]
            assert "".join(chunks) == expected
        followed = client.follow(running.id)
        told = [next(event for event in followed if event.kind == "log").data["text"] for _ in written]
    assert told == written


def test_a_downloaded_log_has_whole_lines_of_everybody(running: Running) -> None:
    agent = running.agent
    agent.log("worker-0", "be")
    agent.log("worker-1", "other\n")
    agent.log("worker-0", "gun\n 10%\r 90%\r\nno end", 2)
    answer = running.api.get(f"/jobs/{running.id}/logs/download")
    assert answer.headers["content-disposition"] == 'attachment; filename="small.log"'
    said = [line.split(" ", 1)[1] for line in answer.text.splitlines()]
    assert said == ["worker-1 other", "worker-0 begun", "worker-0  90%", "worker-0 no end"]
    only = running.api.get(f"/jobs/{running.id}/logs/download", params={"role": "worker", "rank": 1}).text
    assert only.endswith("worker-1 other\n")
    assert only.count("\n") == 1


def test_stored_files_are_listed_with_their_checkpoints_and_downloaded(running: Running) -> None:
    running.agent.commit_checkpoint(1)
    found = running.api.get(f"/jobs/{running.id}/files").json()
    assert [
        (checkpoint["attempt"], checkpoint["number"], checkpoint["last"], checkpoint["samples"])
        for checkpoint in found["checkpoints"]
    ] == [(1, 1, False, 10)]
    paths = [
        "checkpoints/1/manifest.json",
        "checkpoints/1/shard-0.safetensors",
        "checkpoints/1/worker-0.safetensors",
        "checkpoints/1/worker-1.safetensors",
    ]
    assert [file["path"] for file in found["files"]] == paths
    file = running.api.get(f"/jobs/{running.id}/files/1/checkpoints/1/shard-0.safetensors")
    assert file.content == b"state"
    assert file.headers["x-sha256"] == found["files"][1]["sha256"]
    for path in ("checkpoints/1/none.pt", "../../escape", "job.yaml"):
        assert running.api.get(f"/jobs/{running.id}/files/1/{path}").status_code == 404


def test_a_file_that_is_gone_from_the_disk_is_not_found(running: Running, platform: Platform) -> None:
    assert running.agent.put("evaluator", "model.safetensors").status_code == 200
    [stored] = [file for file in platform.files.root.rglob("model.safetensors") if file.is_file()]
    path = f"/jobs/{running.id}/artifacts/model.safetensors"
    assert running.api.get(path).status_code == 200
    stored.unlink()
    gone = running.api.get(path)
    assert (gone.status_code, gone.headers["content-type"]) == (404, "application/problem+json")
    assert "removed this file" in gone.json()["detail"]


def test_the_last_lines_of_one_process_are_its_own(running: Running, tmp_path: Path) -> None:
    """Others wrote more lines since."""
    running.agent.log("worker-0", "first\nsecond\n")
    running.agent.log("worker-1", "other\n" * 9)
    secret = tmp_path / "token"
    secret.write_text(running.api.headers["authorization"].removeprefix("Bearer "))
    url = str(running.api.base_url).removesuffix("/api/v1/")
    words = ["logs", running.id, "--process", "worker-0", "--tail", "1", "--url", url, "--token-file", str(secret)]
    done = CliRunner().invoke(app, words, prog_name="gradstream")
    assert done.stdout.splitlines() == ["worker-0 | first", "worker-0 | second"], done.stderr
