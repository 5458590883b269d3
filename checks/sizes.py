"""Caps of the product's Python: lines of a file and of a function, files in a folder."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import PurePath

LINES_OF_A_FILE = 300
LINES_OF_A_FUNCTION = 50
FILES_IN_A_FOLDER = 14
"""Beside `__init__.py`."""
CATALOGUES = {"gradstream/strategies": "a file per strategy"}
"""Folders with more files, and why: a new entry is a new file, so there is no subject to split them by."""


def problems(modules: Mapping[str, str]) -> Iterator[str]:
    """`modules`: the source of each file by its path."""
    folders = Counter(str(PurePath(file).parent) for file in modules if PurePath(file).name != "__init__.py")
    for folder, count in folders.items():
        if count > FILES_IN_A_FOLDER and folder not in CATALOGUES:
            yield f"{folder}: folder: {count} Python files; split it by subject below {FILES_IN_A_FOLDER + 1}"
    for file, source in modules.items():
        if (lines := source.count("\n")) > LINES_OF_A_FILE:
            yield f"{file}:1: file: {lines} lines; split it by subject below {LINES_OF_A_FILE + 1}"
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                if lines > LINES_OF_A_FUNCTION:
                    yield f"{file}:{node.lineno}: function: {node.name} has {lines} lines; split it below {LINES_OF_A_FUNCTION + 1}"
