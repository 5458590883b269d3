"""Class names of the product stand in one file each."""

from __future__ import annotations

from pathlib import Path

from checks import names
from checks.__main__ import PRODUCT

ROOT = Path(__file__).parents[3]


def test_a_name_in_two_files_is_named_in_both() -> None:
    modules = {"a/one.py": "class Plan: ...\nclass Step: ...", "b/two.py": "x = 1\nclass Plan: ...", "c/three.py": "class Run: ..."}
    assert [problem.split(";")[0] for problem in names.problems(modules)] == [
        "a/one.py:1: class name: Plan stands in b/two.py too",
        "b/two.py:2: class name: Plan stands in a/one.py too",
    ]


def test_the_product_has_none() -> None:
    modules = {str(path): path.read_text() for folder in PRODUCT for path in (ROOT / folder).rglob("*.py")}
    assert len(modules) > 400
    assert list(names.problems(modules)) == []
