"""Names of a new project: one word names the job, the module and the class, so it must suit all three."""

from __future__ import annotations

import keyword
import re
import sys
from importlib.machinery import PathFinder
from pathlib import Path

from gradstream.errors import Invalid
from gradstream.spec.values import MAX_NAME, NAME

_USED = frozenset({"Dataset", "TensorDataset", "Workload"})
"""Classes that the template's module imports."""


def module_of(name: str) -> str:
    return re.sub(r"[.-]", "_", name)


def class_of(name: str) -> str:
    """`my-digits` -> `MyDigits`"""
    joined = "".join(part.capitalize() for part in re.split(r"[._-]", name))
    return f"{joined}Job" if joined in _USED or keyword.iskeyword(joined) else joined


def check_name(name: str, folder: Path, *, given: bool) -> None:
    """`folder`: where the module will lie. `given`: with --name; else `name` is the folder's. Raises: Invalid."""
    wrong = _what_is_wrong(name, folder)
    if wrong:
        remedy = f"write --name {_similar(name, folder)}" if given else f"add --name {_similar(name, folder)}"
        raise Invalid(f"{'--name' if given else 'FOLDER'}: {name!r} {wrong}; {remedy}")


def _what_is_wrong(name: str, folder: Path) -> str | None:
    if not re.fullmatch(NAME, name):
        return "cannot name a job: use lower-case letters and digits, and '.', '_' or '-' between them"
    if len(name) > MAX_NAME:
        return f"has {len(name)} characters; a job's name has at most {MAX_NAME}"
    module = module_of(name)
    if not module.isidentifier() or keyword.iskeyword(module):
        return f"cannot name a Python module: `import {module}` is not valid Python"
    if module in sys.stdlib_module_names or module == "conftest" or _is_installed(module, folder):
        return f"would hide another module: Python, pytest or a package here has one named {module}"
    return None


def _is_installed(module: str, folder: Path) -> bool:
    """Return whether Python finds a module of this name elsewhere. A folder without code does not count: it hides nothing."""
    own = (Path.cwd(), folder.resolve())
    elsewhere = [entry for entry in sys.path if entry and Path(entry).resolve() not in own]
    found = PathFinder.find_spec(module, elsewhere)
    return module == "gradstream" or (found is not None and found.origin is not None)


def _similar(name: str, folder: Path) -> str:
    """A valid name, like this one as far as its letters allow it."""
    plain = re.sub(r"[^a-z0-9._-]+", "-", name.lower()).strip("._-")[: MAX_NAME - len("-job")].rstrip("._-")
    return next((each for each in (plain, f"{plain}-job", f"job-{plain}") if not _what_is_wrong(each, folder)), "my-project")
