"""The help of annotated attributes, as it stands in the text of their class: in quotes below one, or as a comment behind it."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Sequence
from itertools import zip_longest

_LONGEST = 500
"""Characters of a help, which a form shows beside a field, and of a line that is searched for a comment."""


def attribute_helps(node: ast.ClassDef, lines: Sequence[str]) -> dict[str, str]:
    """Return the help of each annotated attribute that has one, on one line. `lines`: of the whole module."""
    found = dict[str, str]()
    for statement, below in zip_longest(node.body, node.body[1:]):
        if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.target, ast.Name):
            continue
        match below:
            case ast.Expr(value=ast.Constant(value=str(quoted))):
                text = inspect.cleandoc(quoted).partition("\n\n")[0]
            case _:
                text = _comment_behind(statement, lines)
        if help := " ".join(text.split())[:_LONGEST]:
            found[statement.target.id] = help
    return found


def _comment_behind(statement: ast.stmt, lines: Sequence[str]) -> str:
    number, column = statement.end_lineno or 0, statement.end_col_offset or 0
    line = lines[number - 1] if 0 < number <= len(lines) else ""
    if len(line) > _LONGEST:
        return ""
    rest = line.encode()[column:].decode(errors="ignore").strip()
    return rest.lstrip("#: ") if rest.startswith("#") and not _is_for_tools(rest) else ""


def _is_for_tools(comment: str) -> bool:
    """Return whether linters and type checkers read it, such as `# noqa` and `# type: ignore`."""
    return comment.lstrip("# ").startswith(("noqa", "type:", "pylint:", "pyright:", "mypy:", "fmt:", "ruff:", "pragma:", "nosec"))
