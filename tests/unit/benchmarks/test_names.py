"""The names that benchmarks use of this repository exist. No type checker reads the benchmarks: some need packages of others."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest

from tests.conftest import ROOT

OURS = ("gradstream", "backend", "worker_agent", "worker_node", "ps_node", "checks", "tests", "benchmarks")
FILES = sorted((ROOT / "benchmarks").rglob("*.py"))


def missing_names(text: str) -> list[str]:
    """Imports of ours that are not there, and attributes that a module of ours lacks, each with its line."""
    tree = ast.parse(text)
    modules, missing = dict[str, ModuleType](), list[str]()
    for line, module, name, used_as in _imports(tree):
        try:
            found = _resolve(module, name)
        except (ImportError, AttributeError):
            missing.append(f"line {line}: {module}.{name}")
            continue
        if isinstance(found, ModuleType):
            modules[used_as] = found
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules:
            module_ = modules[node.value.id]
            if not hasattr(module_, node.attr) and find_spec(f"{module_.__name__}.{node.attr}") is None:
                missing.append(f"line {node.lineno}: {module_.__name__}.{node.attr}")
    return missing


def _imports(tree: ast.AST) -> Iterator[tuple[int, str, str, str]]:
    """Line, module, name and local name of each name that comes from a module of ours."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] in OURS:
            yield from ((node.lineno, node.module, each.name, each.asname or each.name) for each in node.names)


def _resolve(module: str, name: str) -> object:
    """Raises: ImportError, AttributeError: there is no such name. Packages of others may be missing: then nothing is known."""
    try:
        found = import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] in OURS:
            raise
        return None
    return getattr(found, name) if hasattr(found, name) else import_module(f"{module}.{name}")


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_each_name_of_ours_exists(file: Path) -> None:
    assert missing_names(file.read_text()) == []


def test_a_name_that_has_moved_is_found() -> None:
    text = "from tests.hostile import archives\nfrom gradstream import gone\narchives.archive(b'')\n"
    assert missing_names(text) == ["line 2: gradstream.gone", "line 3: tests.hostile.archives.archive"]
