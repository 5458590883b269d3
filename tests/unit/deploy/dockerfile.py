"""A Dockerfile as stages of instructions, and what .dockerignore keeps from its builder."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath


@dataclass
class Stage:
    name: str
    base: str
    instructions: list[tuple[str, str]] = field(default_factory=list)

    def of(self, kind: str) -> list[str]:
        return [value for name, value in self.instructions if name == kind]

    def copies(self) -> list[tuple[str | None, list[str]]]:
        """Of each COPY: the stage that it takes from (None: the build context), and its sources."""
        found = []
        for value in self.of("COPY"):
            words = shlex.split(value)
            stage = next((word.removeprefix("--from=") for word in words if word.startswith("--from=")), None)
            found.append((stage, [word for word in words if not word.startswith("--")][:-1]))
        return found


def stages(path: Path) -> dict[str, Stage]:
    found: dict[str, Stage] = {}
    text = re.sub(r"^#.*\n", "", path.read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    for line in filter(None, map(str.strip, text.splitlines())):
        kind, _, value = line.partition(" ")
        if kind == "FROM":
            base, _, name = value.partition(" AS ")
            found[name] = stage = Stage(name, base)
        elif found:
            stage.instructions.append((kind, value))
    return found


def lineage(found: dict[str, Stage], name: str) -> list[Stage]:
    """The stage and those that it is built on, the first one first."""
    stage = found[name]
    return [*(lineage(found, stage.base) if stage.base in found else []), stage]


def ignored(ignore_file: Path, path: str) -> bool:
    """Whether the builder does not get `path`: the last pattern decides that fits it or a folder that it lies in."""
    places = [PurePosixPath(path), *PurePosixPath(path).parents][:-1]
    out = False
    for line in ignore_file.read_text().splitlines():
        pattern = line.strip().removeprefix("!")
        if pattern and not pattern.startswith("#") and any(_fits(place, pattern) for place in places):
            out = not line.startswith("!")
    return out


def _fits(place: PurePosixPath, pattern: str) -> bool:
    if pattern.startswith("**/"):
        return fnmatchcase(place.name, pattern[3:])
    parts = PurePosixPath(pattern).parts
    return len(parts) == len(place.parts) and all(map(fnmatchcase, place.parts, parts))
