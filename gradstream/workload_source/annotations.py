"""Simple annotations and defaults, from their text to types and values."""

from __future__ import annotations

import ast
import pathlib
import typing
from typing import Any, Final, Literal, Optional, Union

from gradstream.workload_source.modules import ForeignName, Modules, ModuleText
from gradstream.workload_source.parsing import parse_expression

UNKNOWN: Final = object()
"""A type or a value that the text does not settle."""

_PLAIN: dict[str, Any] = {
    "builtins.int": int,
    "builtins.float": float,
    "builtins.str": str,
    "builtins.bool": bool,
    "builtins.bytes": bytes,
    "builtins.list": list,
    "builtins.dict": dict,
    "builtins.tuple": tuple,
    "builtins.set": set,
    "builtins.object": object,
    "typing.Any": Any,
    "typing.List": list,
    "typing.Dict": dict,
    "typing.Tuple": tuple,
    "typing.Set": set,
    "pathlib.Path": pathlib.Path,
}
_MAX_DEPTH = 8


def read_type(modules: Modules, module: ModuleText, node: ast.expr, depth: int = _MAX_DEPTH) -> Any:
    """The type that an annotation names, or UNKNOWN."""
    if depth <= 0:
        return UNKNOWN
    match node:
        case ast.Constant(value=None):
            return None
        case ast.Constant(value=str(text)):
            inner = _parsed(text)
            return read_type(modules, module, inner, depth - 1) if inner else UNKNOWN
        case ast.BinOp(op=ast.BitOr(), left=left, right=right):
            return _union([read_type(modules, module, side, depth - 1) for side in (left, right)])
        case ast.Subscript(value=value, slice=inside):
            parts = inside.elts if isinstance(inside, ast.Tuple) else [inside]
            return _subscripted(modules, module, value, parts, depth)
        case ast.Name() | ast.Attribute():
            found = modules.resolve(module, node)
            return _PLAIN.get(found.dotted, UNKNOWN) if isinstance(found, ForeignName) else UNKNOWN
    return UNKNOWN


def is_class_var(modules: Modules, module: ModuleText, node: ast.expr) -> bool:
    """`ClassVar[...]`, which is no argument."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and (inner := _parsed(node.value)):
        return is_class_var(modules, module, inner)
    found = modules.resolve(module, node.value) if isinstance(node, ast.Subscript) else None
    return isinstance(found, ForeignName) and found.dotted == "typing.ClassVar"


def read_value(node: ast.expr | None) -> Any:
    """A literal's value, or UNKNOWN."""
    try:
        return UNKNOWN if node is None else ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return UNKNOWN


def _parsed(text: str) -> ast.expr | None:
    try:
        return parse_expression(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _subscripted(modules: Modules, module: ModuleText, value: ast.expr, parts: list[ast.expr], depth: int) -> Any:
    found = modules.resolve(module, value)
    name = found.dotted if isinstance(found, ForeignName) else ""
    if name == "typing.Literal":
        values = [read_value(part) for part in parts]
        return UNKNOWN if any(value is UNKNOWN for value in values) else Literal[tuple(values)]
    if name in ("typing.Optional", "typing.Union"):
        inner = [read_type(modules, module, part, depth - 1) for part in parts]
        return _union([*inner, *([None] if name == "typing.Optional" else [])])
    container = _PLAIN.get(name)
    if container not in (list, dict, tuple, set):
        return UNKNOWN
    inner = [... if _is_ellipsis(part) else read_type(modules, module, part, depth - 1) for part in parts]
    if any(part is UNKNOWN for part in inner) or len(inner) != {list: 1, set: 1, dict: 2}.get(container, len(inner)):
        return UNKNOWN
    return container[tuple(inner)]


def _is_ellipsis(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is Ellipsis


def _union(parts: list[Any]) -> Any:
    if any(part is UNKNOWN for part in parts):
        return UNKNOWN
    return typing.cast(Any, Optional[Union[tuple(parts)]] if None in parts else Union[tuple(parts)])  # noqa: UP007, UP045
