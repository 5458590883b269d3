"""Names, tags, notes and archived jobs: changed at any time, found in lists, and without any effect on the job itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from backend.platform import Platform
from tests.integration.backend.jobs import spec, submit
from tests.integration.backend.test_lists import insert_jobs


def names(api: httpx.Client, **query: Any) -> set[str]:
    return {job["name"] for job in api.get("/jobs", params={"limit": 200, **query}).json()["items"]}


def edit(api: httpx.Client, job: Any, **body: Any) -> dict[str, Any]:
    response = api.patch(f"/jobs/{job}", json=body)
    assert response.status_code == 200, response.text
    return dict(response.json())


def test_a_job_file_gives_the_first_tags_and_note_and_users_change_them(api: httpx.Client, tmp_path: Path) -> None:
    job = submit(api, tmp_path, tags=["nightly", "base line", "nightly"], note="before the new schedule")["id"]
    seen = api.get(f"/jobs/{job}").json()
    assert (seen["tags"], seen["note"], seen["archived"]) == (["nightly", "base line"], "before the new schedule", False)
    assert not {"tags", "note"} & api.get(f"/jobs/{job}/config").json()["effective"].keys(), "they make no two jobs differ"
    changed = edit(api, job, tags=["best"], note="")
    assert (changed["tags"], changed["note"]) == (["best"], "")
    assert changed["seq"] > seen["seq"], "pages that are open hear of it"
    assert edit(api, job, tags=["best"])["seq"] == changed["seq"], "nothing changed"
    assert changed["spec"]["tags"] == ["nightly", "base line"], "the job file stays as submitted"


def test_a_new_name_is_found_and_is_an_event(api: httpx.Client, tmp_path: Path) -> None:
    job = submit(api, tmp_path)["id"]
    before = api.get(f"/jobs/{job}").json()["name"]
    assert edit(api, job, name="seventh-try")["name"] == "seventh-try"
    assert names(api, q="seventh") == {"seventh-try"}
    [event] = api.get(f"/jobs/{job}/events", params={"kind": "name"}).json()["items"]
    assert event["data"] == {"from": before, "to": "seventh-try"}
    assert event["message"].startswith(f"name seventh-try instead of {before}, by ")


def test_a_list_has_jobs_with_all_of_the_tags_and_counts_them(api: httpx.Client, platform: Platform) -> None:
    one, two, three = insert_jobs(platform, 3)
    for job, tags in ((one, ["a", "b"]), (two, ["b"]), (three, [])):
        edit(api, job, name=f"tagged-{len(tags)}", tags=tags)
    assert names(api, tag="b") == {"tagged-2", "tagged-1"}
    assert names(api, tag=["b", "a"]) == {"tagged-2"}
    assert names(api, tag="c") == set()
    counts = api.get("/jobs/counts").json()
    assert (counts["tag"], counts["archived"]) == ({"a": 1, "b": 2}, 0)


def test_archived_jobs_are_in_no_list_that_does_not_ask_for_them(api: httpx.Client, tmp_path: Path) -> None:
    submit(api, tmp_path, name="kept")
    gone = submit(api, tmp_path, name="gone")["id"]
    refused = api.patch(f"/jobs/{gone}", json={"archived": True})
    assert (refused.status_code, "Only jobs that have ended" in refused.json()["detail"]) == (409, True)
    api.post(f"/jobs/{gone}/stop")
    assert edit(api, gone, archived=True, tags=["old"])["archived"]
    assert names(api) == {"kept"}
    assert names(api, archived="only") == {"gone"}
    assert names(api, archived="include") == {"kept", "gone"}
    counts = api.get("/jobs/counts").json()
    assert (counts["archived"], counts["tag"], sum(counts["status"].values())) == (1, {}, 1)
    assert not edit(api, gone, archived=False)["archived"]
    assert names(api) == {"kept", "gone"}


def test_many_are_changed_at_once_and_each_refusal_is_named(api: httpx.Client, tmp_path: Path) -> None:
    waiting, ended = (submit(api, tmp_path)["id"] for _ in range(2))
    api.post(f"/jobs/{ended}/stop")
    both = {"ids": [waiting, ended]}
    for action, tags in (("add_tags", ["x", "y"]), ("add_tags", ["y"]), ("remove_tags", ["x", "z"])):
        answer = api.post("/jobs/bulk", json={"action": action, "tags": tags, **both}).json()
        assert [item["done"] for item in answer["items"]] == [True, True]
    assert [api.get(f"/jobs/{job}").json()["tags"] for job in both["ids"]] == [["y"], ["y"]]
    answer = api.post("/jobs/bulk", json={"action": "archive", **both}).json()
    assert [item["done"] for item in answer["items"]] == [False, True]
    assert "Only jobs that have ended can be archived" in answer["items"][0]["message"]
    many = [f"tag {number}" for number in range(20)]
    [full] = api.post("/jobs/bulk", json={"action": "add_tags", "tags": many, "ids": [ended]}).json()["items"]
    assert (full["done"], "at most 20 tags" in full["message"]) == (False, True)


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"tags": ["a,b"]}, "/tags/0"),
        ({"tags": [" a"]}, "/tags/0"),
        ({"tags": ["\x00"]}, "/tags/0"),
        ({"tags": [str(number) for number in range(21)]}, "/tags"),
        ({"note": "x" * 4001}, "/note"),
        ({"note": "\x00"}, "/note"),
        ({"name": "Not A Name"}, "/name"),
        ({"status": "succeeded"}, "/status"),
    ],
    ids=str,
)
def test_what_no_list_could_show_is_refused(api: httpx.Client, tmp_path: Path, body: dict[str, Any], pointer: str) -> None:
    job = submit(api, tmp_path)["id"]
    refused = api.patch(f"/jobs/{job}", json=body)
    assert refused.status_code == 422
    assert [error["pointer"] for error in refused.json()["errors"]] == [pointer]


def test_a_job_file_with_a_bad_tag_names_the_tag(api: httpx.Client) -> None:
    refused = api.post("/jobs", json={"spec": spec(tags=["fine", "a,b"])})
    assert refused.status_code == 422
    [error] = refused.json()["errors"]
    assert error["pointer"].endswith("/tags/1")
    assert "no comma" in error["message"]
