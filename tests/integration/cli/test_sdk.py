"""The SDK against a real platform."""

from __future__ import annotations

import json
import platform
import re
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import pytest
import torch
from safetensors import safe_open

import gradstream
from gradstream import bundle, jobfile
from gradstream.bundle.commit.origin import collect_origin
from gradstream.client import Client, Credentials, Job
from gradstream.errors import Conflict, Invalid, InvalidJob, NotFound, NotSignedIn
from tests.integration.cli.shared import FOREVER, LINE, api_process
from tests.support import JOB_TIMEOUT


def test_a_job_from_submit_to_its_model(client: Client, succeeded: Job, tmp_path: Path) -> None:
    assert succeeded.status == "succeeded"
    assert succeeded.progress.samples == succeeded.progress.total_samples == 20_000
    assert succeeded.progress.eval["loss"] == pytest.approx(0, abs=1e-3)
    assert {process.label for process in client.processes(succeeded.id)} == {"worker-0", "worker-1", "server-0", "evaluator"}
    assert client.events(succeeded.id)[-1].message.startswith("succeeded")

    artifacts = {artifact.name: artifact for artifact in client.artifacts(succeeded.id)}
    assert {"model.safetensors", "job.yaml", "metrics.parquet", "environment.json"} <= set(artifacts)
    path = client.download(succeeded.id, "model.safetensors", into=tmp_path / "new")
    assert path == tmp_path / "new" / "model.safetensors"
    assert path.stat().st_size == artifacts["model.safetensors"].size
    assert list(path.parent.iterdir()) == [path]
    with safe_open(path, "pt") as file:
        about = json.loads(file.metadata()["gradstream"])
    assert (about["job"], about["name"], about["strategy"]) == (str(succeeded.id), "succeeded", succeeded.strategy)
    again = jobfile.load(client.download(succeeded.id, "job.yaml", into=tmp_path))
    assert again == jobfile.load(LINE / "job.yaml", ["name=succeeded"])


def test_a_job_keeps_its_commit_and_its_environment(client: Client, succeeded: Job) -> None:
    assert succeeded.origin
    assert (succeeded.origin.commit, succeeded.origin.client) == (collect_origin(LINE).commit, gradstream.__version__)
    environment = client.environment(succeeded)
    assert f"torch=={torch.__version__.partition('+')[0]}" in {each.partition("+")[0] for each in environment.packages}
    assert (environment.python, environment.gradstream) == (platform.python_version(), gradstream.__version__)
    assert environment.kernel == platform.release()
    assert environment.packages == sorted(environment.packages, key=lambda each: each.partition("==")[0].lower().replace("_", "-"))


def test_all_metrics_come_in_pages_and_as_charts(client: Client, succeeded: Job) -> None:
    points = [point for batch in client.metrics(succeeded.id, names=["train/loss"]) for point in batch.points]
    [chart] = client.charts(succeeded.id, ["train/loss"], x="samples", columns=10)
    assert sorted({one.source for one in chart.series}) == ["worker-0", "worker-1"]
    assert len(points) == sum(one.total for one in chart.series) == sum(sum(one.columns.count) for one in chart.series) > 0
    assert min(p[-1] for p in points) == min(min(one.columns.low) for one in chart.series)
    assert set(client.measured(succeeded.id)) >= {"train/loss", "eval/loss"}
    assert "train/staleness" in {entry["name"] for entry in client.catalogue()}


def test_a_job_is_found_by_id_by_its_beginning_and_by_name(client: Client, succeeded: Job) -> None:
    for reference in (str(succeeded.id), str(succeeded.id)[:13], "succeeded"):
        assert client.find(reference).id == succeeded.id
    with pytest.raises(NotFound, match="gradstream jobs"):
        client.find("nothing-of-this-name")
    with pytest.raises(NotFound):
        client.find(str(uuid4()))


def test_methods_take_names_ids_jobs_and_text_paths(client: Client, succeeded: Job, tmp_path: Path) -> None:
    for reference in ("succeeded", succeeded, succeeded.id, str(succeeded.id)[:8]):
        assert client.job(reference).id == client.wait(reference).id == succeeded.id
    assert client.download("succeeded", "job.yaml", into=str(tmp_path / "text")).parent == tmp_path / "text"
    with pytest.raises(NotFound, match="did you mean 'succeeded'"):
        client.events("suceeded")
    with pytest.raises(NotFound, match=r"it has .*model\.safetensors"):
        client.download(succeeded, "modle.safetensors", into=tmp_path)
    with pytest.raises(TypeError, match="stat"):
        client.jobs(stat="succeeded")  # type: ignore[call-arg]


def test_a_job_is_a_dict_a_folder_or_a_file(client: Client, submit: Callable[..., Job]) -> None:
    data = jobfile.load(LINE / "job.yaml", [FOREVER, "name=as-dict"]).model_dump(mode="json")
    made = [client.submit(data, code=str(LINE)), client.submit(str(LINE), overrides=[FOREVER, "name=as-folder"])]
    try:
        assert [job.name for job in made] == ["as-dict", "as-folder"]
        assert client.config("as-folder").source == (LINE / "job.yaml").read_text()
        with pytest.raises(InvalidJob) as caught:
            client.submit({**data, "strategy": {"name": "sinc"}}, code=LINE)
        assert "did you mean 'sync'" in caught.value.problems[0].message
    finally:
        for job in made:
            client.stop(job)
        for job in made:
            client.wait(job, timeout=JOB_TIMEOUT)


def test_a_plan_checks_code_that_was_not_uploaded(client: Client, tmp_path: Path) -> None:
    """As `submit` does, and sends nothing. Its warnings are those of the code once it is there, each once."""
    text = (LINE / "linear.py").read_text()
    data = jobfile.load(LINE / "job.yaml", ["name=planned"]).model_dump(mode="json", exclude_unset=True)
    data["workload"] = {"entrypoint": "linear:Lin"}
    (tmp_path / "linear.py").write_text(text)
    for ask in (client.plan, client.submit):
        with pytest.raises(InvalidJob) as caught:
            ask(data, code=tmp_path)  # type: ignore[operator]
        assert "did you mean 'Line'" in caught.value.problems[0].message
    data["workload"] = {"entrypoint": "linear:Line"}
    summed = re.sub(r"mse_loss\((.*), y\)", r"mse_loss(\1, y, reduction='sum')", text)
    assert summed != text
    (tmp_path / "linear.py").write_text(summed)

    def told() -> list[str]:
        return [each.message for each in client.plan(data, code=tmp_path).warnings if "loss() returns a sum" in each.message]

    packed = bundle.pack(tmp_path)
    assert len(told()) == 1
    assert not client.has_bundle(packed.hash)
    client.upload(packed)
    assert len(told()) == 1


def test_metrics_are_frames_with_every_point(client: Client, succeeded: Job) -> None:
    points = [point for batch in client.metrics(succeeded) for point in batch.points]
    pandas, polars = client.metrics(succeeded).to_pandas(), client.metrics(succeeded).to_polars()
    assert pandas["value"].tolist() == polars["value"].to_list() == [point[-1] for point in points]
    assert list(pandas.columns) == polars.columns
    assert [moment.timestamp() for moment in pandas["time"]] == pytest.approx([point[-2] for point in points], abs=1e-5)
    assert polars["time"].dt.epoch("us").to_list() == pytest.approx([point[-2] * 1e6 for point in points], abs=10)
    with pytest.raises(NotFound, match="did you mean 'train/loss'"):
        client.metrics(succeeded, names="train/los")


def test_notebooks_show_tables(client: Client, succeeded: Job) -> None:
    row = succeeded._repr_html_()
    assert "succeeded" in row
    assert "20,000 of 20,000" in row
    assert row.count("<tr>") == 2
    assert client.jobs(q="succeeded")._repr_html_().count("<tr>") >= 2
    evil = succeeded.model_copy(update={"message": "<script>", "status": "failed"})
    assert "<script>" not in evil._repr_html_()


def test_the_same_key_gives_the_same_job(client: Client, submit: Callable[..., Job]) -> None:
    key = str(uuid4())
    first = submit(FOREVER, key=key)
    assert submit(FOREVER, key=key).id == first.id
    with pytest.raises(Conflict):
        submit("stop={epochs: 3}", key=key)


def test_stop_wait_and_delete(client: Client, submit: Callable[..., Job]) -> None:
    job = submit(FOREVER, "name=stopped")
    with pytest.raises(TimeoutError):
        client.wait(job.id, timeout=0.2)
    with pytest.raises(Conflict):
        client.delete(job.id)
    client.stop(job.id)
    assert client.wait(job.id, timeout=JOB_TIMEOUT).status == "cancelled"
    assert job.id in {one.id for one in client.jobs(status=["cancelled"], q="stop").items}


def test_mistakes_are_raised_as_they_are_at_the_server(client: Client, credentials: Credentials) -> None:
    spec = jobfile.load(LINE / "job.yaml")
    with pytest.raises(InvalidJob) as caught:
        client.submit(spec)
    assert [problem.pointer for problem in caught.value.problems] == ["/bundle"]
    with pytest.raises(Invalid) as unknown:
        client.jobs(limit=0)
    assert unknown.value.problems
    with Client(Credentials(credentials.url, "wrong")) as stranger, pytest.raises(NotSignedIn):
        stranger.nodes()


@pytest.mark.more
def test_following_survives_a_killed_api_without_gaps_or_repeats(client: Client, submit: Callable[..., Job]) -> None:
    job = submit(FOREVER, "name=followed")
    seen, killed = [], False
    for event in client.follow(job.id):
        seen.append(event)
        if event.kind == "metrics" and not killed:
            killed = True
            api_process().kill()
        elif event.kind == "metrics" and len(seen) > 40:
            client.stop(job.id)
    assert killed
    ids = [event.id for event in seen]
    assert ids == sorted(ids)
    happened = [event.data["seq"] for event in seen if event.kind == "event"]
    assert happened == [event.seq for event in client.events(job.id)]
    assert seen[-1].data["status"] == "cancelled"
