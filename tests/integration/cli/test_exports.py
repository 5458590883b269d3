"""`gradstream export` and `gradstream exports`: asking, listing, and a folder that follows a job to its end."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import pytest
import torch
from safetensors.torch import load_file

from gradstream.client import Client, Job
from gradstream.errors import Conflict
from gradstream.serving import Tables
from tests.integration.cli.shared import FOREVER, Gradstream
from tests.support import eventually


@pytest.fixture
def trains(client: Client, submit: Callable[..., Job]) -> Job:
    job = submit(FOREVER, "name=exported", "export={every: 1h}")
    eventually(lambda: client.job(job).progress.samples, "the first samples")
    return job


@pytest.mark.more
def test_exports_are_asked_for_listed_and_followed(gradstream: Gradstream, client: Client, trains: Job, tmp_path: Path) -> None:
    first = gradstream("export", "exported")
    assert first.stdout.startswith("export 1: base, version "), first.stderr
    second = json.loads(gradstream("export", "exported", "--json").stdout)
    assert (second["number"], second["base"]) == (2, True), "without tables there are no deltas"
    asked = gradstream("export", "exported", "--base", "--no-wait")
    assert asked.stdout == "export 3 is asked for\n"
    eventually(lambda: client.exports(trains)[0].state == "committed", "the third export")

    header, *rows = [line.split() for line in gradstream("exports", "exported").stdout.splitlines()]
    assert header == ["export", "state", "rests", "on", "version", "pass", "rows", "gone", "size", "time"]
    assert [row[:3] for row in rows] == [["3", "committed", "base"], ["2", "committed", "base"]]
    listed = json.loads(gradstream("exports", "exported", "--json").stdout)["items"]
    assert [each["number"] for each in listed] == [3, 2], "the platform keeps two bases"

    folder = tmp_path / "followed"
    assert gradstream("exports", "exported", "--into", str(folder)).stdout == f"{folder / 'export-3'}\n"
    tables = Tables(folder)
    assert gradstream("exports", "exported", "--into", str(folder)).stdout == ""
    client.stop(trains)
    followed = gradstream("exports", "exported", "--follow", str(folder))
    assert followed.stdout == f"{folder / 'export-4'}\n", followed.stderr
    assert tables.follow()
    model = load_file(client.download(trains, "model.safetensors", into=tmp_path))
    assert model.keys() == tables.state_dict().keys()
    assert all(torch.equal(tables.state_dict()[name], values) for name, values in model.items())
    assert (folder / "export-4" / "tensors.safetensors").stat().st_nlink == 2, "linked, and not downloaded again"


def test_mistakes_are_explained(gradstream: Gradstream, client: Client, succeeded: Job, tmp_path: Path) -> None:
    refused = gradstream("export", "succeeded")
    assert (refused.returncode, "The job is succeeded" in refused.stderr) == (1, True)
    none = gradstream("exports", "succeeded", "--into", str(tmp_path / "new"))
    assert (none.returncode, "`gradstream export JOB` asks for one" in none.stderr) == (4, True)
    assert not (tmp_path / "new").exists()
    assert "has no export yet" in gradstream("exports", "succeeded", "--follow", str(tmp_path / "new")).stderr
    both = gradstream("exports", "succeeded", "--into", "a", "--follow", "b")
    assert (both.returncode, "use one of them" in both.stderr) == (2, True)


@pytest.mark.more
def test_a_folder_belongs_to_one_job(client: Client, trains: Job, tmp_path: Path) -> None:
    client.export(trains)
    client.download_exports(trains, into=tmp_path)
    manifest = tmp_path / "export-1" / "manifest.json"
    manifest.write_text(manifest.read_text().replace(str(trains.id), str(UUID(int=1))))
    with pytest.raises(Conflict, match=f"has exports of job {UUID(int=1)}; choose another folder"):
        client.download_exports(trains, into=tmp_path)
    manifest.write_text("half of it")
    with pytest.raises(Conflict, match=r"export-1/manifest.json is missing or damaged; remove that folder"):
        client.download_exports(trains, into=tmp_path)
