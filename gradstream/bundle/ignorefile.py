"""Lines in the syntax of .gitignore, and which of them says what of a path."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Self

from gradstream.bundle.rules import IGNORE_FILE
from gradstream.errors import InvalidBundle

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


class IgnoreFile:
    """Paths are relative to the folder of the file; those of folders end with `/`."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = [line.rstrip() for line in lines if line.strip() and not line.startswith("#")]
        self._spec: GitIgnoreSpec | None = None
        self._takes_in = [line[1:].lstrip("/") for line in self._lines if line.startswith("!")]

    @classmethod
    def of_folder(cls, folder: Path) -> Self:
        """Raises: InvalidBundle: it cannot be read."""
        file = folder / IGNORE_FILE
        try:
            return cls(file.read_text(encoding="utf-8").splitlines() if file.is_file() else ())
        except (OSError, ValueError) as error:
            raise InvalidBundle(f"{file} cannot be read: {error}") from error

    def lists(self, path: str) -> bool:
        """Return whether it leaves this out."""
        return self._find(path)[0] is True

    def takes(self, path: str) -> bool:
        """Return whether a `!pattern` takes this in."""
        return self._find(path)[0] is False

    def names(self, path: str) -> bool:
        """Return whether a `!pattern` without a wildcard takes this in: somebody has thought of this very file or folder."""
        takes, line = self._find(path)
        return takes is False and not set("*?[") & set(line)

    def may_take_from(self, folder: str) -> bool:
        """Return whether a `!pattern` speaks of something deeper in this folder."""
        return any(line.startswith(folder) and line != folder for line in self._takes_in)

    def _find(self, path: str) -> tuple[bool | None, str]:
        """True: left out, False: taken in, None: it says nothing; and the line that decides."""
        from pathspec import GitIgnoreSpec

        if not self._lines:
            return None, ""
        if self._spec is None:
            try:
                self._spec = GitIgnoreSpec.from_lines(self._lines)
            except ValueError as error:
                raise InvalidBundle(f"{IGNORE_FILE}: {error}") from error
        found = self._spec.check_file(path)
        return found.include, "" if found.index is None else self._lines[found.index]
