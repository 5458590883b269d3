"""The build of torch that `make demo TORCH=...` installs."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def script() -> ModuleType:
    loader = importlib.machinery.SourceFileLoader("install_torch", str(ROOT / "scripts/install-torch"))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


WITH, WITHOUT = ("2.13.0", "13.0"), ("2.13.0+cpu", "")


@pytest.mark.parametrize(
    ("kind", "there", "index", "arguments"),
    [
        ("auto", None, "", []),
        ("auto", WITH, "", None),
        ("auto", WITHOUT, "somewhere", None),
        ("cuda", None, "", []),
        ("cuda", WITH, "", None),
        ("cuda", WITHOUT, "", []),
        ("cuda", None, "somewhere", ["--index-url", "somewhere"]),
        ("cpu", WITHOUT, "", None),
        ("cpu", WITH, "somewhere", ["--index-url", "somewhere"]),
    ],
)
def test_pip_gets_only_what_is_needed(
    script: ModuleType, kind: str, there: tuple[str, str] | None, index: str, arguments: list[str] | None
) -> None:
    assert script.pip_arguments(kind, there, index) == arguments


def test_a_build_for_cpus_comes_from_the_index_of_such_builds(script: ModuleType) -> None:
    assert script.pip_arguments("cpu", None, "") == ["--extra-index-url", script.CPU_INDEX]


def test_another_value_is_refused_with_those_there_are() -> None:
    done = subprocess.run(["make", "help", "TORCH=gpu"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "TORCH=gpu: choose auto, cpu or cuda" in done.stderr
