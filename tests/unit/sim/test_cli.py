"""`gradstream sim`."""

from __future__ import annotations

import json

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
    assert facts["ledger"]["3"] == {"pushed": 10, "applied": 10, "buffered": 0, "dropped": 0, "pending": 0}


def test_prints_a_summary_for_people() -> None:
    done = gradstream_sim("--set", "lr=0.01", "--gate", "{max_staleness: 2}", "--events", "40")
    assert "async under asp, 4 workers" in done.stdout
    assert "version    20 after 40 pushes" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--strategy", "adagg"], 2, "did you mean 'adag'?"),
        (["--strategy", "adag", "--set", "windw=5"], 2, "did you mean 'window'?"),
        (["--strategy", "sync", "--gate", "asp"], 2, "works under bsp"),
        (["--speed", "1"], 2, "once for each worker"),
        (["--problem", "mnist"], 2, "'toy'"),
        (["--set", "lr=3", "--events", "5000"], 10, "diverged: "),
    ],
)
def test_mistakes_are_explained(arguments: list[str], code: int, said: str) -> None:
    done = gradstream_sim(*arguments)
    assert (done.exit_code, done.stdout) == (code, "")
    assert said in done.stderr
