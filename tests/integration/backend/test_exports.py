"""Exports for serving in the control plane: requests, commits, what servers are told, and the removal of old chains."""

from __future__ import annotations

import json
import time
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest

from backend.platform import Platform
from backend.scheduler.controller import Controller
from gradstream.center.entries import Committed, Entry, ExportModel
from gradstream.metrics import EXPORTS_FAILED, LOSS, Point
from gradstream.process.exits import ExitReason
from gradstream.process.order import plane_id
from gradstream.process.saving.exports import DENSE, ExportManifest
from gradstream.progress import export_alerts
from gradstream.wire.redis import keys
from gradstream.wire.telemetry import records
from gradstream.wire.transport.messages import FIELD, Header
from tests.integration.backend.agent import Agent, about, put_file
from tests.integration.backend.running import Running
from tests.support import eventually

TABLE = {"width": 2, "reach": 0.05, "admits": False}


@pytest.fixture
def running(running: Running) -> Running:
    running.agent.put("worker-0", "tensors.safetensors", b"tensors")
    return running


def log(running: Running, platform: Platform, attempt: int = 1) -> list[Entry]:
    """The entries about exports."""
    found: Any = platform.plane.xrange(keys.log(plane_id(UUID(running.id), attempt)))
    entries = [header.entry for _, fields in found if (header := Header.unpack(fields[FIELD]))]
    return [
        entry for entry in entries if isinstance(entry, ExportModel) or (isinstance(entry, Committed) and entry.what == "export")
    ]


def ask(running: Running, **body: Any) -> httpx.Response:
    return running.api.post(f"/jobs/{running.id}/exports", json=body)


def store(running: Running, place: int, after: int | None, *, rows: bytes = b"rows" * 100, version: int = 7) -> httpx.Response:
    """Store a server's files and its part, as a server does."""
    folder, files = f"exports/{place}/", {"shard-0.rows-0.safetensors": rows, f"shard-0.{DENSE}": b"dense"}
    for name, content in files.items():
        assert running.agent.put("server-0", folder + name, content).status_code == 200
    return running.agent.put("server-0", f"{folder}shard-0.json", part(files, after, version))


def part(files: dict[str, bytes], after: int | None, version: int = 7) -> bytes:
    exported = {"version": version, "samples": 70, "seed": 1, "shards": 1, "dtype": "float32", "tables": {"t": TABLE}}
    listed = [{"name": name, **about(content)} for name, content in files.items()]
    return json.dumps({"shard": 0, "exported": exported, "after": after, "rows": 3, "gone": 0, "files": listed}).encode()


def exports(running: Running) -> dict[int, str]:
    """State and predecessor by number."""
    return {each["number"]: f"{each['state']} {each['after']}" for each in running.items("exports")}


def on_disk(running: Running, platform: Platform) -> set[str]:
    folder = platform.files.of_job(UUID(running.id))
    return {str(path.relative_to(folder)) for path in folder.glob("*/exports/*")}


def next_attempt(running: Running) -> None:
    running.agent.exit("server-0", reason=ExitReason.KILLED, code=-9)
    running.controller.run_once()
    running.end_all()
    running.start()
    running.agent.put("worker-0", "tensors.safetensors", b"tensors")


def test_an_export_is_asked_for_stored_and_committed(running: Running, platform: Platform) -> None:
    asked = ask(running)
    assert (asked.status_code, asked.json()["number"], asked.json()["state"]) == (202, 1, "asked")
    assert log(running, platform) == [ExportModel(1, base=True)]
    assert store(running, 1, None).status_code == 200
    assert log(running, platform)[1:] == [Committed(1, "export")]
    found = running.items("exports")[0]
    assert (found["state"], found["base"], found["version"], found["rows"], found["size"]) == ("committed", True, 7, 3, 412)
    manifest = ExportManifest.model_validate_json(running.api.get(f"/jobs/{running.id}/exports/1").content)
    contents = {file.name: running.api.get(f"/jobs/{running.id}/exports/1/{file.name}").content for file in manifest.files}
    assert contents == {
        "tensors.safetensors": b"tensors",
        "shard-0.rows-0.safetensors": b"rows" * 100,
        "shard-0.dense.safetensors": b"dense",
    }
    kinds = [(event["actor"], event["message"]) for event in running.items("events") if event["kind"] == "export"]
    assert kinds == [
        ("user:ada", "ada asked for export 1."),
        ("server-0", "export 1 is committed: a base, version 7, 3 rows."),
    ]
    assert "1/exports/1/shard-0.json" in {
        f"{file['attempt']}/{file['path']}" for file in running.api.get(f"/jobs/{running.id}/files").json()["files"]
    }


def test_a_base_is_due_when_the_deltas_have_half_of_its_bytes_or_when_asked_for(running: Running, platform: Platform) -> None:
    bases = list[bool]()

    def export(size: int, **body: Any) -> None:
        number = ask(running, **body).json()["number"]
        *_, told, entry = [None, *log(running, platform)]
        assert isinstance(entry, ExportModel)
        assert told == (Committed(number - 1, "export") if number > 1 else None)
        bases.append(entry.base)
        assert store(running, number, None if bases[-1] else number - 1, rows=b"r" * size).status_code == 200

    for size in (1000, 300, 250, 10, 1000, 10):
        export(size)
    export(10, base=True)
    assert bases == [True, False, False, True, False, True, True]


@pytest.mark.more
def test_old_chains_go_and_no_base_that_a_delta_rests_on(running: Running, platform: Platform) -> None:
    for number, after in enumerate((None, 1, 2, None, 4, None, 6), 1):
        ask(running)
        assert store(running, number, after).status_code == 200
    assert exports(running) == {4: "committed None", 5: "committed 4", 6: "committed None", 7: "committed 6"}
    assert on_disk(running, platform) == {f"1/exports/{number}" for number in (4, 5, 6, 7)}
    for number, after in ((8, None), (9, 7), (10, None)):  # the servers of 9 did not hear that 8 is committed
        ask(running)
        assert store(running, number, after).status_code == 200
    assert exports(running) == {n: f"committed {after}" for n, after in ((6, None), (7, 6), (8, None), (9, 7), (10, None))}
    ask(running)
    assert "no longer stored; the next one is a base" in store(running, 11, 4).json()["detail"]
    ask(running)
    ask(running)
    assert log(running, platform)[-1] == ExportModel(13, base=True)
    assert running.api.get(f"/jobs/{running.id}/exports/1").status_code == 404


def test_an_export_that_fails_is_abandoned_and_its_files_go(running: Running, platform: Platform) -> None:
    ask(running)
    store(running, 1, None)
    ask(running)
    running.agent.put("server-0", "exports/2/shard-0.rows-0.safetensors", b"half of it")
    assert exports(running)[2] == "asked None"
    ask(running)
    store(running, 3, 1)
    assert exports(running) == {1: "committed None", 2: "abandoned None", 3: "committed 1"}
    assert on_disk(running, platform) == {"1/exports/1", "1/exports/3"}


def test_an_attempt_that_ends_leaves_nothing_half_committed(running: Running, platform: Platform) -> None:
    ask(running)
    files = {"shard-0.rows-0.safetensors": b"rows"}
    running.agent.put("server-0", "exports/1/shard-0.rows-0.safetensors", b"rows")
    old = running.agent.order("server-0")
    next_attempt(running)
    assert exports(running) == {1: "abandoned None"}
    assert running.agent.put("server-0", "exports/1/shard-0.json", part(files, None)).status_code == 422
    assert put_file(running.agent.http, old, "exports/1/shard-0.json", part(files, None)).status_code == 409
    assert ask(running).json()["number"] == 2
    assert log(running, platform, 2) == [ExportModel(2, base=True)]
    store(running, 2, None)
    assert exports(running) == {2: "committed None"}


def test_the_last_export_takes_the_next_number(running: Running, platform: Platform) -> None:
    ask(running)
    store(running, 1, None)
    assert store(running, 0, 1, version=9).status_code == 200
    assert exports(running) == {1: "committed None", 2: "committed 1"}
    assert running.api.get(f"/jobs/{running.id}/exports/2").json()["exported"]["version"] == 9
    assert log(running, platform)[-1] == Committed(1, "export")
    running.succeed()
    assert ask(running).status_code == 409
    assert ask(running).json()["detail"].startswith("The job is succeeded; its servers make exports while it is running.")


def test_an_export_waits_for_the_record_of_the_tensors(running: Running) -> None:
    ask(running)
    store(running, 1, None)
    assert exports(running) == {1: "committed None"}
    running.agent.exit("server-0", reason=ExitReason.KILLED, code=-9)
    running.controller.run_once()
    running.end_all()
    running.start()
    ask(running)
    store(running, 2, None)
    assert exports(running)[2] == "asked None"
    running.agent.put("worker-0", "tensors.safetensors", b"tensors")
    assert exports(running)[2] == "committed None"


def test_what_a_process_may_store(running: Running) -> None:
    agent, rows = running.agent, "exports/1/shard-0.rows-0.safetensors"
    for label, path in (
        ("worker-0", rows),
        ("evaluator", rows),
        ("server-0", "exports/1/shard-1.rows-0.safetensors"),
        ("server-0", "exports/1/manifest.json"),
        ("server-0", "exports/1/../1/shard-0.json"),
        ("server-0", "exports/01/shard-0.json"),
    ):
        assert agent.put(label, path).status_code in (404, 422), path
    assert agent.put("server-0", rows, b"rows").status_code == 200
    wrong = part({"shard-0.rows-0.safetensors": b"other"}, None)
    assert "not stored with this size" in agent.put("server-0", "exports/1/shard-0.json", wrong).json()["detail"]
    for bad in (b"no json", b"{}", part({"shard-1.rows-0.safetensors": b"rows"}, None), part({"shard-0.json": b"x"}, None)):
        assert agent.put("server-0", "exports/1/shard-0.json", bad).status_code == 422, bad
    good = part({"shard-0.rows-0.safetensors": b"rows"}, None)
    assert "Export 1 was not asked for" in agent.put("server-0", "exports/1/shard-0.json", good).json()["detail"]
    ask(running)
    assert agent.put("server-0", "exports/1/shard-0.json", good).status_code == 200
    assert agent.put("server-0", rows, b"rows").status_code == 200
    assert agent.put("server-0", rows, b"other").status_code == 409


def report(platform: Platform, job: Running, batch: int, point: Point) -> None:
    """As a server does."""
    fields: Any = {"source": "server-0.0", "batch": batch, "points": records.pack_points([point])}
    platform.plane.xadd(keys.metrics(plane_id(UUID(job.id), 1)), fields)
    job.controller.run_once()


def test_exports_are_asked_for_when_they_are_due(
    api: httpx.Client, agent: Agent, controller: Controller, platform: Platform, tmp_path: Path
) -> None:
    job = Running(api, agent, controller, tmp_path, export={"every": "1s"})
    agent.put("worker-0", "tensors.safetensors", b"tensors")

    def asked() -> list[bool]:
        controller.run_once()
        return [entry.base for entry in log(job, platform) if isinstance(entry, ExportModel)]

    assert asked() == []
    eventually(lambda: asked() == [True], "the first export")
    time.sleep(1.1)  # longer than `every`
    assert asked() == [True], "the first one is under way"
    store(job, 1, None)
    eventually(lambda: asked() == [True, False], "the second export")


def test_no_export_is_due_while_the_model_stays_as_it_is(
    api: httpx.Client, agent: Agent, controller: Controller, platform: Platform, tmp_path: Path
) -> None:
    job = Running(api, agent, controller, tmp_path, export={"every": "1s"})
    agent.put("worker-0", "tensors.safetensors", b"tensors")

    def asked() -> int:
        controller.run_once()
        return sum(isinstance(entry, ExportModel) for entry in log(job, platform))

    report(platform, job, 1, Point(LOSS.name, 0, 1, 10, 7, time.time(), 0.5))
    eventually(lambda: asked() == 1 or None, "the first export")
    store(job, 1, None, version=7)
    time.sleep(1.1)  # longer than `every`
    assert asked() == 1, "it has version 7 already"
    assert ask(job).status_code == 202, "a user gets one nevertheless"
    store(job, 2, 1, version=7)
    report(platform, job, 2, Point(LOSS.name, 0, 2, 20, 8, time.time(), 0.5))
    eventually(lambda: asked() == 3 or None, "an export of version 8")


@pytest.mark.more
def test_an_export_that_a_server_cannot_store_is_followed_by_another_soon(
    api: httpx.Client, agent: Agent, controller: Controller, platform: Platform, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = Running(api, agent, controller, tmp_path, export={"every": "1s"})
    agent.put("worker-0", "tensors.safetensors", b"tensors")

    def asked() -> int:
        controller.run_once()
        return sum(isinstance(entry, ExportModel) for entry in log(job, platform))

    eventually(lambda: asked() == 1 or None, "the first export")
    report(platform, job, 1, Point(EXPORTS_FAILED.name, 0, 1, 0, 0, time.time(), 1))
    time.sleep(1.1)  # longer than `every`
    assert asked() == 1, "10 s are not over"
    [found] = job.items("exports")
    waits = datetime.fromisoformat(found["next_at"]) - datetime.fromisoformat(found["asked_at"])
    assert (found["state"], waits) == ("failed", timedelta(seconds=10))
    monkeypatch.setattr(export_alerts, "RETRY_DELAY", 0.5)
    assert asked() == 2
    assert {each["number"]: (each["state"], each["next_at"]) for each in job.items("exports")} == {
        2: ("asked", None),
        1: ("failed", None),
    }
    store(job, 2, None)
    assert exports(job)[2] == "committed None", "and the failed one is removed"


def test_exports_of_passes_need_no_request_and_their_numbers_go_on_in_the_next_attempt(
    api: httpx.Client, agent: Agent, controller: Controller, platform: Platform, tmp_path: Path
) -> None:
    job = Running(api, agent, controller, tmp_path, export={"every": "1 passes"})
    agent.put("worker-0", "tensors.safetensors", b"tensors")
    controller.run_once()
    assert log(job, platform) == []
    agent.put("server-0", "exports/2/shard-0.rows-0.safetensors", b"it is given up")
    for place, after, size in ((1, None, 1000), (3, 1, 600)):
        assert store(job, place, after, rows=b"r" * size).status_code == 200
    assert log(job, platform) == [Committed(1, "export"), Committed(3, "export", base_due=True)]
    assert on_disk(job, platform) == {"1/exports/1", "1/exports/3"}, "what was given up is gone"
    assert ask(job).json()["number"] == 4
    assert log(job, platform)[-1] == ExportModel(4, base=True)
    assert store(job, 4, None).status_code == 200
    next_attempt(job)
    assert store(job, 1, None).status_code == 200
    assert ask(job).json()["number"] == 6
    assert log(job, platform, 2) == [Committed(1, "export"), Committed(1, "export"), ExportModel(2, base=False)]
    for place, after in ((2, 1), (3, 2)):
        assert store(job, place, after).status_code == 200
    assert exports(job) == {n: f"committed {after}" for n, after in ((4, None), (5, None), (6, 5), (7, 6))}
