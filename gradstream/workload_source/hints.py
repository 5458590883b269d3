"""Likely mistakes that the text of a workload shows: each is a warning, as what runs may differ from how it looks."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

from gradstream.errors import Mistake
from gradstream.workload_source.annotations import UNKNOWN, read_value
from gradstream.workload_source.classes import StaticWorkload, method_of
from gradstream.workload_source.modules import DefinedClass, ForeignName, Modules, ModuleText

_ENTRYPOINT = "/workload/entrypoint"
_LOADERS = {"torch.utils.data.DataLoader", "torch.utils.data.dataloader.DataLoader"}
_READERS = {
    "builtins.open",
    "torch.load",
    "numpy.load",
    "numpy.loadtxt",
    "numpy.genfromtxt",
    "numpy.memmap",
    "pandas.read_csv",
    "pandas.read_parquet",
    "pandas.read_json",
    "pandas.read_pickle",
}
"""Functions that read the file of their first argument."""


def likely_mistakes(modules: Modules, found: StaticWorkload) -> Iterator[Mistake]:
    """Sentences with the file's line."""
    for name, look in (("dataset", _of_dataset), ("loss", _of_loss)):
        if method := method_of(found, name):
            owner, node = method
            returns, known = _read_body(node)
            for each in returns:
                returned = known.get(each.id, each) if isinstance(each, ast.Name) else each
                if said := look(modules, owner, returned, known):
                    yield _at(modules, owner.module, returned, said)
    for module in dict.fromkeys(each.module.name for each in found.ancestry):
        if loaded := modules.load(module):
            yield from _missing_files(modules, loaded)


def _of_dataset(modules: Modules, owner: DefinedClass, returned: ast.expr, _known: Mapping[str, ast.expr]) -> str | None:
    if isinstance(returned, ast.Call) and _name_of(modules, owner.module, returned.func) in _LOADERS:
        return "dataset() returns a DataLoader; return the Dataset itself: the platform makes the mini-batches"
    repeated = returned.left if isinstance(returned, ast.BinOp) and isinstance(returned.op, ast.Mult) else returned
    items = read_value(repeated)
    if isinstance(items, list | tuple) and items and all(isinstance(item, str) for item in items):
        return "dataset() returns a list of texts; return a Dataset whose items are tensors or numbers, such as (input, label)"
    return None


def _of_loss(modules: Modules, owner: DefinedClass, returned: ast.expr, known: Mapping[str, ast.expr]) -> str | None:
    if not isinstance(returned, ast.Call):
        return None
    match "sum" if _sums(modules, owner.module, returned, known) else _reduction(returned, known):
        case "sum":
            return (
                "loss() returns a sum over the mini-batch, so the learning rate that fits depends on batch_size; return the mean "
                '(reduction="mean")'
            )
        case "none":
            return 'loss() returns one value for each example; return their mean (reduction="mean")'
    return None


def _sums(modules: Modules, module: ModuleText, call: ast.Call, known: Mapping[str, ast.expr]) -> bool:
    """Return whether it is `errors.sum()` or `torch.sum(errors)`, over all dimensions, but not of stacked terms or of one mean."""
    if call.keywords or not isinstance(call.func, ast.Attribute) or call.func.attr != "sum":
        return False
    by_function = _name_of(modules, module, call.func) == "torch.sum"
    if len(call.args) != by_function:
        return False
    summed = call.args[0] if by_function else call.func.value
    summed = known.get(summed.id, summed) if isinstance(summed, ast.Name) else summed
    if not isinstance(summed, ast.Call):
        return True
    name = _name_of(modules, module, summed.func) or ""
    return name != "torch.stack" and (not name.startswith("torch.nn.functional.") or _reduction(summed, known) == "none")


def _reduction(call: ast.Call, known: Mapping[str, ast.expr]) -> object:
    """Return the reduction of a PyTorch loss: of a function like `F.mse_loss(a, b, reduction="sum")`, or of a module like
    `nn.MSELoss(reduction="sum")` that is called where it is made or by its name. UNKNOWN: the text does not say."""
    made = known.get(call.func.id) if isinstance(call.func, ast.Name) else call.func
    given = [*call.keywords, *(made.keywords if isinstance(made, ast.Call) else [])]
    values = {keyword.arg: read_value(keyword.value) for keyword in given}
    if values.get("reduce") is False:
        return "none"
    return "sum" if values.get("size_average") is False else values.get("reduction", UNKNOWN)


def _read_body(node: ast.FunctionDef) -> tuple[list[ast.expr], dict[str, ast.expr]]:
    """Return the function's own return values, not those of nested ones, and the values of names that it assigns once, or to which
    it adds from zero in one place, as a loop does."""
    assigned: dict[str, list[ast.Assign | ast.AugAssign]] = {}
    returns: list[ast.expr] = []
    stack: list[ast.AST] = list(node.body)
    while stack:
        each = stack.pop(0)
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            continue
        if isinstance(each, ast.Assign) and isinstance(each.targets[0], ast.Name):
            assigned.setdefault(each.targets[0].id, []).append(each)
        elif isinstance(each, ast.AugAssign) and isinstance(each.target, ast.Name):
            assigned.setdefault(each.target.id, []).append(each)
        elif isinstance(each, ast.Return) and each.value:
            returns.append(each.value)
        stack.extend(ast.iter_child_nodes(each))
    values = {name: _only_value(statements) for name, statements in assigned.items()}
    return returns, {name: value for name, value in values.items() if value}


def _only_value(statements: list[ast.Assign | ast.AugAssign]) -> ast.expr | None:
    match statements:
        case [one]:
            return one.value
        case [ast.Assign(value=ast.Constant(value=0)), ast.AugAssign(op=ast.Add(), value=value)]:
            return value
    return None


def _missing_files(modules: Modules, module: ModuleText) -> Iterator[Mistake]:
    """Files that are opened by a relative path and are not among the code."""
    if not modules.code.whole:
        return
    for node in ast.walk(module.tree):
        if not isinstance(node, ast.Call) or not node.args or _name_of(modules, module, node.func) not in _READERS:
            continue
        path, mode = read_value(node.args[0]), read_value(node.args[1]) if len(node.args) > 1 else "r"
        if not isinstance(path, str) or "://" in path or PurePosixPath(path).is_absolute() or not _reads(node, mode):
            continue
        if not modules.code.has(PurePosixPath(path).as_posix()):
            said = f"the file '{path}' is not among the code, so the job will not find it; give an absolute path in workload.args"
            yield _at(modules, module, node, said)


def _reads(node: ast.Call, mode: object) -> bool:
    keyword = next((read_value(each.value) for each in node.keywords if each.arg == "mode"), mode)
    return not (isinstance(keyword, str) and set(keyword) & set("wax"))


def _name_of(modules: Modules, module: ModuleText, node: ast.expr) -> str | None:
    found = modules.resolve(module, node)
    return found.dotted if isinstance(found, ForeignName) else None


def _at(modules: Modules, module: ModuleText, node: ast.expr, said: str) -> Mistake:
    return Mistake(_ENTRYPOINT, f"{said} (line {node.lineno} of {modules.code.path_of(module.name)})")
