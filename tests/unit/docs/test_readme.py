"""What README.md shows is so: its table of strategies, and its job, which trains."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

from gradstream.cli.jobfile import strategies as listing
from gradstream.gate import Gate
from gradstream.spec import Checkpointing
from gradstream.strategies import STRATEGIES

ROOT = Path(__file__).parents[3]
README = (ROOT / "README.md").read_text()


def rows(header: str) -> list[str]:
    """The lines of the table that begins with this header."""
    return README.partition(header + "\n")[2].partition("\n\n")[0].splitlines()[1:]


def block(language: str) -> str:
    [found] = re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)
    return str(found)


def test_the_table_of_strategies_is_the_union() -> None:
    header, line, *expected = listing.markdown()
    assert [line, *rows(header)] == [line, *expected], "run `make generate`, which writes the table from the union"
    assert len(expected) == len(STRATEGIES)


def test_the_table_of_gates_names_every_mode_and_option() -> None:
    table = "\n".join(rows("| gate | waiting | staleness of a push | options |"))
    assert re.findall(r"^\| `(\w+)`", table, re.MULTILINE) == ["bsp", "ssp", "asp"]
    options = {name for line in table.splitlines() for name in re.findall(r"`(\w+)`", line.rpartition(" | ")[2])}
    assert options == set(Gate.model_fields) - {"mode"}


def test_the_time_between_checkpoints_is_the_default() -> None:
    assert f"`checkpoint.every`, {Checkpointing().every:g} s" in README


def test_the_job_trains(tmp_path: Path) -> None:
    (tmp_path / "circle.py").write_text(block("python"))
    (tmp_path / "job.yaml").write_text(block("yaml"))
    command = [sys.executable, "-c", "from gradstream.cli.main import app; app()", "run", "job.yaml", "--local", "--json"]
    command += ["--set", "stop.epochs=5"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["eval"]["accuracy"] > 0.9
