"""The text of the Python files of a bundle or a folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from gradstream.bundle.reading import read_files
from gradstream.errors import InvalidBundle

MAX_FILE = 512 * 1024
"""Bytes of one file that is read; a longer one is as good as unknown."""
MAX_TOTAL = 4 * 1024 * 1024
"""Bytes of all files of an archive that are read."""


@dataclass(frozen=True)
class CodeText:
    """Python files by their path from the code's root, each read when it is asked for."""

    listed: frozenset[str]
    """Paths of all files; of a folder, only those of its top level, as a home folder may hold millions."""
    has: Callable[[str], bool]
    """True if there is a file at this path."""
    read: Callable[[str], str | None]
    """The text of a file; None where it is too long or no UTF-8."""
    whole: bool
    """The job finds nothing but this; else a module that is missing here may be installed."""

    def path_of(self, module: str) -> str | None:
        """The file of a dotted module name; a package comes before a module of the same name, as for Python."""
        stem = module.replace(".", "/")
        return next((path for path in (f"{stem}/__init__.py", f"{stem}.py") if self.has(path)), None)

    def modules(self) -> Iterator[str]:
        """Dotted names of the listed modules, the outer ones first."""
        for path in sorted((path for path in self.listed if path.endswith(".py")), key=lambda path: (path.count("/"), path)):
            parts = PurePosixPath(path).with_suffix("").parts
            parts = parts[:-1] if parts[-1] == "__init__" else parts
            if parts and all(part.isidentifier() for part in parts):
                yield ".".join(parts)


def read_folder(path: Path, *, whole: bool) -> CodeText:
    """A folder of code, or one file. `whole`: the job gets nothing but that; else it is first on the path of its processes."""
    folder = path if path.is_dir() else path.parent
    listed = frozenset([path.name] if path.is_file() else (each.name for each in folder.glob("*.py")))

    def has(name: str) -> bool:
        return name in listed if path.is_file() and whole else (folder / name).is_file()

    def read(name: str) -> str | None:
        file = folder / name
        return _decoded(lambda: file.read_bytes() if file.stat().st_size <= MAX_FILE else None)

    return CodeText(listed, has, read, whole)


def read_archive(data: bytes) -> CodeText:
    """A bundle, which was packed or inspected before: see `gradstream.bundle`."""
    texts: dict[str, bytes] = {}
    paths: set[str] = set()
    left = MAX_TOTAL
    try:
        for path, file in read_files(data):
            paths.add(path)
            if path.endswith(".py") and file.size <= min(MAX_FILE, left):
                texts[path] = file.read(file.size)
                left -= file.size
    except InvalidBundle:
        return CodeText(frozenset(), lambda path: False, lambda path: None, whole=False)  # `bundle.inspect` says why
    listed = frozenset(paths)
    return CodeText(listed, listed.__contains__, lambda path: _decoded(lambda: texts.get(path)), whole=True)


def read_texts(texts: Mapping[str, str | None]) -> CodeText:
    """All files of some code by their path, with the text of those that are Python."""
    listed = frozenset(texts)

    def read(path: str) -> str | None:
        text = texts.get(path)
        return text if text is not None and len(text) <= MAX_FILE else None

    return CodeText(listed, listed.__contains__, read, whole=True)


def _decoded(load: Callable[[], bytes | None]) -> str | None:
    try:
        data = load()
        return None if data is None else data.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return None
