"""The project that `gradstream init` writes: it learns with every strategy, is written whole, and lies in every wheel."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from gradstream import jobfile, starter
from gradstream.advise.warnings import warnings
from gradstream.starter import FILES, TEMPLATE, Starter
from gradstream.strategies import STRATEGIES

ROOT = Path(__file__).parents[3]


@pytest.mark.few(1)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_its_own_test_passes_with_every_strategy(tmp_path: Path, strategy: str) -> None:
    project = Starter.create(tmp_path, name=f"init-{strategy}", strategy=strategy)
    project.write()
    assert warnings(jobfile.load(tmp_path / "job.yaml")) == []
    spec = importlib.util.spec_from_file_location(f"test_init_{strategy}", tmp_path / f"test_init_{strategy}.py")
    assert spec
    assert spec.loader
    tests = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tests)
    tests.test_the_job_file_is_valid_and_fits_the_workload()
    tests.test_the_loss_falls_with_the_strategy_of_the_job()


def test_no_name_of_the_template_is_left(tmp_path: Path) -> None:
    texts = Starter.create(tmp_path, name="my-digits", strategy="adag").files()
    assert not [path for path, text in texts.items() if "new" in path.name or "newproject" in text.lower().replace("-", "")]
    assert jobfile.load(texts[tmp_path / "job.yaml"]).strategy.name == "adag"


def test_files_that_cannot_all_be_written_are_taken_back(tmp_path: Path) -> None:
    """Also the folder, if it is new."""

    def fail_after_one_file(folder: Path) -> None:
        with starter._all_or_nothing(folder) as written:
            (folder / "job.yaml").touch()
            written.append(folder / "job.yaml")
            raise OSError("the disk is full")

    for folder in (tmp_path / "new", tmp_path):
        with pytest.raises(OSError, match="the disk is full"):
            fail_after_one_file(folder)
    assert list(tmp_path.iterdir()) == []


def test_a_wheel_holds_all_of_the_template(tmp_path: Path) -> None:
    """Images are built from a wheel, too."""
    command = ["-c", "from setuptools import setup; setup()", "egg_info", f"--egg-base={tmp_path}"]
    command += ["build_py", f"--build-lib={tmp_path}"]
    done = subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    built = tmp_path / "gradstream" / "starter" / "template"
    assert {path.name for path in built.iterdir()} == {"__init__.py", *FILES}
    assert {path.name for path in TEMPLATE.iterdir() if path.is_file()} == {"__init__.py", *FILES}
