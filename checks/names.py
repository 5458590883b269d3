"""Class names of the product and of its checks: each stands in one file, so that a search for it leads to one place."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping


def problems(modules: Mapping[str, str]) -> Iterator[str]:
    """`modules`: the source of each file by its path."""
    places = defaultdict[str, dict[str, int]](dict)
    for file, source in modules.items():
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.ClassDef):
                places[node.name].setdefault(file, node.lineno)
    for name, lines in places.items():
        for file, line in lines.items():
            others = ", ".join(sorted(lines.keys() - {file}))
            if others:
                yield f"{file}:{line}: class name: {name} stands in {others} too; rename one of them"
