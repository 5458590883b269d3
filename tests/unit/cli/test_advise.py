"""`gradstream advise`, and the warnings that other commands give."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from gradstream.cli.main import app
from gradstream.codecs import CODECS
from gradstream.strategies import STRATEGIES

EXAMPLE = Path(__file__).parents[3] / "examples" / "linear_regression" / "job.yaml"
"""Least squares of x in [-1, 1] and a constant: the curvatures are 2 mean(x^2), about 2/3, and 2."""
HEAVY = ("--set", "strategy={name: async, lr: 0.1}", "--set", "optimizer={name: sgd, momentum: 0.9}")
WARNING = "/optimizer/momentum: 2 asynchronous workers act like a momentum of 0.5"


@pytest.fixture(autouse=True)
def short_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests of the outlook have runs of the product's length."""
    monkeypatch.setattr("gradstream.advise.outlook._MINI_BATCHES", 400)


def run(*args: str | Path) -> Result:
    return CliRunner().invoke(app, [str(arg) for arg in args])


@pytest.mark.more
def test_tells_what_to_expect_and_what_to_choose_as_json() -> None:
    done = run("advise", EXAMPLE, "--json", "--step", "10ms", "--bandwidth", "10Gbit/s", *HEAVY)
    assert done.exit_code == 0, done.output
    facts = json.loads(done.stdout)
    assert sorted(each["strategy"] for each in facts["strategies"]) == sorted(STRATEGIES)
    assert facts["measured"]["curvature"] == pytest.approx(2, rel=0.05)
    job = facts["job"]
    assert (job["strategy"], job["momentum"], job["settles"]) == ("async", 0.9, False)
    assert job["staleness"] == pytest.approx(1, abs=0.05)
    assert job["rate_times_curvature"] == pytest.approx(0.2, rel=0.05)
    assert job["distance"] == pytest.approx(job["rate_times_curvature"] / job["limit"])
    assert job["bytes_per_second"].keys() == CODECS.keys()
    assert job["bytes_per_second"]["raw"] == pytest.approx(2 * 2 * 4 / 0.01, rel=0.05), "a push and a pull of two floats"
    assert facts["choice"]["strategy"] == "sync"
    assert facts["choice"]["reasons"]
    assert facts["warnings"][0]["pointer"] == "/optimizer/momentum"


@pytest.mark.more
def test_hogwild_threads_count_as_cores_and_should_not_be_short() -> None:
    threads = ("--set", "roles.worker.hogwild=2", "--set", "strategy={name: adag, lr: 0.1, window: 4}", "--set", "gate=asp")
    facts, plain = (
        json.loads(run("advise", EXAMPLE, "--json", "--step", "10ms", *changes).stdout) for changes in (threads, threads[2:])
    )
    of_job = {each["strategy"]: each for each in facts["strategies"]}
    assert of_job["adag"]["samples_per_second"] == pytest.approx(2 * plain["job"]["samples_per_second"], rel=0.1)
    assert of_job["sync"]["samples_per_second"] < plain["job"]["samples_per_second"], "its workers cannot have threads"
    assert facts["job"]["bytes_per_second"]["raw"] == pytest.approx(2 * plain["job"]["bytes_per_second"]["raw"])
    done = run("advise", EXAMPLE, "--step", "0.1ms", *threads)
    assert "threads and processes has its own core" in done.stdout
    assert "raise roles.worker.count instead" in done.stdout


@pytest.mark.more
def test_tells_it_to_people_in_tables_and_sentences() -> None:
    done = run("advise", EXAMPLE, "--step", "10ms", *HEAVY)
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert lines[0].startswith("2 parameters, 10 ms a mini-batch, largest curvature 2")
    assert sum(line.split()[:1] == ["local_sgd"] for line in lines) == 2
    assert any(re.match(r"Choose sync, gate bsp, lr 0.1", line) for line in lines)
    assert f"warning: {WARNING}" in done.stderr


@pytest.mark.more
def test_tells_the_keys_bytes_and_memory_of_tables(tmp_path: Path) -> None:
    """Mini-batches have 50 examples with 4 ids each; a row of `deep` has 4 weights, 8 numbers of state and a score."""
    shutil.copy("tests/userland/planted_clicks.py", tmp_path)
    job = tmp_path / "job.yaml"
    job.write_text(
        "name: clicks\nworkload: {entrypoint: 'planted_clicks:Clicks'}\nbatch_size: 50\nroles: {server: {count: 3}}\n"
        "tables: {deep: {rule: {name: adam}, most: 2048}}\nstop: {epochs: 1}\nstrategy: {name: async}\n"
    )
    done = run("advise", job, "--json", "--step", "10ms", *HEAVY)
    assert done.exit_code == 0, done.output
    facts = json.loads(done.stdout)
    wide, deep = facts["measured"]["tables"]["wide"], facts["measured"]["tables"]["deep"]
    assert 50 < deep["keys"] == wide["keys"] < 200
    assert deep["row"] == 4 * (4 + 8) + 16 + 8 + 24
    assert wide["row"] == 4 * (1 + 1) + 16 + 24
    assert deep["looked_up"] == deep["keys"] * (8 + 4 * 4 + 16)
    assert deep["pushed"] == deep["keys"] * (8 + 16 + 4 * 4 + 8 + 4)
    planned = {table["name"]: table for table in facts["tables"]}
    assert planned["deep"]["rows"] <= 2048, "most bounds them"
    assert deep["distinct"] <= planned["wide"]["rows"] <= 2000 * 4
    assert planned["wide"]["server_bytes"] == round(planned["wide"]["rows"] * wide["row"] / 3)
    assert 0 < deep["cached"] < 1
    parameters = facts["measured"]["pushed"]["raw"] + facts["measured"]["pulled"]
    of_rows = sum(table["pushed"] + table["looked_up"] for table in (wide, deep))
    assert facts["job"]["bytes_per_second"]["raw"] == pytest.approx((parameters + of_rows) / 0.01, rel=0.01)
    said = run("advise", job, "--step", "10ms", *HEAVY, "--set", "workload.args.alone=true", "--set", "tables={}")
    assert said.exit_code == 0, said.output
    assert re.search(r"table wide: \d+ distinct keys a mini-batch, [\d.]+ KiB of rows and [\d.]+ KiB of gradients", said.stdout)
    assert "a row takes 48 B of its server, so 1 GiB holds 22,369,621" in said.stdout
    assert re.search(r"about [\d,]+ rows of 48 B, [\d.]+ KiB of each server", said.stdout)
    assert re.search(r"[\d,]+ distinct keys in 1,000 examples, growing as examples\^0\.\d\d\. Rows are those after", said.stdout)
    assert "a cache of each worker with bound 4 would save about" in said.stdout
    assert re.search(r"servers are full at [\d,]+ rows", said.stdout)
    assert "no curvature: the model has no parameters beside its tables" in said.stdout


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--bandwidth", "fast"), "100MB/s"),
        (("--bandwidth", "0MB/s"), "100MB/s"),
        (("--speeds", "odd"), "speeds"),
        (("--step", "soon"), "30s"),
        (("--set", "workload.entrypoint=linear:Lime"), "Lime"),
        (("--set", "workload.args.slope=2"), "unknown argument"),
        (("--set", "roles.worker.count=1000", "--set", "batch_size=0"), "/batch_size"),
    ],
)
def test_mistakes_are_sentences(args: tuple[str, ...], said: str) -> None:
    done = run("advise", EXAMPLE, *args)
    assert done.exit_code == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_a_submission_is_warned_of_before_anything_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADSTREAM_TOKEN", "secret")
    done = run("submit", EXAMPLE, "--url", "http://127.0.0.1:1", "--set", "workload.entrypoint=other:Line", *HEAVY)
    assert done.exit_code == 2
    assert done.stderr.count("warning: ") == 1
    assert WARNING in done.stderr
    assert "momentum_correction: true, which uses 0.4" in done.stderr
