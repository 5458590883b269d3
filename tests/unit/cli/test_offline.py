"""Commands that need no platform, and what every command does about mistakes."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from gradstream import __version__
from gradstream.cli.main import app
from gradstream.local import running
from gradstream.local.folder import DataFolder
from gradstream.strategies import STRATEGIES

WORKLOAD = """\
import torch
from torch import nn
from torch.utils.data import TensorDataset
from gradstream import Workload


class Broken(Workload):
    where: str = ""
    reads: str = ""
    examples: int = 64
    classifies = False

    def model(self):
        return nn.Linear(1, 1)

    def dataset(self, split):
        if self.reads:
            open(self.reads).close()
        return TensorDataset(torch.ones(self.examples, 1))

    def loss(self, model, batch):
        if self.where in ("float", "vector"):
            return 1.0 if self.where == "float" else model(batch[0]).view(-1)
        if self.where == "loss":
            raise KeyError("the user's own mistake")
        return model(batch[0]).mean() * (float("nan") if self.where == "nan" else 1)
"""
TEXTS = """\
import torch
from torch import nn
from torch.utils.data import random_split
from gradstream import Workload

LINES = [f"{'good' if n % 2 else 'bad'} {n}" for n in range(20)]


class Texts(Workload):
    classifies = False

    def model(self):
        return nn.Linear(1, 1)

    def dataset(self, split):
        print("the workload prints")
        parts = random_split(LINES, [15, 5])
        self.parts = getattr(self, "parts", []) + [parts[split == "eval"]]
        return self.parts[-1]

    def loss(self, model, batch):
        return model(torch.tensor([[float(line.startswith("good"))] for line in batch])).square().mean()

    def evaluate(self, model, batch):
        train, held_out = (set(part) for part in self.parts)
        return {"shared": len(train & held_out)}
"""
JOB = 'version: 1\nname: x\nworkload: {entrypoint: "%s:Broken"}\nstrategy: {name: async}\nstop: {steps: 4}\n'


def run(*args: str | Path) -> Result:
    return CliRunner().invoke(app, [str(arg) for arg in args])


@pytest.fixture(autouse=True)
def nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user who has no platform and is signed in nowhere."""
    for name in ("URL", "TOKEN", "TOKEN_FILE"):
        monkeypatch.delenv(f"GRADSTREAM_{name}", raising=False)
    monkeypatch.setenv("GRADSTREAM_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("GRADSTREAM_DATA_DIR", str(tmp_path / "data"))


@pytest.fixture
def job(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A job folder whose module has a name of its own, as all tests share one process."""
    module = f"workload_{abs(hash(request.node.nodeid))}"
    (tmp_path / f"{module}.py").write_text(WORKLOAD)
    (tmp_path / "job.yaml").write_text(JOB % module)
    return tmp_path / "job.yaml"


def test_schema_is_the_json_schema_of_the_job_file() -> None:
    schema = json.loads(run("schema").stdout)
    assert set(schema["required"]) == {"name", "workload", "strategy", "stop"}


def test_strategies_are_those_of_the_union() -> None:
    listed = json.loads(run("strategies", "--json").stdout)
    assert [one["name"] for one in listed] == list(STRATEGIES)
    assert all(one["summary"] and one["schema"]["properties"]["lr"] for one in listed)
    table = run("strategies").stdout.splitlines()
    assert len(table) == len(STRATEGIES) + 1


def test_run_local_trains_and_reports(job: Path) -> None:
    done = run("run", job, "--local", "--json")
    assert done.exit_code == 0
    report = json.loads(done.stdout)
    assert (report["status"], report["samples"]) == ("succeeded", 128)
    assert "one process" in done.stderr


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["run", "--local"], "run --local trains in one thread"),
        (["sim"], "the simulator makes the steps of a worker's threads one"),
    ],
)
def test_commands_without_hogwild_threads_say_so(command: list[str], said: str, job: Path) -> None:
    threads = "roles.worker={count: 1, hogwild: 2}"
    done = run(command[0], job, *command[1:], "--set", threads, "--set", "strategy={name: adag, window: 4}", "--set", "gate=asp")
    assert done.exit_code == 0, done.stderr
    assert f"note: roles.worker.hogwild: {said}" in done.stderr


def test_run_local_clips_each_parameter(job: Path) -> None:
    clip = ("--set", "optimizer={name: sgd, clip_parameter_norm: 1e-12}", "--set", "strategy={name: adag, window: 4, lr: 0.1}")
    clipped, free = (json.loads(run("run", job, "--local", "--json", *changes).stdout) for changes in (clip, clip[2:]))
    assert clipped["loss"] != free["loss"]


def test_a_mistake_in_user_code_is_shown_from_where_their_code_begins(job: Path) -> None:
    done = run("run", job, "--local", "--set", "workload.args.where=loss")
    assert done.exit_code == 10
    assert "the user's own mistake" in done.stderr
    assert "local_run" not in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("workload.entrypoint=json:Broken", "json:Broken is not a subclass of gradstream.Workload"),
        ("workload.args.examples=0", "dataset('eval') is empty"),
        ("workload.args.where=nan", "the loss of mini-batch 0 is nan; lower the learning rate, or set on_nan: drop"),
        ("workload.args.where=float", "loss() must return a scalar tensor, not a float"),
        ("workload.args.where=vector", "loss() must return a scalar tensor, not a tensor of shape (32,); take its mean()"),
    ],
)
def test_a_workload_fails_here_in_the_words_and_with_the_code_of_the_platform(job: Path, override: str, said: str) -> None:
    done = run("run", job, "--local", "--set", override)
    assert done.exit_code == 10
    assert said in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("workload.entrypoint=nowhere:Broken", "no module 'nowhere'"),
        ("workload.args.wher=x", "did you mean 'where'?"),
        ("workload.args.examples=many", "/workload/args/examples"),
        ("strategy.name=asynk", "did you mean 'async'?"),
    ],
)
def test_a_mistake_in_the_job_file_has_another_code(job: Path, override: str, said: str) -> None:
    done = run("run", job, "--local", "--set", override)
    assert done.exit_code == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_relative_paths_begin_in_the_folder_of_the_code(job: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "away").mkdir()
    monkeypatch.chdir(tmp_path / "away")
    assert run("run", job, "--local", "--set", f"workload.args.reads={job.name}").exit_code == 0
    done = run("run", job, "--local", "--set", "workload.args.reads=gone.csv")
    assert done.exit_code == 10
    assert "No such file or directory: 'gone.csv'; relative paths begin in the folder of the job's code" in done.stderr
    assert Path.cwd() == tmp_path / "away"


def test_a_loss_that_is_not_finite_can_be_dropped(job: Path) -> None:
    done = run("run", job, "--local", "--json", "--set", "workload.args.where=nan", "--set", "on_nan=drop")
    assert done.exit_code == 0
    assert json.loads(done.stdout)["loss"] is None


def test_validate_needs_no_platform_and_tells_warnings_and_mistakes(job: Path) -> None:
    changes = ("strategy={name: async, lr: 0.1}", "optimizer={name: sgd, momentum: 0.9}", "roles.worker.count=4")
    fine = run("validate", job, *(word for change in changes for word in ("--set", change)))
    assert fine.exit_code == 0
    assert "warning: /optimizer/momentum" in fine.stderr
    assert "is valid, with" in fine.stdout
    told = json.loads(run("validate", job, "--json").stdout)
    assert (told["valid"], told["warnings"]) == (True, [])
    for override, pointer in (("strategy.lr=-1", "/strategy/lr"), ("workload.args.nothing=1", "/workload/args/nothing")):
        wrong = run("validate", job, "--json", "--set", override)
        assert wrong.exit_code == 2
        assert [each["pointer"] for each in json.loads(wrong.stdout)["error"]["problems"]] == [pointer]


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (["jobs"], 3, "gradstream up"),
        (["jobs", "--url", "http://127.0.0.1:1"], 3, "gradstream login"),
        (["run", "gone.yaml", "--local"], 4, "no file gone.yaml"),
        (["wait", "x", "--timeout", "soon"], 2, "30s"),
        (["jobs", "--limit", "0"], 2, "limit"),
        (["nonsense"], 2, "nonsense"),
    ],
)
def test_exit_codes_without_a_platform(args: list[str], code: int, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "running_platforms", list)  # those of other tests
    done = run(*args)
    assert done.exit_code == code
    assert said in done.stderr
    assert done.stdout == ""


def test_a_platform_that_does_not_answer_is_code_6(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADSTREAM_TOKEN", "secret")
    monkeypatch.setattr("gradstream.cli.common.BRIEF", 0.0)
    done = run("stop", "x", "--url", "http://127.0.0.1:1")
    assert done.exit_code == 6
    assert "cannot be reached" in done.stderr
    assert "secret" not in done.output


def test_what_is_wrong_with_a_job_is_found_before_anything_is_sent(job: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADSTREAM_TOKEN", "secret")
    for override, said in (("workload.entrypoint=other:Broken", "no module 'other'"), ("strategy.lr=-1", "/strategy/lr")):
        done = run("submit", job, "--url", "http://127.0.0.1:1", "--set", override)
        assert done.exit_code == 2
        assert said in done.stderr


@pytest.mark.parametrize("command", [("submit", "--plan"), ("submit",), ("train",), ("run", "--local")])
def test_each_command_refuses_what_the_code_lacks_with_the_line_of_the_job_file(
    job: Path, command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRADSTREAM_TOKEN", "secret")
    where = ("--url", "http://127.0.0.1:1") if command[0] == "submit" else ()
    [module] = [file.stem for file in job.parent.glob("*.py")]
    for override, said in (
        (f"workload.entrypoint={module}:Brokn", "did you mean 'Broken'?"),
        ("workload.args.exmples=3", "unknown argument; did you mean 'examples'?"),
        ("workload.args.examples=many", "/workload/args/examples: "),
    ):
        done = run(*command, job, *where, "--set", override)
        assert done.exit_code == 2
        assert said in done.stderr
        assert f"(set by '{override}')" in done.stderr


def test_run_local_takes_a_data_set_of_texts_and_keeps_what_it_prints_from_stdout(tmp_path: Path) -> None:
    (tmp_path / "texts_of_a_test.py").write_text(TEXTS)
    (tmp_path / "job.yaml").write_text(
        "name: x\nworkload: {entrypoint: 'texts_of_a_test:Texts'}\nstrategy: {name: sync}\nstop: {epochs: 1}\nbatch_size: 8\n"
    )
    result = run("run", tmp_path / "job.yaml", "--local", "--json")
    assert result.exit_code == 0, result.stderr
    facts = json.loads(result.stdout)
    assert facts["samples"] == 15
    assert facts["eval"]["shared"] == 0, "the parts of a random split do not overlap"
    assert "the workload prints" in result.stderr


CLICKS = (
    "name: clicks\nworkload: {entrypoint: 'planted_clicks:Clicks'}\n"
    "strategy: {name: async, lr: 0.1}\nbatch_size: 50\nstop: {epochs: 8}\n"
    "schedule: {name: cosine}\n"
    "tables:\n  wide: {rule: {name: ftrl, alpha: 0.3}, gradient: sum}\n  deep: {rule: {name: adam, lr: 0.02}}\n"
)


@pytest.fixture
def clicks(tmp_path: Path) -> Path:
    """A job with embedding tables."""
    shutil.copy("tests/userland/planted_clicks.py", tmp_path)
    (tmp_path / "job.yaml").write_text(CLICKS)
    return tmp_path / "job.yaml"


@pytest.mark.parametrize("accumulate", [1, 3])
def test_run_local_trains_embedding_tables(clicks: Path, accumulate: int) -> None:
    done = run("run", clicks, "--local", "--json", "--set", f"accumulate={accumulate}")
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["eval"]["loss"] < 0.6, "0.69 is the loss of a model that has learned nothing"


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("tables={deap: {}}", "the model has no table 'deap'; did you mean 'deep'?"),
        ("tables={deep: {most: 3}}", "/tables/deep/most: must be at least 1024, not 3"),
    ],
)
def test_wrong_tables_are_refused_with_the_remedy(clicks: Path, override: str, said: str) -> None:
    done = run("run", clicks, "--local", "--set", override)
    assert done.exit_code in (2, 10)
    assert said in done.stderr


def test_a_file_where_a_folder_should_be_is_said_in_a_sentence(job: Path) -> None:
    result = run("train", job, "--out", job / "inside")
    assert result.exit_code == 1
    assert "Not a directory" in result.stderr
    assert "Traceback" not in result.output


def test_reset_of_a_folder_in_use_says_so_before_it_asks_for_anything(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path / "my data")
    folder.acquire()
    folder.record("http://127.0.0.1:1", tmp_path)
    try:
        result = run("reset", "--data-dir", folder.path)
    finally:
        folder.release()
    assert result.exit_code == 1
    assert f"gradstream down --data-dir '{folder.path}'" in result.stderr
    assert "Delete" not in result.output


@pytest.mark.parametrize("host", ["192.0.2.1", "no.such.host.invalid"])
def test_an_address_of_another_machine_is_not_called_a_taken_port(host: str, tmp_path: Path) -> None:
    result = run("up", "--host", host, "--data-dir", tmp_path / "data")
    assert result.exit_code == 2
    assert f"'{host}' is not an address of this machine" in result.stderr


def test_a_mistake_of_the_whole_file_has_no_place(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text("")
    (tmp_path / "token").write_text("gst_x")
    result = run("submit", tmp_path / "job.yaml", "--url", "http://127.0.0.1:1", "--token-file", tmp_path / "token")
    assert result.exit_code == 2
    assert "\n  the file is empty" in result.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["no-such"], "No such command 'no-such'."),
        (["--no-such"], "No such option: --no-such"),
        (["compare", "a", "b"], "Missing option '--target'."),
        (["jobs", "--limit", "-1"], "Invalid value for '--limit': Input should be greater than or equal to 1"),
    ],
)
def test_wrong_usage_is_json_for_programs(words: list[str], message: str) -> None:
    ran = CliRunner().invoke(app, [*words, "--json"], prog_name="gradstream")
    assert ran.exit_code == 2
    assert json.loads(ran.stdout)["error"] == {"type": "Usage", "message": message, "exit_code": 2, "problems": []}
    assert message.split(":")[0] in ran.stderr


def test_a_question_without_an_answer_is_json_for_programs(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path / "data")
    folder.acquire()
    folder.release()
    ran = CliRunner().invoke(app, ["reset", "--data-dir", str(folder.path), "--json"], input="", prog_name="gradstream")
    assert json.loads(ran.stdout)["error"]["type"] == "Aborted"
    assert ran.exit_code == 1
    assert (folder.path / "secrets").exists()


def test_code_that_is_not_there_is_wrong_usage(job: Path) -> None:
    for command in ("submit", "train", "run"):
        result = run(command, job, "--code", job.parent / "elsewhere")
        assert (result.exit_code, result.stdout) == (2, "")
        assert "elsewhere" in re.sub(r"[\s│]", "", result.stderr), "also when the frame breaks the line there"


def test_the_schema_is_json_on_one_line_if_asked() -> None:
    one, many = run("schema", "--json").stdout, run("schema").stdout
    assert json.loads(one) == json.loads(many)
    assert one.count("\n") == 1


def test_short_help_and_the_module_are_the_same_command() -> None:
    assert run("node", "drain", "-h").stdout == run("node", "drain", "--help").stdout
    done = subprocess.run([sys.executable, "-m", "gradstream", "--version"], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == __version__
