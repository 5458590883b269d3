"""The source of a class that stands in a notebook or a script, with everything of it that the class needs.

Workers import user code, and Python cannot import a notebook. So the class, the functions, classes, constants and imports
that it names, and what those name in turn, are written into a module of their own.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import linecache
import symtable
import sys
import sysconfig
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gradstream.errors import InvalidWorkload
from gradstream.workload_source.parsing import parse_module

MODULE = "notebook_workload"
"""Name of the module that workers import in its place."""
_PLAIN = (bool, int, float, complex, str, bytes, type(None))


def collect_source(cls: type, code: Path | None) -> str:
    """The text of a module that defines `cls`. `code`: a folder that travels, too, from which it may import.

    Raises: InvalidWorkload, naming what the class uses and cannot take along.
    """
    collected = _Collected(cls, code)
    collected.add(cls.__name__, cls)
    imports = "\n".join(dict.fromkeys(collected.imports))
    return f'"""{cls.__name__}, and what it uses, as defined where the job was submitted."""\n\n{imports}\n\n' + "\n\n\n".join(
        collected.definitions.values()
    )


class _Collected:
    def __init__(self, cls: type, code: Path | None) -> None:
        self._cls, self._code = cls, code
        self._home = sys.modules[cls.__module__].__dict__
        self.imports: list[str] = []
        self.definitions: dict[str, str] = {}
        """By name, each behind those that it is built from."""
        self._begun: set[str] = set()

    def add(self, name: str, value: Any) -> None:
        if name in self._begun:
            return
        self._begun.add(name)
        if isinstance(value, types.ModuleType):
            self._import_module(name, value)
        elif isinstance(value, type | types.FunctionType) and value.__module__ == self._cls.__module__:
            self._define(name, value)
        elif (home := _module_that_offers(name, value)) is not None:
            self._import_from(name, value, *home)
        elif _is_constant(value):
            self.definitions[name] = f"{name} = {value!r}"
        else:
            raise InvalidWorkload(
                f"{self._cls.__name__} uses '{name}', a {type(value).__name__} that is made outside of it and cannot be sent; "
                "make it inside the class, or give it as an argument in workload.args"
            )

    def _define(self, name: str, value: type | types.FunctionType) -> None:
        text = _source_of(value)
        if text is None:
            raise InvalidWorkload(f"the source of {value.__qualname__} cannot be read; put it into a file and give code=FOLDER")
        for used in _names_used(text):
            if used != value.__name__ and used in self._home:
                self.add(used, self._home[used])
        alias = "" if name == value.__name__ else f"\n\n\n{name} = {value.__name__}"
        self.definitions[name] = text + alias

    def _import_module(self, name: str, module: types.ModuleType) -> None:
        self._refuse_module_left_behind(module)
        self.imports.append(f"import {module.__name__}" + ("" if module.__name__ == name else f" as {name}"))

    def _import_from(self, name: str, value: Any, module: types.ModuleType, exported: str) -> None:
        self._refuse_module_left_behind(module)
        self.imports.append(f"from {module.__name__} import {exported}" + ("" if exported == name else f" as {name}"))

    def _refuse_module_left_behind(self, module: types.ModuleType) -> None:
        """Installed modules are on the nodes; those beside the notebook travel only with a folder of code."""
        file = getattr(module, "__file__", None)
        if file is None or module.__name__.partition(".")[0] == "gradstream" or _is_installed(Path(file)):
            return
        if self._code is None or not Path(file).resolve().is_relative_to(self._code.resolve()):
            raise InvalidWorkload(
                f"{self._cls.__name__} imports {module.__name__} from {Path(file).name}, which would not be sent; "
                "give code=FOLDER with the folder that it is in"
            )


def _source_of(value: type | types.FunctionType) -> str | None:
    """Looked up by the place of its code, as a class in a notebook has no file."""
    for function in _functions_of(value):
        file, line = function.__code__.co_filename, function.__code__.co_firstlineno
        text = "".join(linecache.getlines(file))
        if found := _definition_at(text, value.__name__, line):
            return found
    try:
        return inspect.cleandoc("\n" + inspect.getsource(value))
    except (OSError, TypeError):
        return _newest_cell(value.__name__)


def _functions_of(value: type | types.FunctionType) -> Iterator[types.FunctionType]:
    members = [value] if isinstance(value, types.FunctionType) else list(vars(value).values())
    for member in members:
        inner = inspect.unwrap(getattr(member, "__func__", None) or getattr(member, "fget", None) or member)
        if isinstance(inner, types.FunctionType) and not inner.__code__.co_filename.startswith("<string>"):
            yield inner


def _definition_at(text: str, name: str, line: int | None) -> str | None:
    """The top-level definition of this name, around the line if one is given."""
    try:
        tree = parse_module(text)
    except SyntaxError:
        return None
    for node in tree.body:
        if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) or node.name != name:
            continue
        first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
        if line is None or first <= line <= (node.end_lineno or line):
            return "\n".join(text.splitlines()[first - 1 : node.end_lineno])
    return None


def _newest_cell(name: str) -> str | None:
    """For classes without methods: the cell that was run last and defines it."""
    for file in reversed(list(linecache.cache)):
        cell = "".join(linecache.getlines(file)) if "ipython" in file or "ipykernel" in file else ""
        if found := _definition_at(cell, name, None):
            return found
    return None


def _names_used(text: str) -> list[str]:
    """Names of the module that the definition refers to, in any of its scopes."""
    found: dict[str, None] = {}
    tables = [symtable.symtable(text, "<notebook>", "exec")]
    while tables:
        table = tables.pop()
        tables += table.get_children()
        for symbol in table.get_symbols():
            outermost = table.get_type() == "module"
            if symbol.is_referenced() and (symbol.is_global() or outermost) and not hasattr(builtins, symbol.get_name()):
                found[symbol.get_name()] = None
    return list(found)


def _module_that_offers(name: str, value: Any) -> tuple[types.ModuleType, str] | None:
    """A module from which this very object can be imported, and its name there."""
    exported = getattr(value, "__qualname__", None) or getattr(value, "__name__", None) or name
    for place in ("gradstream", getattr(value, "__module__", None), type(value).__module__, "typing", "math", "torch"):
        module = sys.modules.get(place) if isinstance(place, str) and place != "__main__" else None
        for candidate in (str(exported), name):
            if module is not None and candidate.isidentifier() and getattr(module, candidate, None) is value:
                return module, candidate
    return None


def _is_constant(value: Any) -> bool:
    if isinstance(value, tuple | list | set | frozenset):
        return all(_is_constant(item) for item in value)
    if isinstance(value, dict):
        return all(_is_constant(part) for item in value.items() for part in item)
    return type(value) in _PLAIN and repr(value) not in ("nan", "inf", "-inf")


def _is_installed(file: Path) -> bool:
    places = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    here = file.resolve()
    return any(here.is_relative_to(Path(place).resolve()) for place in places if place) or "site-packages" in here.parts
