"""The texts of Python modules and of Markdown documents, each with its kind and its place."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

_DESCRIBES = frozenset({"description", "summary", "help", "response_description"})
_EXCEPTION = re.compile(r"(?:#|<!--) prose: \w+")
_FENCE = re.compile(r"^\s*```")
_BEGINS_BLOCK = re.compile(r"^\s*(?:#|[-*+] |\d+[.)\\]|\||>|<)|^\s*$")
_MARKS = re.compile(r"^\s*(?:#+|[-*+]|\d+\\?[.)]|>)\s+")
_COMMENT = re.compile(r"<!--.*?-->")


@dataclass(frozen=True, slots=True)
class Text:
    file: str
    line: int
    kind: str
    """document, docstring, description or message; page: a text of the web page, which ESLint checks"""
    text: str


def of_module(file: str, source: str) -> Iterator[Text]:
    """Yield docstrings, descriptions and messages. Skip those with a comment `# prose: REASON` on one of their lines."""
    lines = source.splitlines()
    tree = ast.parse(source)
    kinds = _kinds(tree)
    for node, parent in _strings(tree):
        place = lines[node.lineno - 1 : node.end_lineno]
        if not any(_EXCEPTION.search(line) for line in place):
            yield Text(file, node.lineno, kinds.get(id(node), kinds.get(id(parent), "message")), _text(node))


def _kinds(tree: ast.AST) -> dict[int, str]:
    kinds = dict[int, str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr):
            kinds[id(node.value)] = "docstring"
        elif isinstance(node, ast.keyword) and node.arg in _DESCRIBES:
            kinds[id(node.value)] = "description"
    return kinds


def _strings(node: ast.AST, parent: ast.AST | None = None) -> Iterator[tuple[ast.Constant | ast.JoinedStr, ast.AST | None]]:
    if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str)):
        yield node, parent
        return
    for child in ast.iter_child_nodes(node):
        yield from _strings(child, node)


def _text(node: ast.Constant | ast.JoinedStr) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    return "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)


def of_document(file: str, source: str) -> Iterator[Text]:
    """Yield headings, paragraphs, items of lists and cells of tables. Skip those that hold a comment `<!-- prose: REASON -->`."""
    block, begin, code = list[str](), 0, False
    for number, line in enumerate([*source.splitlines(), ""], start=1):
        if _FENCE.match(line) or code or _BEGINS_BLOCK.match(line) or (block and block[0].lstrip().startswith("#")):
            yield from _block(file, begin, block)
            block = []
        if _FENCE.match(line):
            code = not code
        elif not code and line.strip() and not line.startswith("    "):
            begin = begin if block else number
            block.append(line)


def _block(file: str, begin: int, block: list[str]) -> Iterator[Text]:
    text = "\n".join(block)
    if not text or _EXCEPTION.search(text):
        return
    cells = text.strip().strip("|").split(" | ") if text.lstrip().startswith("|") else [_MARKS.sub("", text)]
    for cell in cells:
        yield Text(file, begin, "document", _COMMENT.sub("", cell).strip(" *"))
