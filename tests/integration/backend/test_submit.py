"""Submitting, finding, reading jobs."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest

from gradstream.spec import JobSpec
from tests.integration.backend.jobs import WORK, spec, submit, upload


def test_a_submitted_job_is_queued_and_can_be_read(api: httpx.Client, tmp_path: Path) -> None:
    job = submit(api, tmp_path)
    assert (job["status"], job["user"], job["strategy"], job["gate"]) == ("queued", "ada", "adag", "asp")
    assert api.get(f"/jobs/{job['id']}").json() == job
    [event] = api.get(f"/jobs/{job['id']}/events").json()["items"]
    assert (event["actor"], event["data"]["to"]) == ("user:ada", "queued")


def test_mistakes_are_named_by_their_place(api: httpx.Client, tmp_path: Path) -> None:
    wrong = spec(strategy={"name": "adag", "windw": 2}, batch_size=0)
    answer = api.post("/jobs", json={"spec": wrong, "bundle": upload(api, tmp_path)})
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert problem["type"] == "/problems/InvalidJob"
    found = {each["pointer"]: each["message"] for each in problem["errors"]}
    assert "did you mean 'window'" in found["/spec/strategy/windw"]
    assert "at least 1" in found["/spec/batch_size"]


@pytest.mark.parametrize("given", ["text", 5, None, [], {"strategy": "adag"}])
def test_what_is_no_mapping_is_a_mistake_of_the_request(api: httpx.Client, given: object) -> None:
    answer = api.post("/jobs", json={"spec": given})
    assert (answer.status_code, answer.json()["type"]) == (422, "/problems/InvalidJob")


@pytest.mark.parametrize("value", ['"a\\u0000b"', '"\\ud800"', "NaN", "1e999", '{"\\u0000": 1}'])
def test_arguments_that_a_worker_would_not_get_as_written_are_refused(api: httpx.Client, value: str) -> None:
    body = json.dumps({"spec": spec(workload={"entrypoint": "work:Work", "args": {"x": "here"}})}).replace('"here"', value)
    answer = api.post("/jobs", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"] == "/spec/workload/args"


def test_tables_are_taken_as_they_were_written(api: httpx.Client, tmp_path: Path) -> None:
    """A client sends every field of a job file, also those that are not set."""
    tables = {"user": {"admit": {"count": 2}, "keep": {"unseen": 3}}, "default": {"rule": {"name": "ftrl"}}}
    sent = JobSpec.model_validate(spec(tables=tables)).model_dump(mode="json")
    assert sent["tables"]["user"]["admit"] == {"count": 2, "probability": None, "score": None}
    answer = api.post("jobs", json={"spec": sent, "bundle": upload(api, tmp_path)})
    assert answer.status_code == 201, answer.text
    stored = api.get(f"jobs/{answer.json()['id']}").json()["spec"]["tables"]
    assert stored["user"]["keep"]["unseen"] == 3


@pytest.mark.parametrize("part", ["admit", "keep"])
def test_a_part_of_a_table_without_a_condition_is_refused(part: str, api: httpx.Client, tmp_path: Path) -> None:
    nothing = {"count": None, "probability": None, "score": None} if part == "admit" else {"decay": None}
    answer = api.post("jobs", json={"spec": spec(tables={"user": {part: nothing}}), "bundle": upload(api, tmp_path)})
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"] == f"/spec/tables/user/{part}"


def test_what_postgres_cannot_hold_is_a_mistake_of_the_request(api: httpx.Client, tmp_path: Path) -> None:
    job = submit(api, tmp_path)
    paths = ["jobs?q=%00", "jobs?strategy=%00", f"jobs/{job['id']}/artifacts/%00", f"jobs/{job['id']}/chart?name=%00"]
    paths += [f"jobs/{job['id']}/{what}?after={2**63}" for what in ("events", "logs", "metrics", "stream")]
    assert {path: api.get(path).status_code for path in paths} == dict.fromkeys(paths, 422)
    names = ["a\\u0000", "\\ud800"]
    answers = [api.post("/tokens", content=f'{{"name": "{name}"}}', headers={"Content-Type": "application/json"}) for name in names]
    assert [answer.status_code for answer in answers] == [422, 422]


def test_a_body_that_is_no_json_is_answered_with_the_place(api: httpx.Client) -> None:
    answer = api.post("/jobs", content=b'{"spec": oh}', headers={"Content-Type": "application/json"})
    [mistake] = answer.json()["errors"]
    assert (answer.status_code, mistake["pointer"]) == (422, "")
    assert "character 9" in mistake["message"]


def test_a_body_is_not_read_without_end(anonymous: httpx.Client) -> None:
    def endless() -> Iterator[bytes]:
        yield from itertools.repeat(b" " * 1024, 100)

    headers = {"Content-Type": "application/json"}
    declared = anonymous.post("/session", content=b" " * 4097, headers=headers)
    assert (declared.status_code, declared.json()["type"]) == (413, "/problems/TooLarge")
    assert anonymous.post("/session", content=endless(), headers=headers).status_code == 413


def test_validate_answers_mistakes_without_submitting(api: httpx.Client) -> None:
    good = api.post("/jobs/validate", json={"spec": spec()}).json()
    assert good["valid"]
    assert good["spec"]["batch_size"] == 32, "defaults are filled in"
    bad = api.post("/jobs/validate", json={"yaml": "name: small\nstrategy: {name: adagg}\n"}).json()
    assert not bad["valid"]
    assert {"/strategy/name", "/workload", "/stop"} <= {each["pointer"] for each in bad["errors"]}
    assert api.post("/jobs/validate", json={}).status_code == 422
    assert api.get("/jobs").json()["items"] == []


def test_a_job_file_over_a_known_limit_is_warned_of_and_taken(api: httpx.Client, tmp_path: Path) -> None:
    heavy = {"strategy": {"name": "async"}, "optimizer": {"name": "sgd", "momentum": 0.9}}
    checked = api.post("/jobs/validate", json={"spec": spec(**heavy)}).json()
    [warning] = checked["warnings"]
    assert checked["valid"]
    assert warning["pointer"] == "/optimizer/momentum"
    assert "momentum_correction: true, which uses 0.4" in warning["message"]
    job = submit(api, tmp_path, **heavy)
    assert job["warnings"] == api.get(f"/jobs/{job['id']}").json()["warnings"] == [warning]
    assert api.post("/jobs/validate", json={"spec": spec()}).json()["warnings"] == []

    heavy["optimizer"] = {**heavy["optimizer"], "momentum_correction": True}
    corrected = submit(api, tmp_path, **heavy)
    assert corrected["warnings"] == []
    assert corrected["notes"][0]["message"].startswith("The server uses a momentum of 0.4: 0.9, less the 0.5")


def test_the_code_of_a_job_comes_back_as_it_was_sent(api: httpx.Client, anonymous: httpx.Client, tmp_path: Path) -> None:
    hash = upload(api, tmp_path)
    archive = api.get(f"/bundles/{hash}/archive")
    assert archive.status_code == 200
    assert sha256(archive.content).hexdigest() == hash
    assert anonymous.get(f"/bundles/{hash}/archive").status_code == 401
    assert api.get(f"/bundles/{'0' * 64}/archive").status_code == 404


def test_user_code_must_be_there_and_hold_the_entrypoint(api: httpx.Client, tmp_path: Path) -> None:
    without = api.post("/jobs", json={"spec": spec()})
    unknown = api.post("/jobs", json={"spec": spec(), "bundle": "0" * 64})
    lacking = api.post("/jobs", json={"spec": spec(workload={"entrypoint": "other:Work"}), "bundle": upload(api, tmp_path)})
    assert [a.status_code for a in (without, unknown, lacking)] == [422, 422, 422]
    assert without.json()["errors"][0]["pointer"] == unknown.json()["errors"][0]["pointer"] == "/bundle"
    assert lacking.json()["errors"][0]["pointer"] == "/spec/workload/entrypoint"


@pytest.mark.parametrize(
    ("asked", "status"), [("bytes=\xff", 400), ("bytes=9-2", 400), ("pages=1-2", 400), ("bytes=99999999-", 416)]
)
def test_range_that_a_file_does_not_have_is_a_problem(api: httpx.Client, tmp_path: Path, asked: str, status: int) -> None:
    archive = f"/bundles/{upload(api, tmp_path)}/archive"
    answer = api.get(archive, headers={"Range": asked.encode("latin-1")})
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")
    assert "range" in answer.json()["detail"].lower()
    assert api.get(archive, headers={"Range": "bytes=0-1"}).content == api.get(archive).content[:2]


@pytest.mark.parametrize(
    ("workload", "pointer", "said"),
    [
        ({"entrypoint": "work:Wrok"}, "/workload/entrypoint", "did you mean 'Work'?"),
        ({"entrypoint": "wrok:Work"}, "/workload/entrypoint", "did you mean 'work:Work'?"),
        ({"entrypoint": "work:Work", "args": {"hiden": 3}}, "/workload/args/hiden", "did you mean 'hidden'?"),
        ({"entrypoint": "work:Work", "args": {"hidden": "x"}}, "/workload/args/hidden", "is declared as int"),
    ],
)
def test_validate_plan_and_submit_refuse_what_the_code_lacks(
    api: httpx.Client, tmp_path: Path, workload: dict[str, Any], pointer: str, said: str
) -> None:
    job, bundle = spec(workload=workload), upload(api, tmp_path)
    by_sources = api.post("/jobs/validate", json={"spec": job, "sources": {"work.py": WORK}}).json()
    by_bundle = api.post("/jobs/validate", json={"spec": job, "bundle": bundle}).json()
    assert by_sources == by_bundle
    assert (by_bundle["valid"], by_bundle["ready"], by_bundle["errors"][0]["pointer"]) == (False, False, pointer)
    assert said in by_bundle["errors"][0]["message"]
    for path in ("/jobs/plan", "/jobs"):
        refused = api.post(path, json={"spec": job, "bundle": bundle})
        assert refused.status_code == 422
        assert refused.json()["errors"] == [{**by_bundle["errors"][0], "pointer": f"/spec{pointer}"}]


def test_a_job_without_code_is_valid_but_not_ready(api: httpx.Client, tmp_path: Path) -> None:
    without = api.post("/jobs/validate", json={"spec": spec()}).json()
    assert (without["valid"], without["ready"], without["workloads"]) == (True, False, [])
    unknown = api.post("/jobs/validate", json={"spec": spec(), "bundle": "0" * 64}).json()
    assert (unknown["valid"], unknown["ready"]) == (True, False)
    bundle = upload(api, tmp_path)
    there = api.post("/jobs/validate", json={"spec": spec(), "bundle": bundle}).json()
    assert (there["valid"], there["ready"]) == (True, True)
    hidden = {"name": "hidden", "annotation": "int", "required": False, "default": 8, "literal": True}
    hidden |= {"values": {"type": "integer"}, "help": ""}
    assert there["workloads"] == [{"entrypoint": "work:Work", "summary": "", "arguments": [hidden]}]
    assert there["workloads"] == api.get(f"/bundles/{bundle}").json()["workloads"]
    states = [api.post("/jobs/plan", json={"spec": spec(), "bundle": each}).json()["code"] for each in (None, "0" * 64, bundle)]
    assert states == ["missing", "not_uploaded", "checked"]
    assert api.post("/jobs/validate", json={"spec": spec(), "bundle": bundle, "sources": {}}).status_code == 422


def test_a_bundle_that_leaves_its_folder_is_refused(api: httpx.Client) -> None:
    answer = api.post("/bundles", content=b"no archive", headers={"Content-Type": "application/gzip"})
    assert (answer.status_code, answer.json()["type"]) == (422, "/problems/InvalidBundle")


def test_a_bundle_is_stored_once(api: httpx.Client, tmp_path: Path) -> None:
    hash = upload(api, tmp_path)
    assert upload(api, tmp_path) == hash
    assert api.get(f"/bundles/{hash}").json()["files"] == [{"path": "work.py", "size": len(WORK), "warning": None}]
    assert api.get(f"/bundles/{'0' * 64}").status_code == 404


def test_the_same_key_gives_the_same_job(api: httpx.Client, tmp_path: Path) -> None:
    body, key = {"spec": spec(), "bundle": upload(api, tmp_path)}, {"Idempotency-Key": "once"}
    first, again = (api.post("/jobs", json=body, headers=key) for _ in range(2))
    assert first.status_code == again.status_code == 201
    assert first.json()["id"] == again.json()["id"]
    other = api.post("/jobs", json={**body, "spec": spec(seed=2)}, headers=key)
    assert (other.status_code, other.json()["type"]) == (409, "/problems/Conflict")
    assert len(api.get("/jobs").json()["items"]) == 1


def test_the_commit_of_the_code_is_kept_with_the_job(api: httpx.Client, tmp_path: Path) -> None:
    origin = {"commit": "1a2b3c4d" * 5, "branch": "main", "dirty": True, "client": "0.1.0"}
    body = {"spec": spec(), "bundle": upload(api, tmp_path), "origin": origin}
    key = {"Idempotency-Key": "origin"}
    job = api.post("/jobs", json=body, headers=key).json()
    assert job["origin"] == api.get(f"/jobs/{job['id']}").json()["origin"] == origin
    again = api.post("/jobs", json={**body, "origin": {**origin, "commit": "0" * 40}}, headers=key)
    assert (again.status_code, again.json()["id"]) == (201, job["id"]), "the code may have been committed meanwhile"
    assert submit(api, tmp_path)["origin"] is None
    newer = api.post("/jobs", json={**body, "origin": {**origin, "remote": "https://ada:secret@example.org"}})
    assert newer.json()["origin"] == origin, "members of newer clients are not kept"
    for name, wrong in (("commit", "1a2b3c4"), ("branch", "n" * 251), ("client", "\n")):
        answer = api.post("/jobs", json={**body, "origin": {**origin, name: wrong}})
        assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, f"/origin/{name}")


def test_changes_that_were_not_committed_are_kept_beside_the_job(api: httpx.Client, tmp_path: Path) -> None:
    changes = [
        {"path": "circle.py", "change": "changed", "lines": ["@@ -1 +1 @@", "-a", "+b"]},
        {"path": "new.py", "change": "added", "lines": None},
    ]
    origin = {"commit": "1a2b3c4d" * 5, "branch": "main", "dirty": True, "client": "0.1.0"}
    body = {"spec": spec(), "bundle": upload(api, tmp_path)}
    job = api.post("/jobs", json={**body, "origin": {**origin, "uncommitted": changes}}).json()
    assert job["origin"] == origin, "lists of jobs stay short"
    assert api.get(f"/jobs/{job['id']}/uncommitted").json() == {"items": changes}
    assert api.get(f"/jobs/{submit(api, tmp_path)['id']}/uncommitted").json() == {"items": []}
    assert api.get(f"/jobs/{UUID(int=1)}/uncommitted").status_code == 404
    for wrong in ("\0", "\ud800"):
        damaged = [{"path": "circle.py", "change": "changed", "lines": [wrong]}]
        content = json.dumps({**body, "origin": {**origin, "uncommitted": damaged}})
        assert api.post("/jobs", content=content, headers={"Content-Type": "application/json"}).status_code == 422
    long = [{"path": "circle.py", "change": "changed", "lines": ["+" * 1000] * 300}]
    refused = api.post("/jobs", json={**body, "origin": {**origin, "uncommitted": long}})
    assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (422, "/origin/uncommitted")


def test_pages_hold_every_job_once_newest_first(api: httpx.Client, tmp_path: Path) -> None:
    submitted = [submit(api, tmp_path, name=f"job-{n}")["id"] for n in range(5)]
    seen, cursor = [], None
    while True:
        page = api.get("/jobs", params={"limit": 2, **({"cursor": cursor} if cursor else {})}).json()
        seen += [job["id"] for job in page["items"]]
        if (cursor := page["next_cursor"]) is None:
            break
    assert seen == submitted[::-1]
    assert api.get("/jobs", params={"cursor": "made-up"}).json()["errors"][0]["pointer"] == "/query/cursor"


def test_filters(api: httpx.Client, tmp_path: Path) -> None:
    submit(api, tmp_path, name="first")
    second = submit(api, tmp_path, name="second", strategy={"name": "sync"})
    api.post(f"/jobs/{second['id']}/stop")

    def names(**wanted: str) -> list[str]:
        return [job["name"] for job in api.get("/jobs", params=wanted).json()["items"]]

    assert names(status="queued") == ["first"]
    assert names(strategy="sync") == ["second"]
    assert names(q="FIR") == ["first"]
    assert names(q="%") == [], "what SQL would take for a pattern is text"


def test_a_queued_job_stops_at_once_and_can_then_be_deleted(api: httpx.Client, tmp_path: Path) -> None:
    job = submit(api, tmp_path)
    assert api.delete(f"/jobs/{job['id']}").status_code == 409
    assert api.post(f"/jobs/{job['id']}/stop").json()["status"] == "cancelled"
    assert api.post(f"/jobs/{job['id']}/stop").json()["status"] == "cancelled", "safe to repeat"
    assert api.delete(f"/jobs/{job['id']}").status_code == 204
    assert api.get(f"/jobs/{job['id']}").status_code == 404


def test_the_long_poll_answers_when_the_job_changes(api: httpx.Client, tmp_path: Path) -> None:
    job = submit(api, tmp_path)
    assert api.get(f"/jobs/{job['id']}", params={"wait": 30, "since": job["seq"] - 1}).json() == job
    assert api.get(f"/jobs/{job['id']}", params={"wait": 0.05, "since": job["seq"]}).json() == job


class TestSource:
    """The text of a job file, sent beside what it says."""

    TEXT = "# by ada, after lunch\n" + json.dumps(spec())

    def send(self, api: httpx.Client, folder: Path, **changes: Any) -> httpx.Response:
        return api.post("/jobs", json={"spec": spec(), "bundle": upload(api, folder), "source": self.TEXT, **changes})

    def test_it_is_kept_to_the_letter(self, api: httpx.Client, tmp_path: Path) -> None:
        job = self.send(api, tmp_path).json()
        config = api.get(f"/jobs/{job['id']}/config").json()
        assert (config["source"], config["overrides"]) == (self.TEXT, [])

    def test_without_one_there_is_none(self, api: httpx.Client, tmp_path: Path) -> None:
        assert api.get(f"/jobs/{submit(api, tmp_path)['id']}/config").json()["source"] is None

    def test_what_was_set_over_it_is_kept_beside_it(self, api: httpx.Client, tmp_path: Path) -> None:
        job = self.send(api, tmp_path, spec=spec(priority=80), overrides=["priority=80"]).json()
        assert job["priority"] == 80
        assert api.get(f"/jobs/{job['id']}/config").json()["overrides"] == ["priority=80"]

    @pytest.mark.parametrize(
        ("changes", "pointer", "says"),
        [
            ({"spec": spec(seed=7)}, "/source", "differs from `spec`"),
            ({"source": "name: ["}, "/source", "line"),
            ({"source": "name: small"}, "/source", "/workload"),
            ({"source": "# " + "x" * 256 * 1024}, "/source", "at most"),
            ({"source": None, "overrides": ["seed=1"]}, "/overrides", "send `source`"),
        ],
    )
    def test_one_that_says_something_else_is_refused(
        self, changes: dict[str, Any], pointer: str, says: str, api: httpx.Client, tmp_path: Path
    ) -> None:
        answer = self.send(api, tmp_path, **changes)
        assert answer.status_code == 422
        assert any(error["pointer"] == pointer and says in error["message"] for error in answer.json()["errors"]), answer.text
        assert api.get("/jobs").json()["items"] == []
