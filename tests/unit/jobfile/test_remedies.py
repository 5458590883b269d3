"""Mistakes of people who write their first job file: each is answered with its place, and with a remedy to copy."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradstream import jobfile
from gradstream.errors import GradstreamError
from gradstream.jobfile.document import parse
from gradstream.jobfile.remedies import _OTHER_NAMES, EXAMPLES
from gradstream.spec import JobSpec
from tests.unit.jobfile.test_jobfile import JOB, problems


@pytest.mark.parametrize("pointer", EXAMPLES)
def test_an_example_is_what_a_job_file_may_hold(pointer: str) -> None:
    """Each stands in a whole job, below the keys of its pointer."""
    *path, last = pointer.split("/")[1:]
    document = parse(JOB).data | {"retention": {}, "best": {"metric": "eval/loss"}}
    document.pop("gate")  # the strategy of the example has its own
    here = document
    for key in path:
        here = here.setdefault(key, {})
    example = parse(EXAMPLES[pointer]).data
    assert list(example) == [last]
    here.update(example)
    assert JobSpec.model_validate(document)


def test_a_key_of_another_program_leads_to_a_place_that_is_there() -> None:
    jobs = [jobfile.load(JOB), jobfile.load(JOB, ["best={metric: eval/loss}", "stop.patience=3"])]
    for key, pointer in _OTHER_NAMES.items():
        *path, last = pointer.split("/")[1:]
        here = jobs[-1]
        for step in path:
            here = getattr(here, step)
        assert last in type(here).model_fields, key


@pytest.mark.parametrize(
    ("mistake", "pointer", "said"),
    [
        (
            "strategy=adam",
            "/strategy",
            "adam is an optimizer, so write optimizer: {name: adam}, and choose a strategy; there are: ",
        ),
        ("strategy={name: sgd}", "/strategy/name", "sgd is an optimizer"),
        ("strategy={name: bsp}", "/strategy/name", "bsp is a gate, so write gate: bsp"),
        ("strategy=[adag]", "/strategy", "name the strategy: {name: "),
        ("optimizer=easgd", "/optimizer", "easgd is a strategy, so write strategy: {name: easgd}"),
        ("optimizer={name: int8}", "/optimizer/name", "int8 is a codec"),
        ("optimizer={name: adam, momentum: 0.9}", "/optimizer/momentum", "adam has no 'momentum'"),
        ("gate=async", "/gate", "async is a strategy"),
        ("gate={bsp: {}}", "/gate/bsp", "e.g. gate: {ssp: 3}"),
        ("strategy.learning_rate=1", "/strategy/learning_rate", "did you mean /strategy/lr?"),
        ("gpus=1", "/gpus", "did you mean /roles/worker/device?"),
        ("max-epochs=3", "/max-epochs", "did you mean /stop/epochs?"),
        ("roles.worker=2", "/roles/worker", "not 2; e.g. worker: {count: 2}"),
        ("stop=100", "/stop", "not 100; e.g. stop: {epochs: 10}"),
        ("stop.target=0.97", "/stop/target", "e.g. target: {metric: eval/accuracy, at_least: 0.97}"),
        ("stop.target={accuracy: 0.97}", "/stop/target/accuracy", "e.g. target: {metric: eval/accuracy, at_least: 0.97}"),
        ("evaluate=10s", "/evaluate", "e.g. evaluate: {every: 5s}"),
        ("env=[A=1]", "/env", 'e.g. env: {LEVEL: "3"}'),
        ("workload=digits:Digits", "/workload", 'e.g. workload: {entrypoint: "digits:Digits"}'),
        ("checkpoint.every=10 steps", "/checkpoint/every", "a step of one worker is batch_size samples"),
        ("batch_size=true", "/batch_size", "must be a number, not true"),
        ("strategy.lr=true", "/strategy/lr", "must be a number, not true"),
        ("optimizer={name: sgd, momentum: false}", "/optimizer/momentum", "must be a number, not false"),
        ("stop.epochs=true", "/stop/epochs", "must be a number, not true"),
        ('name=""', "/name", "must not be empty; e.g. name: digits"),
        ("name=My job", "/name", "e.g. name: digits"),
    ],
)
def test_a_remedy_can_be_copied(mistake: str, pointer: str, said: str) -> None:
    found = problems(JOB, mistake)
    assert list(found) == [pointer]
    assert said in found[pointer]


@pytest.mark.parametrize(
    ("key", "example"), [("workload", "digits:Digits"), ("stop", "stop: {epochs: 10}"), ("name", "name: digits")]
)
def test_a_missing_key_comes_with_an_example(key: str, example: str) -> None:
    lines = [line for line in JOB.splitlines() if not line.startswith(f"{key}:")]
    found = problems("\n".join(lines))[f"/{key}"]
    assert found.startswith("missing")
    assert example in found


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ("version: 1\nname:digits\n", "line 2, column 1", "write it with a space, as in name: digits"),
        ("name:digits\nversion: 1\n", "line 2, column 8", "no space after the ':' of the line before"),
        ("stop: {epochs: 1\nname: x\n", "line 1, column 7", "the bracket that opens here is not closed"),
        ("name: a: b\n", "line 1, column 8", "Put a text with ': ' in quotes"),
        ("name: x\n stop: {epochs: 1}\n", "line 2, column 6", "begin the keys of one mapping in one column"),
        ("stop:\n    epochs: 1\n  steps: 2\n", "line 3, column 3", "in one column"),
        ("name: 'x\nversion: 1\n", "line 1, column 7", "the quote that opens here is not closed"),
        ('name: "\\d"\n', "line 1, column 8", "use single quotes"),
        ("name: @x\n", "line 1, column 7", "no value may begin with this character"),
        ("name: *x\n", "line 1, column 7", "refers to another one"),
        ("name: x\n---\nname: y\n", "line 2, column 1", "Write one job in each file"),
        ("name: x\nstop:\n\tepochs: 1\n", "line 3, column 1", "use spaces"),
        ("name: x\nstop:\u00a01\nseed: 1\n", "line 2, column 1", "no-break space"),
    ],
)
def test_a_mistake_of_yaml_is_told_where_it_begins(text: str, place: str, said: str) -> None:
    [message] = problems(text).values()
    assert said in message
    assert message.endswith(f"({place})")


@pytest.mark.parametrize(
    ("text", "said"), [("", "the file is empty"), ("# x\n", "the file is empty"), ("version = 1", "`name: digits`")]
)
def test_a_file_without_a_job(text: str, said: str) -> None:
    [message] = problems(text).values()
    assert said in message
    assert "gradstream init" in message


@pytest.mark.parametrize(
    "change", [lambda text: text.replace("\n", "\r\n"), lambda text: "\ufeff" + text, lambda text: f"---\n{text}...\n"]
)
def test_files_of_other_systems_mean_the_same(change: object) -> None:
    assert callable(change)
    assert jobfile.load(change(JOB)) == jobfile.load(JOB)


def test_a_path_that_leads_to_no_job_file_comes_with_one_that_may(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(JOB)
    (tmp_path / "digits.py").write_text("import torch\n")
    (tmp_path / "latin.yaml").write_bytes(JOB.replace("digits", "m\u00fcll").encode("latin-1"))
    for name, said in (
        ("job.yml", "did you mean .*job.yaml?"),
        ("digits.py", "holds code. Name the job file"),
        ("latin.yaml", "UTF-8"),
    ):
        with pytest.raises(GradstreamError, match=said):
            jobfile.load(tmp_path / name)
