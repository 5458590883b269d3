"""Logged media: what processes store, what users read of it, and the limits of a job."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from sqlalchemy import text

from backend.jobs.backoff import JobBackoff
from backend.media import keeping
from backend.platform import Platform
from gradstream.client import Client, Credentials
from gradstream.user_logging.png import encode_png
from tests.integration.backend.running import Running

PNG = encode_png(np.zeros((3, 5, 3), np.uint8))
TABLE = json.dumps({"columns": ["word", "n"], "rows": [["<script>", 1]]}).encode()


def item(name: str = "sample", content: bytes = PNG, kind: str = "image", step: int = 7, **changes: Any) -> dict[str, Any]:
    place = {"step": step, "samples": 10 * step, "version": step, "time": 1.7e9}
    return {"name": name, "kind": kind, "content": b64encode(content).decode()} | place | changes


def histogram(counts: list[int], step: int = 0, **changes: Any) -> dict[str, Any]:
    content = {"edges": [float(edge) for edge in range(len(counts) + 1)], "counts": counts, "nan": 0, "inf": 0} | changes
    return item("weights", json.dumps(content).encode(), "histogram", step)


def post(running: Running, label: str, *items: Mapping[str, Any], token: str | None = None) -> httpx.Response:
    headers = {"Authorization": f"Bearer {token or running.agent.order(label).store.token}"}
    return running.agent.http.post("/process/media", json={"items": items}, headers=headers)


def put(running: Running, label: str, *items: Mapping[str, Any]) -> None:
    response = post(running, label, *items)
    assert (response.status_code, response.json()) == (200, {"dropped": 0, "why": None})


def test_users_list_and_read_what_processes_store(running: Running) -> None:
    put(running, "worker-1", item(), item("words", TABLE, "table"), item("note", "grüße".encode(), "text"))
    put(running, "evaluator", item(step=9))
    names = running.items("media")
    assert [(one["name"], one["kind"], one["ranks"], one["count"]) for one in names] == [
        ("note", "text", [1], 1),
        ("sample", "image", [-1, 1], 2),
        ("words", "table", [1], 1),
    ]
    [of_worker] = running.api.get(f"/jobs/{running.id}/media/items", params={"name": "sample", "rank": 1}).json()["items"]
    assert {key: of_worker[key] for key in ("step", "samples", "version", "attempt", "width", "height", "size")} == {
        "step": 7,
        "samples": 70,
        "version": 7,
        "attempt": 1,
        "width": 5,
        "height": 3,
        "size": len(PNG),
    }
    found = running.api.get(f"/jobs/{running.id}/media/items/{of_worker['seq']}")
    assert found.content == PNG
    assert {key: found.headers[key] for key in ("content-type", "x-content-type-options", "content-disposition")} == {
        "content-type": "image/png",
        "x-content-type-options": "nosniff",
        "content-disposition": 'inline; filename="sample.worker-1.00000007.png"',
    }
    note = running.api.get(f"/jobs/{running.id}/media/items/{names[0]['seq']}", params={"download": True})
    assert (note.text, note.headers["content-type"]) == ("grüße", "text/plain; charset=utf-8")
    assert note.headers["content-disposition"].startswith("attachment")


def test_media_are_for_users_of_the_platform_alone(running: Running, anonymous: httpx.Client) -> None:
    put(running, "worker-0", item())
    seq = running.items("media")[0]["seq"]
    for path in ("media", "media/items", f"media/items/{seq}", "media/histograms?name=x"):
        assert anonymous.get(f"/jobs/{running.id}/{path}").status_code == 401
    assert running.api.get(f"/jobs/{running.id}/media/items/{seq + 1}").status_code == 404


def test_a_repeated_step_replaces_its_item_and_pages_go_on_where_they_ended(running: Running) -> None:
    for step in range(5):
        put(running, "worker-0", item(step=step))
    put(running, "worker-0", item(step=0, version=30))
    items, after = [], 0
    while after is not None:
        page = running.api.get(f"/jobs/{running.id}/media/items", params={"limit": 2, "after": after}).json()
        assert len(page["items"]) <= 2
        items += page["items"]
        after = page["next"]
    assert [(one["step"], one["version"]) for one in items] == [(1, 1), (2, 2), (3, 3), (4, 4), (0, 30)]


def test_histograms_come_by_step_and_evenly_chosen(running: Running) -> None:
    put(running, "worker-0", *(histogram([step, 1], step) for step in range(10)))
    found = running.api.get(f"/jobs/{running.id}/media/histograms", params={"name": "weights", "most": 4}).json()
    assert (found["count"], [(one["step"], one["counts"]) for one in found["items"]]) == (10, [(s, [s, 1]) for s in (0, 3, 6, 9)])


WRONG = {
    "is no PNG file": item(content=b"<svg onload='alert(1)'/>"),
    "the name '<b>' must have": item("<b>"),
    "and 65,536 are allowed for a text": item("long", b"x" * 70_000, "text"),
    "is no text": item("note", b"\xff", "text"),
    "is no table": item("words", b'{"columns": ["a"], "rows": [[1, 2]]}', "table"),
    "is no histogram": histogram([1, 2], edges=[0.0, 2.0, 1.0]),
}


@pytest.mark.parametrize("why", WRONG)
def test_what_user_code_sends_by_itself_is_checked(running: Running, why: str) -> None:
    refused = post(running, "worker-0", item(), WRONG[why])
    assert refused.status_code == 422
    assert why in refused.json()["detail"]
    assert running.items("media") == []


def test_servers_and_processes_that_are_over_store_nothing(running: Running) -> None:
    assert post(running, "server-0", item()).status_code == 422
    token = running.agent.order("worker-0").store.token
    running.agent.exit("worker-0")
    assert post(running, "worker-0", item(), token=token).status_code == 409
    assert running.agent.http.post("/process/media", json={"items": [item()]}).status_code == 401


def test_a_job_that_has_as_much_as_it_may_drops_the_rest(running: Running, platform: Platform) -> None:
    put(running, "worker-0", item())
    with platform.database.transaction() as session:
        session.execute(text("UPDATE media SET size = :size"), {"size": platform.settings.job_media_bytes - len(PNG)})
    outcome = post(running, "worker-0", *(item(step=step) for step in range(4))).json()
    assert outcome["dropped"] == 3
    assert "the job has 2 items" in outcome["why"]
    assert running.items("media")[0]["count"] == 2
    assert running.status == ("running", None)


def test_the_sdk_saves_media_in_a_folder_and_they_go_with_their_job(
    running: Running, server: str, token: str, tmp_path: Path
) -> None:
    put(running, "worker-0", item("../sample"), item("words", TABLE, "table"))
    with Client(Credentials(server, token)) as client:
        paths = client.download_media(running.id, into=tmp_path)
        assert [path.relative_to(tmp_path).as_posix() for path in paths] == [
            "..~sample.worker-0.00000007.png",
            "words.worker-0.00000007.json",
        ]
        assert [path.read_bytes() for path in paths] == [PNG, TABLE]
        about = [json.loads(line) for line in (tmp_path / "media.jsonl").read_text().splitlines()]
        assert [(one["name"], one["file"], one["samples"]) for one in about] == [
            ("../sample", paths[0].name, 70),
            ("words", paths[1].name, 70),
        ]
        running.succeed()
        client.delete(running.id)
    assert running.api.get(f"/jobs/{running.id}/media").status_code == 404


def test_retention_removes_the_media_of_a_job_that_has_ended(running: Running, platform: Platform) -> None:
    put(running, "worker-0", item(), item(step=8))
    running.succeed()
    with platform.database.transaction() as session:
        session.execute(text("UPDATE jobs SET spec = jsonb_set(spec, '{retention,media}', '86400')"))
    keeping.tidy(platform.database, JobBackoff(platform.database))
    assert running.items("media")[0]["count"] == 2
    with platform.database.transaction() as session:
        session.execute(text("UPDATE jobs SET ended_at = ended_at - interval '25 hours'"))
    keeping.tidy(platform.database, JobBackoff(platform.database))
    assert running.items("media") == []
    told = [event["message"] for event in running.items("events") if event["kind"] == "retention"]
    assert told == ["2 logged media were removed 1 days after the end, as 'retention' says."]
