"""The examples of the guide for Python run in their order, as one script of a user."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


def blocks(file: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / file).read_text(), re.DOTALL)


@pytest.mark.more
def test_the_guide_runs(environment: dict[str, str], tmp_path: Path) -> None:
    [code], [job_file] = blocks("README.md", "python"), blocks("README.md", "yaml")
    (tmp_path / "circle").mkdir()
    (tmp_path / "circle" / "circle.py").write_text(code)
    (tmp_path / "circle" / "job.yaml").write_text(job_file.replace("epochs: 100", "epochs: 5"))
    script = tmp_path / "guide.py"
    script.write_text("\n".join(blocks("docs/guides/python.md", "python")))

    ran = subprocess.run([sys.executable, script], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=280)

    assert ran.returncode == 0, ran.stderr
    printed = ran.stdout
    assert printed.count("succeeded") == 4, printed
    assert re.search(r"eval/accuracy\s+\d", printed), printed
    assert re.search(r"train/loss\s+\d", printed), printed
    assert (tmp_path / "models" / "model.safetensors").is_file()
    assert "/strategy/name there is no strategy 'asink'; did you mean 'async'?" in printed, printed
    assert (tmp_path / "disc.out" / "1" / "store" / "1" / "model.safetensors").is_file()
