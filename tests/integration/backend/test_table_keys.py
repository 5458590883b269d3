"""Embedding tables as stored files tell of them: one key in exports and checkpoints, and summaries of servers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest
import torch
from safetensors.torch import save

from backend.platform import Platform
from backend.tables import service
from gradstream.nn import hashed
from gradstream.process.saving.exports import DENSE, GONE
from gradstream.process.saving.table_summary import MAX_BYTES
from tests.integration.backend.agent import about
from tests.integration.backend.running import Running
from tests.integration.backend.test_exports import ask

ROWS = "shard-0.rows-0.safetensors"
SCORED = {"keep": {"score": 0.5, "decay": 0.5}, "admit": {"count": 3}}
USER = {"width": 2, "reach": 0.0, "admits": True}


@pytest.fixture
def running(running: Running) -> Running:
    running.agent.put("worker-0", "tensors.safetensors", b"tensors")
    return running


def store_export(running: Running, after: int | None, rows: dict[int, list[float]], gone: Sequence[int] = ()) -> None:
    number = ask(running).json()["number"]
    keys, values = torch.tensor(list(rows), dtype=torch.int64), torch.tensor(list(rows.values())).reshape(-1, 2)
    files = {ROWS: save({"user/keys": keys, "user/values": values}), f"shard-0.{DENSE}": b"dense"}
    if after is not None:
        files[f"shard-0.{GONE}"] = save({"user/keys": torch.tensor(list(gone), dtype=torch.int64)})
    for name, content in files.items():
        assert running.agent.put("server-0", f"exports/{number}/{name}", content).status_code == 200
    exported = {"version": 10 * number, "samples": 70, "passes": number, "seed": 1, "shards": 1, "dtype": "float32"}
    exported |= {"tables": {"user": USER, "item": USER | {"admits": False, "reach": 0.05}}}
    listed = [{"name": name, **about(content)} for name, content in files.items()]
    part = {"shard": 0, "exported": exported, "after": after, "rows": len(rows), "gone": len(gone), "files": listed}
    assert running.agent.put("server-0", f"exports/{number}/shard-0.json", json.dumps(part).encode()).status_code == 200


def store_checkpoint(running: Running) -> None:
    """Row 1, and candidate 2."""
    columns: dict[str, Any] = {"keys": torch.tensor([1]), "values": torch.zeros(1, 3), "updates": torch.tensor([12])}
    columns |= {"seen": torch.tensor([4]), "events": torch.tensor([[8.0, 3.0]]), "waiting": torch.tensor([2])}
    columns |= {"waiting_occurrences": torch.tensor([2]), "waiting_seen": torch.tensor([5])}
    columns |= {"waiting_events": torch.tensor([[2.0, 0.0]]), "gone": torch.tensor([3])}
    entry = json.dumps({"whole": True, "times": {"user": 5}, "specs": {"user": SCORED}})
    content = save({f"user/{name}": values for name, values in columns.items()}, {"rows": entry})
    assert running.agent.put("server-0", f"checkpoints/4/{ROWS}", content).status_code == 200
    assert running.agent.put_list("server-0", "checkpoints/4/shard-0.json", {ROWS: content}, []).status_code == 200
    running.agent.commit_checkpoint(4)


def look_up(running: Running, **params: Any) -> httpx.Response:
    return running.api.get(f"/jobs/{running.id}/tables/keys", params=params)


def found(running: Running, key: int) -> dict[str, Any]:
    [item] = look_up(running, key=key, table="user").json()["items"]
    return item


def test_a_key_has_its_row_or_the_reason_why_there_is_none(running: Running) -> None:
    store_export(running, None, {1: [0.1, -2.5], 3: [1.0, 1.0], 9: [0.0, 0.0]})
    store_export(running, 1, {9: [0.25, 0.5]}, gone=[3])
    store_checkpoint(running)
    one = found(running, 1)
    assert (one["state"], one["values"], one["found_in"], one["reads"]) == ("row", [0.1, -2.5], 1, "row")
    assert one["message"] == "Export 2 has its row; it changed last in export 1."
    assert (one["export"]["number"], one["export"]["version"], one["export"]["passes"]) == (2, 20, 2)
    there = one["checkpoint"]
    assert (there["number"], there["updates"], there["unseen"], there["shows"], there["clicks"]) == (4, 12, 1, 8.0, 3.0)
    assert there["score"] == pytest.approx(0.1 * 5 + 3)
    assert there["message"] == "Checkpoint 4 has its row: 12 updates, last pushed 1 pass of the table ago."
    assert found(running, 9)["message"] == "Export 2 has its row."
    gone = found(running, 3)
    assert (gone["state"], gone["found_in"], gone["reads"], gone["values"]) == ("evicted", 2, "zeros", None)
    assert gone["message"] == "A shrink has removed its row before export 2, which has its tombstone."
    assert gone["checkpoint"]["state"] == "evicted"
    waits = found(running, 2)
    assert (waits["state"], waits["checkpoint"]["state"]) == ("absent", "candidate")
    assert waits["message"] == "No export that is kept has a row for it: no push that counted has brought it before export 2."
    assert waits["checkpoint"]["message"] == (
        "In checkpoint 4 it waits for its admission: 2 occurrences of 3, last pushed in this pass of the table."
    )
    assert "neither row nor candidate: no push that counted" in found(running, 77)["checkpoint"]["message"]


def test_a_text_is_hashed_and_all_tables_are_searched(running: Running) -> None:
    key = int(hashed(["red"], "tags")[0])
    store_export(running, None, {key: [1.0, 2.0]})
    items = look_up(running, text="red", field="tags").json()["items"]
    assert [(item["table"], item["key"], item["state"], item["reads"]) for item in items] == [
        ("item", str(key), "absent", "first_values"),
        ("user", str(key), "row", "row"),
    ]
    assert items[0]["checkpoint"]["message"] == "There is no checkpoint yet."
    [own] = look_up(running, text="red", table="user").json()["items"]
    assert own["key"] == str(int(hashed(["red"], "user")[0])), "the field is the table by default"


def test_mistakes_are_explained(running: Running, platform: Platform) -> None:
    before = look_up(running, key=1, table="user").json()["items"][0]
    assert (before["state"], before["export"]) == ("no_export", None)
    assert "`gradstream export JOB` asks for one" in before["message"]
    assert look_up(running, key=1).status_code == 404, "the job file names no table"
    store_export(running, None, {1: [0.0, 1.0]})
    unknown = look_up(running, key=1, table="users")
    assert (unknown.status_code, unknown.json()["detail"]) == (
        404,
        "The job has no table 'users'. Did you mean 'user'? It has item, user.",
    )
    for params in ({}, {"key": "red"}, {"key": 1, "text": "a"}, {"key": 1, "field": "a"}, {"key": 2**63}):
        assert look_up(running, **params).status_code == 422
    [file] = platform.files.of_job(UUID(running.id)).glob(f"*/exports/1/{ROWS}")
    damage(file)
    refused = look_up(running, key=1, table="user")
    assert refused.status_code == 409
    assert (
        "Export 1 is damaged on the platform's disk: shard-0.rows-0.safetensors does not have its checksum"
        in refused.json()["detail"]
    )


def test_an_export_that_is_replaced_while_it_is_read_is_not_called_damaged(
    running: Running, platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_export(running, None, {1: [1.0, 1.0]})
    lists = [service._list_stored(platform, UUID(running.id))]
    for number in range(3):
        store_export(running, None, {1: [2.0, float(number)]})
    assert not list(platform.files.of_job(UUID(running.id)).glob("*/exports/1")), "only two bases are kept"
    read = service._list_stored
    monkeypatch.setattr(service, "_list_stored", lambda *job: lists.pop() if lists else read(*job))
    assert found(running, 1)["message"] == "Export 4 has its row."
    assert lists == []


def damage(file: Path) -> None:
    content = file.read_bytes()
    file.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))


def test_summaries_are_merged_and_checked(running: Running) -> None:
    assert running.api.get(f"/jobs/{running.id}/tables").json()["items"] == []
    table = {"rows": 3, "candidates": 1, "nbytes": 100, "made": 4, "evicted": 1, "counted": 3, "ages": [2, 0, 1], "scores": None}
    hottest = [{"key": -(2**63), "updates": 7}, {"key": 5, "updates": 2}]
    summary = {"shard": 0, "version": 9, "samples": 90, "tables": {"user": table | {"hottest": hottest}}}

    def put(given: Any, path: str = "tables/shard-0.json") -> int:
        return running.agent.put("server-0", path, json.dumps(given).encode()).status_code

    assert put(summary) == 200
    found = running.api.get(f"/jobs/{running.id}/tables").json()
    assert (found["servers"], found["of_servers"], found["samples"]) == (1, 1, 90)
    [user] = found["items"]
    assert [(key["key"], key["updates"]) for key in user["hottest"]] == [(str(-(2**63)), 7), ("5", 2)]
    assert user["ages"] == [
        {"least": 0, "below": 1, "rows": 2},
        {"least": 1, "below": 2, "rows": 0},
        {"least": 2, "below": None, "rows": 1},
    ]
    assert put(summary | {"samples": 100}) == 200, "a newer one replaces it"
    assert running.api.get(f"/jobs/{running.id}/tables").json()["samples"] == 100
    assert put(summary, "tables/shard-1.json") == 422, "of another server"
    for wrong in ({}, summary | {"tables": {"user": table | {"hottest": hottest * 11}}}, summary | {"version": -1}, [1]):
        assert put(wrong) == 422
    assert put(summary | {"more": "x" * MAX_BYTES}) == 422
