"""A job file is read as its author meant it, and every mistake is explained where it stands."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from gradstream import jobfile
from gradstream.errors import GradstreamError, InvalidJob, NotFound
from gradstream.spec import Cadence, JobSpec

IN_GROUP, AT_GROUP = "roles.worker.group={%s, collective: nccl}", "/roles/worker/group/collective"
BY_NCCL = ["roles.server={count: 0, collective: nccl}", "roles.worker.device=cuda", "gate=bsp"]
BY_GLOO = ["roles.server={count: 0, collective: gloo}", "gate=bsp"]
JOB = """\
version: 1
name: digits
workload: {entrypoint: "digits:Digits"}
strategy:
  name: adag
  window: 4
gate: asp
stop: {epochs: 1}
"""


def problems(text: str = JOB, *overrides: str) -> dict[str, str]:
    with pytest.raises(InvalidJob) as caught:
        jobfile.load(text, overrides)
    return {problem.pointer: problem.message for problem in caught.value.problems}


def test_text_and_file_give_the_same_job(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(JOB)
    spec = jobfile.load(tmp_path / "job.yaml")
    assert spec == jobfile.load(JOB)
    assert (spec.strategy.name, spec.strategy.window) == ("adag", 4)


def test_json_is_a_job_file_too() -> None:
    assert jobfile.load(jobfile.load(JOB).model_dump_json()) == jobfile.load(JOB)


@pytest.mark.parametrize(
    ("mistake", "pointer", "said"),
    [
        ("strategy.windw=4", "/strategy/windw", "did you mean 'window'?"),
        ("strategy.name=adagg", "/strategy/name", "did you mean 'adag'?"),
        ("strategy.name=sync", "/strategy/window", "sync has no 'window'"),
        ("strategy=adag", "/strategy", "{name: adag}"),
        ("strategy={lr: 1}", "/strategy", "name the strategy"),
        ("strategy.window=0", "/strategy/window", "must be at least 1, not 0"),
        ("strategy.window=many", "/strategy/window", "must be a whole number, not 'many'"),
        ("strategy.momentum=0.9", "/strategy/momentum", "belongs under /optimizer"),
        ("optimizer.name=adamm", "/optimizer/name", "did you mean 'adam"),
        ("optimizer={name: sgd, moment: 1}", "/optimizer/moment", "did you mean 'momentum'?"),
        ("optimizer={name: sgd, nesterov: true}", "/optimizer/nesterov", "needs a momentum"),
        ("roles.server.optimizer={name: adam, lr: -1}", "/roles/server/optimizer/lr", "must be more than 0"),
        ("roles.worker.count=two", "/roles/worker/count", "must be a whole number"),
        ("codec={name: rar}", "/codec/name", "there is no codec 'rar'"),
        ("gate=aspp", "/gate", "'asp'"),
        ("gate={ssp: -1}", "/gate", "must be at least 0"),
        ("gate={mode: bsp, quorum: 9}", "/gate/quorum", "9 of 1 workers"),
        ("gate={mode: asp, quorum: 1}", "/gate", "means nothing under the gate 'asp'"),
        ("workers=2", "/workers", "did you mean /roles/worker/count?"),
        ("epochs=2", "/epochs", "belongs under /stop"),
        ("stop={}", "/stop", "'epochs' or 'steps'"),
        ("stop={never: true, steps: 3}", "/stop", "the job also has 'steps', which would end it"),
        ("stop.target={metric: eval/loss}", "/stop/target", "at_least"),
        ("workload={}", "/workload/entrypoint", "missing"),
        ("workload.entrypoint=digits", "/workload/entrypoint", 'e.g. entrypoint: "digits:Digits"'),
        ("env={RATE: 1}", "/env/RATE", "put it in quotes"),
        ("env={LD_PRELOAD: x}", "/env/LD_PRELOAD", "reserved"),
        ("timeout=3 parsecs", "/timeout", "'30s'"),
        ("seed=yes", "/seed", "must be a whole number, not 'yes'"),
        ("strategy.lr=.inf", "/strategy/lr", "must be a number"),
        ("strategy={name: local_sgd, h: 4, window: 4}", "/strategy", "two names of one setting"),
        ("strategy={name: downpour, window: 4, n_push: 2}", "/strategy", "give it, or them"),
        ("strategy={name: dc_asgd, decay: 0.5}", "/strategy", "mean nothing without 'adaptive: true'"),
        ("strategy={name: geo, window: 4, delay: 4}", "/strategy", "must be below 'window'"),
        ("optimizer={name: sgd, momentum: 0.5, momentum_correction: true}", "/optimizer/momentum_correction", "only a server"),
        ("start_from={job: a, checkpoint: first}", "/start_from/checkpoint", "or the number of a checkpoint, from 0, not 'first'"),
        ("start_from={job: a, checkpoint: -1}", "/start_from/checkpoint", "from 0, not -1"),
        ("start_from={job: a, checkpoint: true}", "/start_from/checkpoint", "from 0, not True"),
        ("start_from={job: a, checkpoint: 1.5}", "/start_from/checkpoint", "from 0, not 1.5"),
        ("start_from={job: a, checkpoint: '3'}", "/start_from/checkpoint", "from 0, not '3'"),
        ("start_from={job: a, checkpoint: 3, attempt: 0}", "/start_from/attempt", "must be at least 1"),
        ("start_from={job: a, checkpoint: last, attempt: 2}", "/start_from", "give checkpoint a number, or remove attempt"),
        ("start_from={file: a, checkpoint: 3}", "/start_from", "checkpoint: it is of a job"),
        ("schedule={name: step}", "/schedule/every", "missing"),
        ("schedule={name: cosine, over: 0}", "/schedule/over", "must be at least 1"),
        ("schedule={name: cosine, warmup: 1.5}", "/schedule/warmup", "a share of the run between 0 and 1"),
        ("roles.server.count=-1", "/roles/server/count", "must be a whole number from 0 to 256, or 'auto', not -1"),
        ("roles.server.count=many", "/roles/server/count", "or 'auto', not 'many'"),
        ("roles.server.count=true", "/roles/server/count", "or 'auto', not True"),
        ("stop.target={metric: eval/accuracy, at_least: 97}", "/stop/target", "did you mean 0.97?"),
        ("stop.target={metric: eval/accuracy, at_least: 0}", "/stop/target", "above 0 and at most 1"),
        ("stop.target={metric: eval/accuracy, at_most: 0.9}", "/stop/target", "write at_least: 0.9"),
        ("stop.target={metric: eval/accuracy, at_least: .nan}", "/stop/target/at_least", "must be a"),
        ("stop.target={metric: eval/loss, at_least: 0.1}", "/stop/target", "write at_most: 0.1"),
        ("stop.patience=3", "/stop/patience", "best: {metric: eval/loss}"),
        ("best={metric: eval/bleu}", "/best", "min or max"),
        ("best={metric: eval/loss, mode: least}", "/best/mode", "must be 'min' or 'max'"),
        ("best={metric: loss}", "/best/metric", "e.g. metric: eval/loss"),
        ("evaluate.every=10 smples", "/evaluate/every", "did you mean 'samples'?"),
        ("evaluate.every=10 parsecs", "/evaluate/every", "there are: ms, s, m, h, d, samples, epochs"),
        ("evaluate.every=0.01", "/evaluate/every", "must be at least 0.05 seconds, not 0.01"),
        ("evaluate.every=1.5 samples", "/evaluate/every", "a whole number of samples, not 1.5"),
        ("checkpoint.every=0 epochs", "/checkpoint/every", "must be more than 0 epochs"),
        ("checkpoint.every=true", "/checkpoint/every", "not True"),
        ("tables={a: {most: 3}}", "/tables/a/most", "must be at least 1024, not 3"),
        ("tables={a: {mots: 3}}", "/tables/a/mots", "did you mean 'most'?"),
        ("tables={a: {rule: {name: sgdd}}}", "/tables/a/rule/name", "did you mean 'sgd'?"),
        ("tables={a: {rule: {name: ftrl}, init: {uniform: 0.1}}}", "/tables/a", "they begin at 0"),
        ("tables={a: {admit: {count: 3, score: 1}}}", "/tables/a/admit", "exactly one"),
        ("tables={a: 3}", "/tables/a", "must be a mapping"),
        ("tables={a: {shrink: 1 epochs}}", "/tables/a", "shrink would be ignored: nothing is evicted; set keep or most"),
        ("tables={a: {most: 2048, shrink: 5m}}", "/tables/a/shrink", "write '10000 samples' or '0.5 epochs', not '5m'"),
        ("tables={a: {most: 2048, shrink: 100}}", "/tables/a/shrink", "write '10000 samples' or '0.5 epochs', not 100"),
        ("tables={a: {most: 2048, shrink: 5 smples}}", "/tables/a/shrink", "did you mean 'samples'?"),
        ("tables={a: {most: 2048, shrink: 0 epochs}}", "/tables/a/shrink", "must be more than 0 epochs"),
        ("tables={a: {most: 2048, shrink: 0.5 passes}}", "/tables/a/shrink", "must be a whole number of passes, not 0.5"),
        ("export.every=5 samples", "/export/every", "there is no unit 'samples'"),
        ("export.every=0.5", "/export/every", "must be from 1 second to 100 years, not 0.5"),
        ("export={every: 5m, base: 3 passes}", "/export", "write `every` in passes, or `base` as a time"),
        ("data.length=0", "/data/length", "write a whole number of examples, from 1, or a time like '5m', not 0"),
        ("data.length=5 files", "/data/length", "write a duration as a number of seconds or like '30s'"),
        ("evaluate.average=2", "/evaluate/average", "between 0 and 1, or 'uniform', not 2"),
    ],
)
def test_each_mistake_is_explained_at_its_place(mistake: str, pointer: str, said: str) -> None:
    found = problems(JOB, mistake)
    assert list(found) == [pointer]
    assert said in found[pointer]


@pytest.mark.parametrize("checkpoint", [0, 3, "final", "best", "last"])
def test_a_start_takes_a_word_or_the_number_of_a_checkpoint_and_survives_json(checkpoint: int | str) -> None:
    read = jobfile.load(JOB, [f"start_from={{job: other, checkpoint: {checkpoint}}}"])
    assert read.start_from
    assert (read.start_from.checkpoint, type(read.start_from.checkpoint)) == (checkpoint, type(checkpoint))
    assert JobSpec.model_validate_json(read.model_dump_json()) == read


@pytest.mark.parametrize(("schedule", "key"), [("{name: cosine}", "over"), ("{name: constant, warmup: 0.1}", "warmup")])
def test_what_counts_from_the_end_is_refused_in_a_job_without_one(schedule: str, key: str) -> None:
    found = problems(JOB, "stop={never: true}", f"schedule={schedule}")
    assert list(found) == [f"/schedule/{key}"]
    assert "stop.never has no end" in found[f"/schedule/{key}"]
    assert jobfile.load(JOB, ["stop={never: true}", "schedule={name: cosine, over: 5000, warmup: 10}"]).stop.never


def test_problems_name_their_line_or_the_override_that_made_them() -> None:
    text = JOB.replace("window: 4", "window: -4").replace("gate: asp", "gats: asp")
    found = problems(text, "strategy.lr=-1")
    assert found["/strategy/window"].endswith("(line 6)")
    assert found["/gats"].endswith("(line 7)")
    assert found["/strategy/lr"].endswith("(set by 'strategy.lr=-1')")


def test_a_traceback_shows_each_problem() -> None:
    """Also pytest, in which a user's test loads the job file."""
    with pytest.raises(InvalidJob) as caught:
        jobfile.load(JOB.replace("gate: asp", "gats: asp"))
    [note] = caught.value.__notes__
    assert note.startswith("/gats: unknown key 'gats'; did you mean 'gate'?")


@pytest.mark.parametrize(
    ("written", "means"),
    [
        ("5s", Cadence(seconds=5.0)),
        ("0.5", Cadence(seconds=0.5)),
        ("2m", Cadence(seconds=120.0)),
        ("10000 samples", Cadence(samples=10000)),
        ("1e4samples", Cadence(samples=10000)),
        ("1 sample", Cadence(samples=1)),
        ("0.5 epochs", Cadence(epochs=0.5)),
        ("1 epoch", Cadence(epochs=1.0)),
    ],
)
def test_an_interval_is_a_time_or_counted_and_survives_json(written: str, means: Cadence) -> None:
    spec = jobfile.load(JOB, [f"evaluate.every={written}"])
    assert spec.evaluate.cadence == means
    assert jobfile.load(spec.model_dump_json()) == spec


@pytest.mark.parametrize(
    ("overrides", "pointer", "said"),
    [
        (["strategy={name: single}", "roles.worker.count=2"], "/roles/worker/count", "runs with 1, not 2"),
        (["strategy={name: easgd}", "roles.server.optimizer={name: sgd}"], "/roles/server/optimizer", "the strategy's own rule"),
        (["strategy={name: eamsgd}", "optimizer={name: adam}"], "/optimizer", "makes its steps by itself"),
        (["strategy={name: async}", "roles.server.optimizer={name: sgd}"], "/roles/server/optimizer", "remove one"),
        (["optimizer={name: sgd, groups: [{match: a, adapt: false}]}"], "/optimizer/groups/0/adapt", "only lars and lamb"),
        (["optimizer={name: adam, groups: [{match: a}]}"], "/optimizer/groups/0", "changes nothing without"),
        (["optimizer={name: lars, groups: [{lr_factor: 2}]}"], "/optimizer/groups/0/match", "missing"),
        (
            ["strategy={name: async}", "optimizer={name: lars}", "roles.server.count=2", "codec={name: int8}"],
            "/codec",
            "'int8' codes blocks of 256 elements",
        ),
        (
            ["roles.server={count: 2, optimizer: {name: adam, groups: [{match: a, lr_factor: 2}]}}", "codec={name: fp16}"],
            "/codec",
            "take raw or bf16, or roles.server.count: 1",
        ),
        (["strategy.lr=0.2", "optimizer={name: sgd, lr: 0.1}"], "/optimizer/lr", "give one of them"),
        (
            ["strategy={name: async}", "optimizer={name: sgd, clip_norm: 1}", "roles.server.count=2"],
            "/optimizer/clip_norm",
            "needs roles.server.count: 1",
        ),
        (["optimizer={name: sgd, clip_norm: 1, clip_parameter_norm: 1}"], "/optimizer/clip_parameter_norm", "give one of them"),
        (
            [
                "strategy={name: async}",
                "optimizer={name: sgd, clip_parameter_norm: 1}",
                "roles.server.count=2",
                "codec={name: int8}",
            ],
            "/codec",
            "'int8' codes blocks of 256 elements",
        ),
        (
            ["strategy={name: async}", "optimizer={name: sgd, clip_norm: 1}", "roles.server.count=auto"],
            "/optimizer/clip_norm",
            "needs roles.server.count: 1",
        ),
        (
            ["strategy={name: async}", "optimizer={name: sgd, momentum: 0.9, nesterov: true, momentum_correction: true}"],
            "/optimizer/momentum_correction",
            "nesterov",
        ),
        (["roles.server={count: auto, device: cuda}"], "/roles/server/count", "say how many GPUs"),
        (["data.deal=demand", "gate=bsp"], "/data/deal", "take gate: asp or ssp, or set data.deal: shares"),
        (["data.deal=demand", "gate=", "strategy={name: fedavg}"], "/data/deal", "or set data.deal: shares"),
        (["data.deal=demand", "strategy={name: adag}", "roles.worker.hogwild=2"], "/data/deal", "remove roles.worker.hogwild"),
        (["data.deal=demand", "tables={words: {}}"], "/data/deal", "remove tables"),
        (["data.deal=demand", "export={every: 1 passes}"], "/data/deal", "give export no passes"),
        (["data={deal: demand, processes: 1}"], "/data/deal", "set data.processes: 0"),
        (["data={deal: demand, length: 100}"], "/data/deal", "remove data.length"),
        (["strategy={name: easgd}", "roles.worker.hogwild=2"], "/roles/worker/hogwild", "raise roles.worker.count instead"),
        (
            ["gate=", "strategy={name: sync}", "roles.worker.hogwild=2"],
            "/roles/worker/hogwild",
            "no steps that threads could share",
        ),
        (["strategy={name: adag, window: 2}", "roles.worker.hogwild=3"], "/roles/worker/hogwild", "raise strategy.window"),
        (["precision=fp16", "roles.worker.hogwild=2"], "/precision", "take bf16"),
        (["precision=fp16", "tables={default: {}}"], "/precision", "take bf16"),
        (["recompute=blocks", "roles.worker.hogwild=2"], "/recompute", "remove it, or hogwild"),
        (["compile=true", "roles.worker.hogwild=2"], "/compile", "remove it, or hogwild"),
        (["roles.worker={hogwild: 2, device: cuda}"], "/roles/worker/hogwild", "set roles.worker.device: cpu"),
        (
            ["gate=", "strategy={name: local_sgd, inner: average}", "roles.worker.hogwild=2"],
            "/roles/worker/hogwild",
            "take inner: keep",
        ),
        (["roles.server.count=0"], "/roles/server/count", "set gate: bsp, or set roles.server.count: 1"),
        (["roles.server.count=0", "gate={mode: bsp, quorum: 1}"], "/gate/quorum", "remove it"),
        (["roles.server={count: 0, device: auto}", "gate=bsp"], "/roles/server/device", "the workers hold the shards"),
        (["roles.server.count=0", "gate=bsp", "tables={default: {}}"], "/tables", "need servers"),
        (["roles.server.count=0", "gate=bsp", "roles.worker.hogwild=2"], "/roles/worker/hogwild", "roles.server.count: 1"),
        (["roles.server.count=0", "gate=bsp", "roles.worker.count=257"], "/roles/worker/count", "at most 256 workers"),
        (["roles.server.collective=gloo"], "/roles/server/collective", "set count: 0, or remove it"),
        ([*BY_GLOO, "strategy={name: easgd}"], "/roles/server/collective", "'easgd' needs each of them; take another strategy"),
        ([*BY_GLOO, "codec={name: bf16}"], "/roles/server/collective", "remove codec and pull_codec"),
        ([*BY_GLOO, "pull_codec={name: bf16}"], "/roles/server/collective", "remove codec and pull_codec"),
        ([*BY_GLOO, "network=platform"], "/roles/server/collective", "set network: internet"),
        (
            [*BY_NCCL, "roles.worker.device=auto"],
            "/roles/server/collective",
            "roles.worker.device is auto; set roles.worker.device: cuda",
        ),
        ([IN_GROUP % "replicate: 1", "roles.worker.device=cuda"], AT_GROUP, "it has one; raise replicate, or set"),
        ([IN_GROUP % "replicate: 2, machines: 2", "roles.worker.device=cuda"], AT_GROUP, "it has one; raise replicate, or set"),
        ([IN_GROUP % "replicate: 2, fsdp: 2", "roles.worker.device=cuda"], AT_GROUP, "remove fsdp, stages and tensor"),
        ([IN_GROUP % "replicate: 2"], AT_GROUP, "roles.worker.device is auto; set roles.worker.device: cuda"),
        ([IN_GROUP % "replicate: 2", "roles.worker.device=cuda", "roles.worker.gpu=0.5"], AT_GROUP, "set roles.worker.gpu: 1"),
        ([*BY_NCCL, "roles.worker.gpu=0.5"], "/roles/server/collective", "nccl refuses two processes on one GPU"),
        ([*BY_NCCL, "roles.worker.group=2"], "/roles/server/collective", "remove the group, or take roles.server.collective: auto"),
        ([*BY_NCCL, "on_worker_loss=continue"], "/roles/server/collective", "set on_worker_loss: restart, or take"),
        ([*BY_NCCL, "codec={name: bf16}"], "/roles/server/collective", "nccl adds whole vectors"),
        ([*BY_NCCL, "network=platform"], "/roles/server/collective", "nccl connects the workers"),
        (["gate=bsp", "gate={mode: bsp, warm_start: 5}"], "/gate", "means nothing under the gate 'bsp'"),
    ],
)
def test_what_would_be_ignored_is_refused(overrides: list[str], pointer: str, said: str) -> None:
    found = problems(JOB, *overrides)
    assert list(found) == [pointer]
    assert said in found[pointer]


def test_a_missing_key_points_at_the_mapping_that_lacks_it() -> None:
    assert problems(JOB.replace("{epochs: 1}", "\n  target: {metric: eval/loss, at_most: 1}"))["/stop"].endswith("(line 8)")


def test_problems_of_leaves_out_the_tags_of_unions() -> None:
    document = {"name": "adag", "strategy": {"name": "adag", "adag": 1}, "optimizer": {"name": "adam", "lr": "x"}}
    with pytest.raises(ValidationError) as caught:
        JobSpec.model_validate(document)
    found = {problem.pointer for problem in jobfile.problems_of(caught.value, document)}
    assert found == {"/strategy/adag", "/optimizer/lr", "/workload", "/stop"}


@pytest.mark.parametrize(
    ("override", "read"),
    [
        ("strategy.lr=1e-3", lambda job: job.strategy.lr == 0.001),
        ("strategy={name: downpour, lr: 2}", lambda job: job.strategy.name == "downpour"),
        ("strategy={name: downpour, window: 5}", lambda job: (job.strategy.n_push, job.strategy.n_fetch) == (5, 5)),
        ("strategy={name: delayed_diloco, h: 5}", lambda job: job.strategy.window == 5),
        ("strategy={name: easgd, tau: 5}", lambda job: job.strategy.window == 5),
        ("strategy={name: dc_asgd, lambda: 1}", lambda job: job.strategy.lam == 1),
        ("evaluate.average=uniform", lambda job: job.evaluate.average == "uniform"),
        ("gate={ssp: 5}", lambda job: job.gate.bound == 5),
        ("roles.worker.count=8", lambda job: job.roles.worker.count == 8),
        ("workload.args.path=/data/a=b", lambda job: job.workload.args == {"path": "/data/a=b"}),
        ("workload.args.day=2026-01-02", lambda job: job.workload.args == {"day": "2026-01-02"}),
        ("workload.args.flag=no", lambda job: job.workload.args == {"flag": "no"}),
        ("workload.args.n=010", lambda job: job.workload.args == {"n": 10}),
        ("workload.args.rate=1e3", lambda job: job.workload.args == {"rate": 1000.0}),
        ("timeout=2h", lambda job: job.timeout == 7200),
        ("gate=", lambda job: job.gate is None),
    ],
)
def test_overrides_are_yaml_1_2(override: str, read: object) -> None:
    assert callable(read)
    assert read(jobfile.load(JOB, [override]))


@pytest.mark.parametrize("override", ["strategy.lr", "=1", "strategy..lr=1", "name.first=x", "strategy.lr=[1"])
def test_overrides_that_cannot_be_set(override: str) -> None:
    with pytest.raises(InvalidJob):
        jobfile.load(JOB, [override])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (JOB + "name: again\n", "'name' is there twice; remove one (line 9, column 1)"),
        ("a: [1\nb: 2", "line 1, column 4"),
        ("a:\n\tb: 1", "YAML does not allow tabs as indentation; use spaces (line 2, column 1)"),
        ("a: !!python/object/apply:os.system [ls]", "is not understood"),
        ("a: !!timestamp 2026-01-01", "is not understood"),
        ("? [1]\n: 2", "a key must be text"),
        ("a: 1\n---\na: 1", "Write one job in each file"),
        ("a: \x01", "cannot be read"),
        ("[" * 5000, "nested too deeply"),
        ("a: &a [*a]", "nested too deeply"),
        ("a: " + "9" * 5000, "cannot be read"),
        ("a: " + "x" * 300_000, "are allowed"),
        ("", "has a problem"),
        ("- 1", "has a problem"),
    ],
)
def test_what_is_no_job_file(text: str, said: str) -> None:
    with pytest.raises(InvalidJob) as caught:
        jobfile.load(text)
    sentences = [str(caught.value), *(problem.message for problem in caught.value.problems)]
    assert sum(said in sentence for sentence in sentences) == 1, "said, and said once"


def test_aliases_that_would_expand_without_end_are_refused() -> None:
    laughs = "a: &a [1,1,1,1,1,1,1,1,1,1]\n" + "".join(
        f"{new}: &{new} [{','.join([f'*{old}'] * 10)}]\n" for old, new in zip("abcdef", "bcdefg", strict=True)
    )
    with pytest.raises(InvalidJob, match="more than 5,000 values"):
        jobfile.load(laughs)


def test_no_file_and_not_text(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        jobfile.load(tmp_path / "job.yaml")
    with pytest.raises(InvalidJob, match="cannot be read"):
        jobfile.load(tmp_path)
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidJob, match="is not text in UTF-8"):
        jobfile.load(tmp_path / "binary")


keys = st.sampled_from([*JobSpec.model_fields, "mode", "count", "lr", "x", "0"])
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from(["adag", "sync", "asp"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=12,
)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(keys, values))
def test_every_mistake_has_a_pointer_that_starts_in_the_document(document: dict[str, object]) -> None:
    try:
        JobSpec.model_validate(document)
    except ValidationError as caught:
        error = caught
    else:
        return
    found = jobfile.problems_of(error, document)
    assert len(found) == error.error_count()
    for problem in found:
        assert problem.message
        first = problem.pointer.split("/")[1] if problem.pointer else None
        assert first is None or first in document or first in JobSpec.model_fields


@given(st.text(max_size=200))
def test_any_text_is_a_job_or_an_explained_mistake(text: str) -> None:
    with pytest.raises(GradstreamError):
        jobfile.load(text)


@pytest.mark.parametrize(
    ("overrides", "shards", "holders"),
    [
        (["roles.server.count=2"], 2, {("server", 0), ("server", 1), ("server", 2)}),
        (["roles.server.count=0", "gate=bsp"], 3, {("worker", 0), ("worker", 1), ("worker", 2)}),
        (BY_GLOO, 1, {("worker", 0)}),
        ([*BY_GLOO, "on_worker_loss=continue"], 1, {("worker", 0)}),
        (["roles.server.count=0", "gate=bsp", "on_worker_loss=continue"], 1, {("worker", 0)}),
    ],
)
def test_the_holders_of_shards_follow_from_servers_and_losses(
    overrides: list[str], shards: int, holders: set[tuple[str, int]]
) -> None:
    spec = jobfile.load(JOB, ["roles.worker.count=3", *overrides])
    assert spec.shards == shards
    ranks = [(role, rank) for role in ("server", "worker", "evaluator") for rank in range(3)]
    assert {(role, rank) for role, rank in ranks if spec.holds_shard(role, rank)} == holders
