"""Errors at which a job would fail, found in the text of its code before any of it runs."""

from __future__ import annotations

import difflib
import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from gradstream.errors import Mistake
from gradstream.spec import JobSpec
from gradstream.workload_arguments import check_arguments
from gradstream.workload_source import hints
from gradstream.workload_source.annotations import UNKNOWN
from gradstream.workload_source.classes import StaticWorkload, defines, read_class
from gradstream.workload_source.files import CodeText
from gradstream.workload_source.known_metrics import unknown_metrics
from gradstream.workload_source.modules import DefinedClass, MissingName, Modules, ModuleText, OtherValue

_ENTRYPOINT = "/workload/entrypoint"
_METHODS = {
    "model": "model(self)",
    "module": "module(self)",
    "dataset": "dataset(self, split)",
    "loss": "loss(self, model, batch)",
}
_MAX_MODULES = 200
"""Most files that are searched for workloads."""
_MAX_NAMES = 10_000
"""Most names in all of them that are looked up."""


@dataclass
class CodeFindings:
    """Errors end the job at its start. Warnings are likely mistakes."""

    errors: list[Mistake] = field(default_factory=list)
    warnings: list[Mistake] = field(default_factory=list)


def check_workload(code: CodeText, spec: JobSpec) -> CodeFindings:
    """Return the conflicts between a job file and its code. Empty where the text does not settle it."""
    modules = Modules(code)
    found, problem = _find(modules, spec.workload.entrypoint)
    if problem or found is None:
        return problem or CodeFindings()
    findings = CodeFindings(warnings=list(hints.likely_mistakes(modules, found)))
    if found.arguments is None:
        return findings
    known = {each.name: Any if each.type is UNKNOWN else each.type for each in found.arguments}
    required = [each.name for each in found.arguments if each.required]
    _, findings.errors = check_arguments(found.definition.node.name, known, required, spec.workload.args)
    findings.errors += [
        Mistake(_ENTRYPOINT, f"{found.definition.node.name} has no {name}(); add `def {_METHODS[name]}`")
        for name in found.needs
        if not defines(found, name)
    ]
    findings.errors += unknown_metrics(found, spec)
    return findings


def find_workload(code: CodeText, entrypoint: str) -> StaticWorkload | None:
    """Return the workload that an entrypoint names; None where the text does not say."""
    return _find(Modules(code), entrypoint)[0]


def list_workloads(code: CodeText) -> list[StaticWorkload]:
    """Return the workload classes of the code that can be trained: those that lack no method."""
    modules = Modules(code)
    found: list[StaticWorkload] = []
    left = _MAX_NAMES
    for name in list(code.modules())[:_MAX_MODULES]:
        module = _load(modules, name)
        if module is None or (left := left - len(module.bindings)) < 0:
            continue
        for each in _workloads_of(modules, module):
            if each.definition.module is module and all(defines(each, method) for method in each.needs):
                found.append(each)
    return found


def _find(modules: Modules, entrypoint: str) -> tuple[StaticWorkload | None, CodeFindings | None]:
    """Return the workload of an entrypoint, or the errors in it; neither, where the text does not say."""
    where, _, name = entrypoint.partition(":")
    path = modules.code.path_of(where)
    if path is None:
        return None, _no_module(modules, entrypoint)
    try:
        module = modules.load(where)
    except SyntaxError as error:
        said = f"{path} cannot be read by this Python: {error.msg} (line {error.lineno} of {path})"
        return None, CodeFindings(warnings=[Mistake(_ENTRYPOINT, said)])  # the nodes may have a newer one
    if module is None:
        return None, None
    match modules.lookup(module, name):
        case DefinedClass() as found:
            read = read_class(modules, entrypoint, found)
        case MissingName(module=without) if without is module:
            return None, _refuse(_no_class(modules, module, path, name))
        case OtherValue() as other:
            read = other
        case _:
            read = None
    if isinstance(read, OtherValue):
        remedy = f"write `class {name}(gradstream.Workload)`{_offer(modules, module)}"
        return None, _refuse(f"'{name}' in {path} is {read.description}; {remedy}")
    return read, None


def _refuse(message: str) -> CodeFindings:
    return CodeFindings(errors=[Mistake(_ENTRYPOINT, message)])


def _no_module(modules: Modules, entrypoint: str) -> CodeFindings | None:
    where, _, name = entrypoint.partition(":")
    if not modules.code.whole and importlib.util.find_spec(where.partition(".")[0]) is not None:
        return None  # installed here, or a package without __init__.py
    others = list(modules.code.modules())
    close = difflib.get_close_matches(where, others, 1)
    workloads = [each.entrypoint for each in list_workloads(modules.code)]
    if same := [each for each in workloads if each.endswith(f":{name}")]:
        hint = f"did you mean '{same[0]}'?"
    elif close:
        hint = f"did you mean '{close[0]}'?"
    elif workloads:
        hint = f"its workloads are {', '.join(workloads[:5])}"
    else:
        hint = f"its modules are {', '.join(others[:10])}" if others else "there is no Python file in it"
    return _refuse(f"the code has no module '{where}'; {hint}")


def _no_class(modules: Modules, module: ModuleText, path: str, name: str) -> str:
    classes = [key for key, value in module.bindings.items() if isinstance(modules.lookup(module, key), DefinedClass) and value]
    if close := difflib.get_close_matches(name, classes, 1):
        return f"there is no class '{name}' in {path}; did you mean '{close[0]}'?"
    elsewhere = [each.entrypoint for each in list_workloads(modules.code) if each.entrypoint.endswith(f":{name}")]
    if elsewhere:
        return f"there is no class '{name}' in {path}; did you mean '{elsewhere[0]}'?"
    return f"there is no class '{name}' in {path}{_offer(modules, module) or f'; write `class {name}(gradstream.Workload)`'}"


def _offer(modules: Modules, module: ModuleText) -> str:
    names = [each.entrypoint.partition(":")[2] for each in _workloads_of(modules, module)]
    return f"; its workloads are {', '.join(names)}" if names else ""


def _workloads_of(modules: Modules, module: ModuleText) -> Iterator[StaticWorkload]:
    for name in module.bindings:
        found = modules.lookup(module, name)
        if isinstance(found, DefinedClass) and not name.startswith("_"):
            read = read_class(modules, f"{module.name}:{name}", found)
            if isinstance(read, StaticWorkload):
                yield read


def _load(modules: Modules, name: str) -> ModuleText | None:
    try:
        return modules.load(name)
    except SyntaxError:
        return None
