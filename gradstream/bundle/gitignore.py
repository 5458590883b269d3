"""The paths that version control ignores, read from its files: this needs neither git nor its index."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

_NAME = ".gitignore"
_CORE = re.compile(r"^\s*\[core\](.*?)(?=^\s*\[|\Z)", re.MULTILINE | re.DOTALL | re.IGNORECASE)
_EXCLUDES_FILE = re.compile(r"^\s*excludesfile\s*=\s*\"?([^\"#;\n]+)", re.MULTILINE | re.IGNORECASE)


class GitIgnored:
    """The .gitignore files of a folder, of the folders in it, and of its parents up to the root of the repository; beneath them
    the excludes of the repository and of the user.

    A folder that its parents ignore, but that the user named, is meant: then their rules do not count for its contents."""

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()
        self._rules: list[tuple[Path, str, GitIgnoreSpec]] = []
        """Base folder, name of the file, and its rules; the last rule that matches decides."""
        self._seen: set[Path] = set()
        repository = next((folder for folder in (self._root, *self._root.parents) if (folder / ".git").exists()), None)
        self._add(repository or self._root, "", _file_of_the_user(repository))
        if repository and repository != self._root:
            self._add(repository, ".git/info/exclude", _exclude_file(repository))
            for folder in reversed([each for each in self._root.parents if each.is_relative_to(repository)]):
                self._add(folder, _NAME, folder / _NAME)
            if self._says(self._root, is_folder=True):
                self._rules.clear()
        elif repository:
            self._add(repository, ".git/info/exclude", _exclude_file(repository))
        self.enter(self._root)

    def enter(self, folder: Path) -> None:
        """Read the rules of a folder; call it before `reason` for its entries."""
        if folder not in self._seen:
            self._seen.add(folder)
            self._add(folder, _NAME, folder / _NAME)

    def reason(self, path: str, *, is_folder: bool) -> str | None:
        """Return `listed in .gitignore` for a path relative to the root; None: it is not ignored."""
        where = self._says(self._root / path, is_folder=is_folder)
        return f"listed in {where}" if where else None

    def _says(self, path: Path, *, is_folder: bool) -> str | None:
        for base, where, rules in reversed(self._rules):
            if path.is_relative_to(base) and path != base:
                found = rules.check_file(path.relative_to(base).as_posix() + ("/" if is_folder else ""))
                if found.include is not None:
                    return where if found.include else None
        return None

    def _add(self, base: Path, where: str, file: Path) -> None:
        from pathspec import GitIgnoreSpec

        if lines := list(_lines(file)):
            inside = base.relative_to(self._root).as_posix() if base.is_relative_to(self._root) else str(base)
            named = str(file) if not where else where if inside == "." else f"{inside}/{where}"
            self._rules.append((base, named, GitIgnoreSpec.from_lines(_valid(lines))))


def _lines(file: Path) -> Iterator[str]:
    try:
        yield from file.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return  # it is not there, or not for us


def _valid(lines: Iterable[str]) -> Iterator[str]:
    """Return the lines without those that git would skip, too."""
    from pathspec import GitIgnoreSpec

    for line in lines:
        try:
            GitIgnoreSpec.from_lines([line])
        except ValueError:
            continue
        yield line


def _exclude_file(repository: Path) -> Path:
    """Return the path of `info/exclude`; a worktree's is in its main repository."""
    return _common_folder(repository) / "info" / "exclude"


def _common_folder(repository: Path) -> Path:
    git = repository / ".git"
    if git.is_file():
        git = repository / "".join(_lines(git)).removeprefix("gitdir:").strip()
        git = git / "".join(_lines(git / "commondir"))
    return git


def _file_of_the_user(repository: Path | None) -> Path:
    """Return the path of the ignore file for all repositories of this user: `core.excludesFile`, or where git looks else."""
    home = Path(os.path.expanduser("~"))
    ours = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config") / "git"
    configs = [_common_folder(repository) / "config"] if repository else []
    for config in (*configs, home / ".gitconfig", ours / "config"):
        text = "\n".join(_lines(config))
        named = [match[1].strip() for core in _CORE.finditer(text) for match in _EXCLUDES_FILE.finditer(core[1])]
        if named:
            return (repository or home) / os.path.expanduser(named[-1])
    return ours / "ignore"
