"""`gradstream submit --plan` against a real platform, before and after a job has told how large the model is."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

from gradstream.client import Client
from tests.integration.cli.shared import LINE, Gradstream

USERLAND = Path(__file__).parents[2] / "userland"


def test_a_plan_submits_nothing_and_knows_the_model_once_a_job_has_run_or_it_is_measured(
    gradstream: Gradstream, client: Client, tmp_path: Path
) -> None:
    (tmp_path / "planned.py").write_text((LINE / "linear.py").read_text())
    job_file = tmp_path / "job.yaml"
    job_file.write_text((LINE / "job.yaml").read_text().replace("linear:Line", "planned:Line").replace("linear-reg", "planned-reg"))

    def plan(*options: str) -> dict[str, Any]:
        done = gradstream("submit", job_file, "--plan", "--json", *options)
        assert done.returncode == 0, done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    assert plan()["size"] is None
    measured = plan("--measure")
    assert measured["size"]["source"] == "given"
    assert client.jobs(q="planned").items == []

    done = gradstream("submit", job_file, "--follow")
    assert done.returncode == 0, done.stderr
    known = plan()
    assert known["size"]["job"] == str(client.find("planned-regression").id)
    assert "a job of the same code" in known["size"]["message"]
    assert known["size"]["size"]["parameters"] == measured["size"]["size"]["parameters"]
    assert known["traffic"]["push_bytes"] == measured["traffic"]["push_bytes"]
    assert known["start"]["now"]


def test_a_plan_is_told_in_words(gradstream: Gradstream) -> None:
    done = gradstream("submit", LINE / "job.yaml", "--plan", "--set", "roles.worker.count=99", "--set", "strategy.name=async")
    assert done.returncode == 0, done.stderr
    assert "place 1 in the queue: Needs 99 slots" in done.stdout
    assert "98 on average; n - 1" in done.stdout
    assert "warning: /strategy/lr" in done.stderr


def test_tables_are_forecast_where_their_code_may_run(gradstream: Gradstream, tmp_path: Path) -> None:
    shutil.copy(USERLAND / "planted_clicks.py", tmp_path)
    job = tmp_path / "job.yaml"
    job.write_text(
        "name: forecast\nworkload: {entrypoint: 'planted_clicks:Clicks'}\nbatch_size: 50\nstrategy: {name: async}\n"
        "stop: {epochs: 1}\ntables: {default: {rule: {name: sgd}}}\n"
    )
    unknown = gradstream("submit", job, "--plan")
    assert "Rows are not known before the code runs." in unknown.stdout, unknown.stderr
    measured = gradstream("submit", job, "--plan", "--measure")
    assert "Estimated from the distinct keys of some mini-batches of one worker." in measured.stdout, measured.stderr
    assert re.search(r"table wide +about [\d,]+ rows of 44 B", measured.stdout)
    assert re.search(r"table deep +servers are full at [\d,]+ rows", measured.stdout)
