"""`gradstream sim`."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from gradstream.cli.main import app


def gradstream_sim(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["sim", *arguments])


def test_prints_a_known_answer_as_json() -> None:
    settings = ["--strategy", "adag", "--set", "window=5", "--set", "lr=0.01", "--events", "40", "--shards", "2"]
    facts = json.loads(gradstream_sim(*settings, "--json").stdout)
    assert facts["center"] == pytest.approx([1.219513530089, 2.780645292109], abs=1e-9)
    assert (facts["version"], facts["staleness"]) == (40, [0, 1, 2] + [3] * 37)
    reasons = dict.fromkeys(("dropped_stale", "dropped_quorum", "dropped_not_finite", "dropped_superseded"), 0)
    assert facts["ledger"]["3"] == {"pushed": 10, "applied": 10, "deferred": 0, "dropped": 0, "pending": 0, **reasons}


def test_prints_a_summary_for_people() -> None:
    done = gradstream_sim("--set", "lr=0.01", "--gate", "{max_staleness: 2}", "--events", "40")
    assert "async under asp, 4 workers" in done.stdout
    assert "version    20 after 40 pushes" in done.stdout


def test_a_job_without_servers_has_no_traffic() -> None:
    done = gradstream_sim("--strategy", "sync", "--set", "lr=0.01", "--workers", "1", "--shards", "0", "--events", "9")
    assert "sync under bsp, 1 worker, without servers" in done.stdout
    assert "traffic    none: vectors stay in shared memory" in done.stdout
    assert "1 worker, 1 shard\n" in gradstream_sim("--strategy", "sync", "--workers", "1", "--events", "9").stdout


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--strategy", "adagg"], 2, "did you mean 'adag'?"),
        (["--strategy", "adag", "--set", "windw=5"], 2, "did you mean 'window'?"),
        (["--strategy", "sync", "--gate", "asp"], 2, "works under bsp"),
        (["--speed", "1"], 2, "once for each worker"),
        (["--problem", "mnist"], 2, "'toy'"),
        (["--set", "lr=3", "--events", "5000"], 10, "diverged: "),
        (["--speeds", "fast"], 2, "names no speeds"),
        (["--speeds", "1,2"], 2, "2 are given for 4 workers"),
        (["--speeds", "memoryless", "--schedule", "random"], 2, "use --speeds"),
        (["--speeds", "recorded:nothing.csv"], 1, "nothing.csv"),
        (["--bandwidth", "fast"], 2, "100M"),
        (["--strategy", "sync", "--gate", "bsp", "--shards", "0", "--latency", "1"], 2, "--latency, --bandwidth"),
        (["--mtbf", "0"], 2, "mtbf must be above 0"),
        (["--join", "3"], 2, "RANK=TIME"),
        (["--join", "9=5"], 2, "no worker 9"),
        (["--plot", "curves.gif"], 2, ".svg"),
        (["--plot", "nowhere/curves.svg"], 2, "no folder"),
        (["no-such.yaml"], 4, "no-such.yaml"),
        (["examples/digits/job.yaml", "--strategy", "sync"], 2, "a job file has one"),
        (["examples/digits/job.yaml", "--set", "stop={never: true}"], 2, "stop={steps: 1000}"),
        (["examples/digits/job.yaml", "--workers", "2000"], 2, "/roles/worker/count"),
    ],
)
def test_mistakes_are_explained(arguments: list[str], code: int, said: str) -> None:
    done = gradstream_sim(*arguments)
    assert (done.exit_code, done.stdout) == (code, "")
    assert said in done.stderr


DIGITS = ("examples/digits/job.yaml", "--workers", "6", "--set", "strategy.lr=0.05")


@pytest.mark.more
def test_a_job_file_with_costs_and_failures() -> None:
    costs = ("--speeds", "straggler:5", "--latency", "0.1", "--bandwidth", "1M", "--apply", "0.01", "--mtbf", "100", "--down", "5")
    done = gradstream_sim(*DIGITS, *costs, "--events", "200", "--join", "4-5=10", "--watch", "5000", "--json")
    facts = json.loads(done.stdout)
    assert facts["events"] == 200
    assert [point["samples"] // 5000 for point in facts["series"]][:4] == [1, 2, 3, 4]
    assert facts["series"][-1]["scores"]["accuracy"] > 0.8
    assert [share["name"] for share in facts["waiting"]] == ["all", "slower", "others"]
    assert facts["failures"] > 0
    assert facts["parameters"] == 64 * 256 + 256 + 256 * 10 + 10
    assert "samples  time" in done.stderr, "it says how far it is"


def test_a_job_file_for_people() -> None:
    done = gradstream_sim(*DIGITS, "--speeds", "lognormal:0.3", "--events", "300", "--latency", "0.5")
    for said in ("adag under asp, 6 workers", "p99", "waiting ", "throughput", "eval/accuracy", "█"):
        assert said in done.stdout


def test_ends_when_the_target_is_reached() -> None:
    done = gradstream_sim(*DIGITS, "--set", "stop.target.at_least=0.5", "--watch", "2000")
    assert "target reached" in done.stdout


def test_says_what_momentum_is_left() -> None:
    optimizer = "{name: sgd, momentum: 0.9, momentum_correction: true}"
    done = gradstream_sim("--optimizer", optimizer, "--set", "lr=0.001", "--workers", "4")
    assert "momentum   0.15 at the server: 0.9 less the 0.75 that 4 workers add" in done.stdout


def test_draws(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    for ending in ("svg", "png"):
        picture = tmp_path / f"p.{ending}"
        done = gradstream_sim("--speeds", "memoryless", "--events", "50", "--set", "lr=0.01", "--plot", str(picture))
        assert done.exit_code == 0, done.stderr
        assert picture.stat().st_size > 5000


RAISES = """from gradstream import Workload
class W(Workload):
  def dataset(self, split): open("gone")
"""


def test_a_workload_that_raises_is_named(tmp_path: Path) -> None:
    (tmp_path / "broken_here.py").write_text(RAISES)
    text = "name: b\nworkload: {entrypoint: 'broken_here:W'}\nstrategy: {name: async}\nstop: {steps: 3}\n"
    (tmp_path / "job.yaml").write_text(text)
    done = gradstream_sim(str(tmp_path / "job.yaml"))
    assert done.exit_code == 10
    assert "failed in dataset('train'): FileNotFoundError" in done.stderr
    assert "broken_here.py, line 3" in done.stderr


@pytest.mark.more
def test_an_interrupt_shows_what_there_is() -> None:
    """In a process of its own, since a signal is for a process."""
    endless = ("--set", "stop={steps: 999999}", "--watch", "640")
    command = [sys.executable, "-m", "gradstream.cli.main", "sim", *DIGITS, *endless]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert "samples" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "(interrupted)" in said


def test_passes_and_points_have_what_the_workload_observes(tmp_path: Path) -> None:
    job = tmp_path / "job.yaml"
    job.write_text(
        "name: clicks\nworkload: {entrypoint: 'planted_clicks:Clicks', args: {observes: true}}\n"
        "strategy: {name: async, lr: 0.05}\nstop: {epochs: 2}\n"
    )
    done = gradstream_sim(str(job), "--code", "tests/userland", "--json")
    facts = json.loads(done.stdout)
    assert [found["number"] for found in facts["passes"]] == [0, 1]
    assert facts["passes"][1]["auc"] > facts["passes"][0]["auc"] > 0.5
    assert facts["series"][-1]["observed"]["auc"] > 0.5
