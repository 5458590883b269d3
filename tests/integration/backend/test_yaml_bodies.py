"""A job file as the body of a request, as it is: YAML, with the bundle and overrides in the query."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import httpx
import pytest

from backend.submission.job_body import YAML_TYPES
from gradstream.jobfile import MAX_TEXT
from tests.integration.backend.jobs import spec, upload

ROOT = Path(__file__).parents[3]
FILE = """# by ada, after lunch
version: 1
name: small
workload: {entrypoint: "work:Work"}
strategy: {name: adag, window: 2}
roles: {server: {count: 1}, worker: {count: 2, device: cpu}}
stop: {steps: 10}
"""
YAML = {"Content-Type": "application/yaml"}


def post(api: httpx.Client, path: str, text: str | bytes = FILE, headers: dict[str, str] = YAML, **query: Any) -> httpx.Response:
    return api.post(path, content=text, headers=headers, params=query)


@pytest.mark.parametrize("kind", ["application/yaml", "application/x-yaml", "text/yaml; charset=utf-8", "Application/YAML"])
def test_a_job_file_is_submitted_as_it_is(api: httpx.Client, tmp_path: Path, kind: str) -> None:
    bundle = upload(api, tmp_path)
    answer = post(api, "/jobs", headers={"Content-Type": kind}, bundle=bundle, set=["priority=80", "strategy.lr=0.2"])
    assert answer.status_code == 201, answer.text
    job = answer.json()
    assert answer.headers["Location"] == f"/api/v1/jobs/{job['id']}"
    assert (job["name"], job["strategy"], job["priority"]) == ("small", "adag", 80)
    config = api.get(f"/jobs/{job['id']}/config").json()
    assert (config["source"], config["overrides"]) == (FILE, ["priority=80", "strategy.lr=0.2"])
    assert config["full"]["strategy"]["lr"] == 0.2


def test_the_same_key_and_file_give_the_same_job(api: httpx.Client, tmp_path: Path) -> None:
    bundle, key = upload(api, tmp_path), {**YAML, "Idempotency-Key": "pipeline-7"}
    first, again = (post(api, "/jobs", headers=key, bundle=bundle).json() for _ in range(2))
    assert first["id"] == again["id"]
    assert post(api, "/jobs", FILE + "seed: 2\n", headers=key, bundle=bundle).status_code == 409


@pytest.mark.few(10)
@pytest.mark.parametrize("path", ["/jobs", "/jobs/plan"])
@pytest.mark.parametrize(
    ("text", "pointer", "said"),
    [
        ("name: small\nstrategy: {name: [\n", "", "(line 3, column 1)"),
        ("name: small\n\tstop: {}\n", "", "YAML does not allow tabs as indentation; use spaces (line 2, column 1)"),
        ("name: small\nname: large\n", "", "the key 'name' is there twice; remove one (line 2, column 1)"),
        ("name: !!python/object:os.system x\n", "", "is not understood; remove it (line 1, column 7)"),
        ("name: small\nx: a\x00b\n", "", "the character U+0000 is not allowed; remove it (line 2, column 5)"),
        ("name: small\n# größer\n".encode("latin-1"), "", "is not UTF-8; save it as UTF-8 (line 2, column 5)"),
        ("# " + "x" * MAX_TEXT, "", f"{MAX_TEXT:,} are allowed"),
        ("a: " + "[" * 5000, "", "nested too deeply"),
        ("just text", "", "must be a mapping"),
        (FILE.replace("window", "windw"), "/strategy/windw", "did you mean 'window'? (line 5)"),
        (FILE.replace("stop: {steps: 10}", ""), "/stop", "missing"),
        (FILE + "spec: {}\n", "/spec", "unknown key 'spec'"),
    ],
)
def test_mistakes_are_named_with_line_and_column(api: httpx.Client, path: str, text: str | bytes, pointer: str, said: str) -> None:
    answer = post(api, path, text)
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert problem["type"] == "/problems/InvalidJob"
    assert problem["detail"].startswith("The job file ")
    found = {each["pointer"]: each["message"] for each in problem["errors"]}
    assert said in found[pointer]


@pytest.mark.parametrize("path", ["/jobs", "/jobs/plan"])
def test_what_the_code_lacks_is_named_by_its_line(api: httpx.Client, tmp_path: Path, path: str) -> None:
    bundle = upload(api, tmp_path)
    answer = post(api, path, FILE.replace("work:Work", "work:Wrok"), bundle=bundle)
    [mistake] = answer.json()["errors"]
    assert (answer.status_code, mistake["pointer"]) == (422, "/workload/entrypoint")
    assert "did you mean 'Work'?" in mistake["message"]
    assert mistake["message"].endswith("(line 4)")
    answer = post(api, path, bundle=bundle, set="workload.args.hiden=3")
    [mistake] = answer.json()["errors"]
    assert mistake["pointer"] == "/workload/args/hiden"
    assert mistake["message"].endswith("(set by 'workload.args.hiden=3')")


def test_a_bundle_is_named_in_the_query(api: httpx.Client) -> None:
    for bundle in (None, "0" * 64):
        answer = post(api, "/jobs", **({"bundle": bundle} if bundle else {}))
        assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "/query/bundle")
    assert post(api, "/jobs", bundle="wrong").json()["errors"][0]["pointer"] == "/query/bundle"
    wrong = post(api, "/jobs", set="priority")
    assert "write KEY=VALUE" in wrong.json()["detail"]


def test_a_query_beside_json_is_refused_and_not_ignored(api: httpx.Client) -> None:
    for query in ({"set": "seed=2"}, {"bundle": "0" * 64}):
        answer = api.post("/jobs/plan", json={"spec": spec()}, params=query)
        assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, f"/query/{next(iter(query))}")


def test_a_plan_of_a_job_file_is_that_of_its_spec(api: httpx.Client, tmp_path: Path) -> None:
    bundle = upload(api, tmp_path)
    planned = post(api, "/jobs/plan", bundle=bundle)
    assert planned.status_code == 200
    assert planned.json() == api.post("/jobs/plan", json={"spec": spec(), "bundle": bundle}).json()
    assert post(api, "/jobs/plan").json()["code"] == "missing"


def test_validate_answers_a_job_file_as_it_does_its_text(api: httpx.Client, tmp_path: Path) -> None:
    bundle = upload(api, tmp_path)
    good = post(api, "/jobs/validate", bundle=bundle, set="batch_size=7").json()
    assert (good["valid"], good["ready"], good["spec"]["batch_size"]) == (True, True, 7)
    assert good == api.post("/jobs/validate", json={"yaml": FILE, "bundle": bundle, "overrides": ["batch_size=7"]}).json()
    bad = post(api, "/jobs/validate", "name: small\nstrategy: {name: [\n").json()
    assert not bad["valid"]
    assert "(line 3, column 1)" in bad["errors"][0]["message"]


@pytest.mark.parametrize("path", ["/jobs", "/jobs/plan", "/jobs/validate"])
def test_other_bodies_are_refused_with_what_to_send(api: httpx.Client, anonymous: httpx.Client, path: str) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded"):
        answer = post(api, path, headers={"Content-Type": kind})
        assert answer.status_code == 422
        assert f"'{kind}'; send a job file with the header Content-Type: application/yaml" in answer.json()["detail"]
    assert post(api, path, b"").status_code == 422
    most = 4 << 20 if path.endswith("validate") else 512 << 10  # the page sends sources along
    assert post(api, path, b" " * (most + 1)).status_code == 413
    assert post(anonymous, path).status_code == 401


def test_the_api_document_says_so(api: httpx.Client) -> None:
    paths = api.get("/openapi.json").json()["paths"]
    for path in ("/jobs", "/jobs/plan", "/jobs/validate"):
        told = paths[f"/api/v1{path}"]["post"]
        assert set(told["requestBody"]["content"]) == {"application/json", *YAML_TYPES}
        assert {"bundle", "set"} <= {each["name"] for each in told["parameters"]}


@pytest.mark.skipif(not all(map(shutil.which, ("bash", "curl", "jq", "tar"))), reason="needs bash, curl, jq and tar")
def test_the_script_of_the_guide_submits_the_example(api: httpx.Client, server: str, token: str, tmp_path: Path) -> None:
    [script] = re.findall(r"```bash\n(.*?)```", (ROOT / "docs/guides/ci.md").read_text(), re.DOTALL)
    submits, found, _ = script.partition("# its end")
    assert found
    code = tmp_path / "examples/digits"
    shutil.copytree(ROOT / "examples/digits", code, ignore=shutil.ignore_patterns("__pycache__"))
    variables = {"GRADSTREAM_URL": server, "GRADSTREAM_TOKEN": token, "CI_PIPELINE_ID": "7", "PATH": os.environ["PATH"]}
    for checkout in range(2):
        for file in code.iterdir():
            os.utime(file, (checkout, checkout))
        done = subprocess.run(["bash", "-c", submits], env=variables, cwd=tmp_path, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stdout + done.stderr
    wrong = submits.replace("set=stop.epochs=20", "set=stop.epochs=-1")
    done = subprocess.run(["bash", "-c", wrong], env=variables, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "The job file has a problem.\n/stop/epochs: must be more than 0" in done.stderr
    [job] = api.get("/jobs").json()["items"]
    config = api.get(f"/jobs/{job['id']}/config").json()
    assert (job["name"], config["full"]["stop"]["epochs"]) == ("digits-ci", 20)
    assert config["source"] == (ROOT / "examples/digits/job.yaml").read_text()
