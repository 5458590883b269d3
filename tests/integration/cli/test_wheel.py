"""The wheel contains the page and the examples, and `gradstream demo` works where only it and its requirements are installed."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import venv
from pathlib import Path
from zipfile import ZipFile

import pytest
from safetensors.torch import load_file

from tests.integration.cli.shared import free_port, processes_of

ROOT = Path(__file__).parents[3]
PACKAGES = ("gradstream", "backend", "worker_agent", "ps_node", "worker_node", "migrations")


@pytest.mark.more
@pytest.mark.timeout(500)
def test_the_demo_trains_from_a_wheel_in_an_empty_environment(tmp_path: Path) -> None:
    """It trains, reports and leaves nothing behind, from any folder and without a terminal. One test, as builds share a folder."""
    done = build(ROOT, tmp_path)
    assert done.returncode == 0, done.stderr
    [wheel] = tmp_path.glob("*.whl")
    assert packed_files(wheel) == expected_files()

    python = install(wheel, tmp_path / "environment")
    bare = {name: value for name, value in os.environ.items() if not name.startswith(("GRADSTREAM_", "PYTHON"))}
    for package in PACKAGES:
        where = [python, "-c", f"import {package}; print({package}.__file__)"]
        found = subprocess.run(where, cwd=tmp_path, env=bare, capture_output=True, text=True, check=True, timeout=60).stdout
        assert Path(found).is_relative_to(tmp_path), "the wheel's, not the checkout's"

    data = tmp_path / "data"
    program = str(python.with_name("gradstream"))
    said, out = run_demo_until_it_stays(
        [program, "demo", "--json", "--data-dir", str(data), "--port", str(free_port())], tmp_path, bare
    )
    result = json.loads(out)
    assert result["status"] == "succeeded"
    assert result["eval_accuracy"] >= 0.97
    assert 0 < result["first_step_seconds"] < result["seconds"]
    assert result["samples_per_second"] > 0
    assert 0 <= result["mean_staleness"] <= 2
    assert sum(tensor.numel() for tensor in load_file(result["model_path"]).values()) == 64 * 256 + 256 + 256 * 10 + 10
    for words in ("Postgres", "samples", "/jobs/", "/sign-in"):
        assert words in said
    assert processes_of(data) == []


def run_demo_until_it_stays(command: list[str], folder: Path, environment: dict[str, str]) -> tuple[str, str]:
    """Run the demo, list its jobs while it stays, and end it. Return what it said, and what it printed."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=folder, env=environment, **pipes) as process:
        said = ""
        for line in process.stderr:
            said += line
            if "stays up until Ctrl-C" in line:
                break
        own = {**environment, "GRADSTREAM_DATA_DIR": command[command.index("--data-dir") + 1]}
        listed = subprocess.run([command[0], "jobs", "--json"], env=own, capture_output=True, text=True, timeout=60, check=True)
        process.send_signal(signal.SIGTERM)
        out, rest = process.communicate(timeout=60)
        assert process.returncode == 130, said + rest
    assert [job["status"] for job in json.loads(listed.stdout)["items"]] == ["succeeded"]
    return said, out


@pytest.mark.more
def test_no_wheel_is_built_without_a_page(tmp_path: Path) -> None:
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / "backend").mkdir()
    (tmp_path / "backend" / "__init__.py").touch()
    done = build(tmp_path, tmp_path)
    assert done.returncode != 0
    assert "run `make page` first" in done.stdout + done.stderr
    assert not list(tmp_path.glob("*.whl"))


def build(checkout: Path, into: Path) -> subprocess.CompletedProcess[str]:
    """As `make wheel` does."""
    command = [sys.executable, "-m", "pip", "wheel", str(checkout), "--no-deps", "--no-build-isolation", "--wheel-dir", str(into)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=into)


def install(wheel: Path, environment: Path) -> Path:
    """Return the Python of a new environment. It finds requirements where ours has them, without our editable Gradstream."""
    venv.create(environment, symlinks=True)
    python = environment / "bin" / "python"
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    requirements = [path for path in sys.path if Path(path).name == "site-packages"]
    (environment / "lib" / version / "site-packages" / "requirements.pth").write_text("\n".join(requirements))
    command = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps", str(wheel)]
    subprocess.run(command, check=True, timeout=120)
    return python


def packed_files(wheel: Path) -> set[str]:
    return {name for name in ZipFile(wheel).namelist() if ".dist-info/" not in name}


def expected_files() -> set[str]:
    """The programs' packages, the examples and the built page, as they are in the checkout."""
    listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard", *PACKAGES, "examples"]
    listed = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, check=True, timeout=30).stdout.split()
    there = {name for name in listed if (ROOT / name).is_file() and not name.endswith(".mako")}
    page = {str(path.relative_to(ROOT)) for path in (ROOT / "backend" / "page").rglob("*") if path.is_file()}
    return page | {f"gradstream/{name}" if name.startswith("examples/") else name for name in there}
