"""A workload class as its text describes it: what it derives from, which arguments it takes."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from gradstream.workload import Workload
from gradstream.workload_source.annotations import is_class_var, read_type, read_value
from gradstream.workload_source.attribute_help import attribute_helps
from gradstream.workload_source.modules import DefinedClass, ForeignName, Modules, OtherValue

_PLAIN = ("model", "dataset", "loss")
_WORKLOADS: dict[str, tuple[str, ...]] = {
    "gradstream.Workload": _PLAIN,
    "gradstream.workload.Workload": _PLAIN,
    "gradstream.adapters.lightning.LightningWorkload": ("module", "dataset"),
    "gradstream.adapters.transformers.TransformersWorkload": ("dataset",),
}
"""The base classes of workloads, each with the methods that it leaves to others."""
_OTHERS = {"torch", "numpy", "sklearn", "pandas"} | sys.stdlib_module_names
"""Packages whose classes are certainly no workloads."""
_OWN_RULES = {"__init__", "__new__", "__init_subclass__", "__annotations__", "__class_getitem__"}
"""Attributes of a class that takes its arguments by rules of its own."""


@dataclass(frozen=True)
class StaticArgument:
    """An annotated attribute."""

    name: str
    annotation: str
    """As it is written."""
    type: Any
    """For pydantic; UNKNOWN where it is not a simple one."""
    required: bool
    default: Any
    """UNKNOWN where there is none, or it is not a literal."""
    help: str = ""
    """The text below it in quotes, or the comment behind it."""


@dataclass(frozen=True)
class StaticWorkload:
    entrypoint: str
    summary: str
    """The first line of its docstring."""
    arguments: tuple[StaticArgument, ...] | None
    """None: the class takes them by rules of its own."""
    definition: DefinedClass
    ancestry: tuple[DefinedClass, ...]
    """The class and those of its bases that are in this code, in the order in which attributes are looked up."""
    needs: tuple[str, ...] = _PLAIN
    """Methods that the class must have."""

    @property
    def is_adapter(self) -> bool:
        """Its base brings a model, a loss and an `evaluate` of its own."""
        return self.needs != _PLAIN


@dataclass
class _Ancestry:
    classes: list[DefinedClass] = field(default_factory=list)
    needs: tuple[str, ...] | None = None
    """None: it is no workload, as far as is known."""
    unknown: bool = False
    """There is a base, or a metaclass, of which nothing is known."""


def read_class(modules: Modules, entrypoint: str, found: DefinedClass) -> StaticWorkload | OtherValue | None:
    """The workload that a class is; OtherValue: it is certainly none; None: the text does not say."""
    ancestry = _Ancestry()
    _climb(modules, found, ancestry, depth=20)
    if ancestry.needs is None:
        return None if ancestry.unknown else OtherValue("a class that is no Workload")
    classes = tuple(dict.fromkeys(reversed(ancestry.classes)))[::-1]  # a shared base counts where it stands last
    by_rules = ancestry.unknown or any(_has_own_rules(each.node) for each in classes)
    arguments = None if by_rules else tuple(_arguments(modules, classes))
    summary = (ast.get_docstring(found.node) or "").partition("\n")[0]
    return StaticWorkload(entrypoint, summary, arguments, found, classes, ancestry.needs)


def _climb(modules: Modules, found: DefinedClass, into: _Ancestry, depth: int) -> None:
    """Add a class and its bases."""
    node = found.node
    into.classes.append(found)
    into.unknown |= depth <= 0 or bool(node.keywords or node.decorator_list)
    for base in node.bases if depth > 0 else []:
        inner = base.value if isinstance(base, ast.Subscript) else base  # Generic[T]
        match modules.resolve(found.module, inner):
            case DefinedClass() as other:
                _climb(modules, other, into, depth - 1)
            case ForeignName(dotted=name) if name in _WORKLOADS:
                into.needs = _WORKLOADS[name]
            case ForeignName(dotted=name) if name.partition(".")[0] in _OTHERS:
                pass
            case _:
                into.unknown = True


def _has_own_rules(node: ast.ClassDef) -> bool:
    bound = {name for name, _ in _attributes(node)}
    nested = any(isinstance(each, ast.If | ast.For | ast.While | ast.With | ast.Try | ast.Match) for each in node.body)
    return nested or bool(bound & _OWN_RULES)


def _attributes(node: ast.ClassDef) -> Iterator[tuple[str, ast.stmt]]:
    """Yield the names that the body of a class binds, each with its statement."""
    for statement in node.body:
        match statement:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name, statement
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield name, statement
            case ast.Assign(targets=targets):
                for target in targets:
                    for each in ast.walk(target):
                        if isinstance(each, ast.Name):
                            yield each.id, statement


def _arguments(modules: Modules, classes: tuple[DefinedClass, ...]) -> Iterator[StaticArgument]:
    """Yield the arguments, those of the bases first, in the order of `gradstream.workload.arguments`."""
    annotations: dict[str, tuple[DefinedClass, ast.expr]] = {}
    values: dict[str, ast.expr | None] = {}
    helps: dict[str, str] = {}
    for each in reversed(classes):
        helps |= attribute_helps(each.node, each.module.lines)
        for name, statement in _attributes(each.node):
            if isinstance(statement, ast.AnnAssign):
                annotations[name] = each, statement.annotation
            if not isinstance(statement, ast.AnnAssign):
                plain = isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)
                values[name] = statement.value if isinstance(statement, ast.Assign) and plain else None
            elif statement.value is not None:
                values[name] = statement.value
    for name, (owner, annotation) in annotations.items():
        if not name.startswith("_") and not is_class_var(modules, owner.module, annotation):
            yield StaticArgument(
                name,
                ast.unparse(annotation),
                read_type(modules, owner.module, annotation),
                required=name not in values and not hasattr(Workload, name),
                default=read_value(values.get(name)),
                help=helps.get(name, ""),
            )


def defines(found: StaticWorkload, name: str) -> bool:
    """Return whether the class or a base of this code binds the attribute; true where that is not known."""
    return found.arguments is None or any(name == bound for each in found.ancestry for bound, _ in _attributes(each.node))


def value_of(found: StaticWorkload, name: str) -> ast.expr | None:
    """The value that a plain assignment gives an attribute of the class; None: it is annotated, so that a job file may set it, or
    it is bound in another way."""
    for each in found.ancestry:
        if bindings := [statement for bound, statement in _attributes(each.node) if bound == name]:
            last = bindings[-1]
            return last.value if isinstance(last, ast.Assign) and isinstance(last.targets[0], ast.Name) else None
    return None


def method_of(found: StaticWorkload, name: str) -> tuple[DefinedClass, ast.FunctionDef] | None:
    """The method that a call of this name reaches, with the class that it stands in."""
    for each in found.ancestry:
        if bindings := [statement for bound, statement in _attributes(each.node) if bound == name]:
            return (each, bindings[-1]) if isinstance(bindings[-1], ast.FunctionDef) else None
    return None
