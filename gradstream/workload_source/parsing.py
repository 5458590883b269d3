"""Python text as a syntax tree, for one thread at a time.

CPython 3.11 counts how deep it is in all trees that it makes together. Where one thread begins a tree while another one makes its
own, the numbers do not match, and `ast.parse` raises SystemError (python/cpython#106905)."""

from __future__ import annotations

import ast
import threading

_PARSING = threading.Lock()


def parse_module(text: str) -> ast.Module:
    """Raises: SyntaxError, ValueError, RecursionError, MemoryError, as `ast.parse` does."""
    with _PARSING:
        return ast.parse(text)


def parse_expression(text: str) -> ast.expr:
    """Raises: the same."""
    with _PARSING:
        return ast.parse(text, mode="eval").body
