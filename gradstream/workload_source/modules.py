"""One module's names: what each stands for after an import, as far as its text says."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from gradstream.workload_source.files import CodeText
from gradstream.workload_source.parsing import parse_module

MAX_STEPS = 20
"""Imports that one name is followed through."""
MAX_PARSED = 150_000
"""Separators in the text of all modules of some code that are parsed, about 1 MiB of what people write. The rest is as good as
unknown: anyone may upload code, and a text of nothing but `a,a,a` or `{a}{a}` takes Python seconds."""
_SEPARATORS = ",;.()[]{}:=+-*/%&|^<>@\n"
_LINE_END = re.compile(r"\r\n?|\n")
_DYNAMIC = {"exec", "globals", "locals", "vars", "setattr", "import_module", "__import__"}
"""Calls by which a module can get names, or a class attributes, that its text does not show."""


@dataclass(frozen=True)
class ImportedName:
    module: str
    name: str | None
    """None: the module itself."""


@dataclass(frozen=True)
class ForeignName:
    """Something outside of the code, by its dotted name: `torch.nn.Module`."""

    dotted: str


@dataclass(frozen=True)
class DefinedClass:
    module: ModuleText
    node: ast.ClassDef


@dataclass(frozen=True)
class OtherValue:
    """Certainly no class."""

    description: str


@dataclass(frozen=True)
class MissingName:
    module: ModuleText


Binding = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef | ast.expr | ImportedName | None
"""Binding of a name; None: it cannot be followed."""
Resolved = DefinedClass | ForeignName | OtherValue | MissingName | None
"""None: the text does not say."""


@dataclass(eq=False)
class ModuleText:
    name: str
    package: bool
    tree: ast.Module
    text: str = ""
    bindings: dict[str, Binding] = field(default_factory=dict)
    """The last binding of each name; None also where it depends on a condition."""
    stars: list[str] = field(default_factory=list)
    """Modules of which all names are imported."""
    dynamic: bool = False
    """It may have names that its text does not show."""

    @cached_property
    def lines(self) -> list[str]:
        """Lines as Python counts them."""
        return _LINE_END.split(self.text)


class Modules:
    """The modules of some code, parsed at most once each."""

    def __init__(self, code: CodeText) -> None:
        self.code = code
        self._parsed: dict[str, ModuleText | None] = {}
        self._left = MAX_PARSED

    def load(self, name: str) -> ModuleText | None:
        """None: it is not in this code, or cannot be read. Raises: SyntaxError."""
        if name not in self._parsed:
            self._parsed[name] = self._load(name)
        return self._parsed[name]

    def _load(self, name: str) -> ModuleText | None:
        path = self.code.path_of(name)
        text = self.code.read(path) if path else None
        if path is None or text is None or (effort := _effort(text)) > self._left:
            return None
        self._left -= effort
        try:
            tree = parse_module(text)
        except (ValueError, RecursionError, MemoryError):  # a NUL; nested beyond what any author writes
            return None
        module = ModuleText(name, path.endswith("__init__.py"), tree, text)
        _collect(module, tree.body, certain=True)
        _notice_dynamic(module)
        return module

    def resolve(self, module: ModuleText, expression: ast.expr, steps: int = MAX_STEPS) -> Resolved:
        """Resolve an expression like `Base` or `torch.nn.Module` in this module."""
        match expression:
            case ast.Name(id=name):
                return self.lookup(module, name, steps)
            case ast.Attribute(value=value, attr=attr):
                return self._attribute(module, value, attr, steps)
            case ast.Constant() | ast.List() | ast.Dict() | ast.Tuple() | ast.Set() | ast.Lambda():
                return OtherValue("a value")
        return None

    def lookup(self, module: ModuleText, name: str, steps: int = MAX_STEPS) -> Resolved:
        """Resolve a name at the end of the module's import."""
        if steps <= 0:
            return None
        if name in module.bindings:
            return self._bound(module, module.bindings[name], steps - 1)
        for star in reversed(module.stars):
            inner = self._try(star)
            if inner is None:
                return None
            if not isinstance(found := self.lookup(inner, name, steps - 1), MissingName):
                return found if not name.startswith("_") else None
        if module.dynamic:
            return None
        return ForeignName(f"builtins.{name}") if hasattr(builtins, name) else MissingName(module)

    def _bound(self, module: ModuleText, binding: Binding, steps: int) -> Resolved:
        match binding:
            case ast.ClassDef():
                return DefinedClass(module, binding)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                return None if binding.decorator_list else OtherValue("a function")
            case ImportedName(module=origin, name=None):
                return ForeignName(origin)
            case ImportedName(module=origin, name=str(name)):
                return self._member(origin, name, steps)
            case ast.expr():
                return self.resolve(module, binding, steps)
        return None

    def _member(self, origin: str, name: str, steps: int) -> Resolved:
        """A name of another module, which may itself be a module."""
        inner = self._try(origin)
        if inner is None:
            return None if self._is_here(origin) else ForeignName(f"{origin}.{name}")
        found = self.lookup(inner, name, steps)
        if isinstance(found, MissingName) or (isinstance(found, ForeignName) and found.dotted == f"builtins.{name}"):
            return ForeignName(f"{origin}.{name}") if self.code.path_of(f"{origin}.{name}") else found
        return found

    def _attribute(self, module: ModuleText, value: ast.expr, attr: str, steps: int) -> Resolved:
        owner = self.resolve(module, value, steps - 1) if steps > 0 else None
        return self._member(owner.dotted, attr, steps - 1) if isinstance(owner, ForeignName) else None

    def _try(self, name: str) -> ModuleText | None:
        try:
            return self.load(name)
        except SyntaxError:
            return None

    def _is_here(self, name: str) -> bool:
        """It, or a package around it, is a part of this code, so that its names are not those of an installed one."""
        root = name.partition(".")[0]
        return self.code.path_of(root) is not None or any(path.startswith(f"{root}/") for path in self.code.listed)


def _effort(text: str) -> int:
    """About how many separators Python will parse. Each field of an f-string may read the whole string again."""
    return sum(map(text.count, _SEPARATORS)) + text.count("{") * len(text) // 20_000


def _collect(module: ModuleText, body: Iterable[ast.stmt], certain: bool) -> None:
    """Bind what these statements bind; names of statements that may not run are not certain."""
    for statement in body:
        match statement:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                module.bindings[name] = statement if certain else None
            case ast.Import(names=names):
                for alias in names:
                    target, origin = (alias.asname, alias.name) if alias.asname else (alias.name.partition(".")[0],) * 2
                    module.bindings[target] = ImportedName(origin, None) if certain else None
            case ast.ImportFrom(names=names):
                _collect_from(module, statement, certain)
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ):
                module.bindings[name] = value if certain else None
            case ast.If(test=test) if _is_main(test):
                continue  # does not run when it is imported
            case _:
                for name in _stored(statement):
                    module.bindings[name] = None
                for inner in _blocks(statement):
                    _collect(module, inner, certain=False)


def _collect_from(module: ModuleText, statement: ast.ImportFrom, certain: bool) -> None:
    origin = _absolute(module, statement)
    for alias in statement.names:
        if alias.name != "*":
            module.bindings[alias.asname or alias.name] = ImportedName(origin, alias.name) if certain and origin else None
        elif origin and certain:
            module.stars.append(origin)
        else:
            module.dynamic = True


def _absolute(module: ModuleText, statement: ast.ImportFrom) -> str | None:
    if not statement.level:
        return statement.module
    parts = module.name.split(".")
    kept = len(parts) - statement.level + (1 if module.package else 0)
    return ".".join([*parts[:kept], *([statement.module] if statement.module else [])]) if kept > 0 else None


def _is_main(test: ast.expr) -> bool:
    return isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and test.left.id == "__name__"


def _stored(statement: ast.stmt) -> Iterator[str]:
    """Names that a statement binds in other ways: in loops, tuples, `with`, `del`, `:=`."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
            yield node.id
        elif isinstance(node, ast.ExceptHandler) and node.name:
            yield node.name


def _blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        if isinstance(inner := getattr(statement, name, None), list):
            yield inner
    for name in ("handlers", "cases"):
        for part in getattr(statement, name, []):
            yield part.body


def _notice_dynamic(module: ModuleText) -> None:
    module.dynamic |= "__getattr__" in module.bindings
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Global):
            module.bindings.update(dict.fromkeys(node.names))
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name):
            if isinstance(module.bindings.get(node.value.id), ast.ClassDef):
                module.bindings[node.value.id] = None  # an attribute of the class is set from outside
        elif isinstance(node, ast.Name | ast.Attribute):
            module.dynamic |= (node.id if isinstance(node, ast.Name) else node.attr) in _DYNAMIC
