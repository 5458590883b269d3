"""A bundle as a value: its bytes, the files in it, and what was left out when it was packed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from gradstream.bundle.limits import MIB as MIB
from gradstream.bundle.rules import IGNORE_FILE
from gradstream.errors import InvalidBundle

CONTROL = re.compile(r"[\x00-\x1f\x7f\\\ud800-\udfff]")

Why = Literal["credentials", "listed", "version control", "dot file", "output", "cache", "link"]


@dataclass(frozen=True, slots=True)
class ArchivedFile:
    path: str
    """Relative to the bundle's root, with `/` between its parts."""
    size: int
    warning: str | None = None
    """Why it looks like a credential, where it does."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A file, or a folder with all that is in it (its path ends with `/`)."""

    path: str
    why: Why
    reason: str
    """For a person, after `left out because it is` ...: `listed in .gitignore`."""


@dataclass(frozen=True, slots=True)
class Bundle:
    data: bytes
    hash: str
    """sha256 of `data`, in hex."""
    files: tuple[ArchivedFile, ...]
    left_out: tuple[LeftOut, ...] = ()
    """Files of the packed folder that are not in the bundle."""

    @property
    def unpacked(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files)

    def holds(self, entrypoint: str) -> bool:
        """Return whether the module of `module:Class` is among the files."""
        paths = {file.path for file in self.files}
        return any(path in paths for path in module_paths(entrypoint))

    def require(self, entrypoint: str) -> None:
        """Raises: InvalidBundle: the module of `module:Class` is not among the files; with the reason where it was left out."""
        if self.holds(entrypoint):
            return
        module, wanted = entrypoint.partition(":")[0], module_paths(entrypoint)
        for each in self.left_out:
            if any(path.startswith(each.path) for path in wanted):
                said = f"workload.entrypoint names the module '{module}', which is left out: {each.path} is {each.reason}"
                raise InvalidBundle(f"{said}; take it in by a line `!{each.path}` in {IGNORE_FILE}")
        names = ", ".join(file.path for file in self.files[:10])
        raise InvalidBundle(f"workload.entrypoint names the module '{module}', which is not in the code; its files: {names}")


def module_paths(entrypoint: str) -> tuple[str, str]:
    """Where the module of `module:Class` may lie."""
    module = entrypoint.partition(":")[0].replace(".", "/")
    return f"{module}.py", f"{module}/__init__.py"
