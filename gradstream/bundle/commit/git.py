"""The commit that a folder of code stands at. The files of the repository say it, so git need not be installed; only in which files
the code differs from that commit, and their committed contents, are asked from git."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

COMMIT = r"^(?:[0-9a-f]{40}|[0-9a-f]{64})$"
_GIT_TIMEOUT = 2.0
"""Seconds that a command of git may take in a large repository."""
Change = Literal["added", "removed", "changed"]
_MAX_LINKS = 5
"""Symbolic references that may lead to one another, as in git itself."""
_MAX_BYTES = 1 << 24
"""Largest file of the repository that is read; 16 MiB of packed references are some 200,000."""


@dataclass(frozen=True, slots=True)
class Repository:
    root: Path
    """The folder of the working tree."""
    own: Path
    """Where HEAD is: `.git`, or the folder of this worktree or submodule."""
    common: Path
    """Where the branches are, for all worktrees."""


@dataclass(frozen=True, slots=True)
class Head:
    commit: str | None
    """None: there is no commit yet, or its name is stored in a way that is not known here."""
    branch: str | None
    """None: detached."""


def find_repository(folder: Path) -> Repository | None:
    """The repository that `folder` is in. None: it is in no repository, or one that cannot be read."""
    folder = folder.resolve()
    for root in (folder, *folder.parents):
        try:
            own = _git_folder(root / ".git")
            if own and (own / "HEAD").is_file():
                common = own / "commondir"
                return Repository(root, own, (own / _read(common).strip()).resolve() if common.is_file() else own)
        except (OSError, ValueError):
            return None
    return None


def _git_folder(path: Path) -> Path | None:
    """`.git` is a folder, or in a worktree or submodule a file that names one."""
    if path.is_dir():
        return path
    if not path.is_file():
        return None
    word, _, target = _read(path).partition(":")
    return (path.parent / target.strip()).resolve() if word == "gitdir" else None


def read_head(repository: Repository) -> Head:
    try:
        name, value = "HEAD", _read(repository.own / "HEAD").strip()
        branch: str | None = None
        for _ in range(_MAX_LINKS):
            if not value.startswith("ref:"):
                break
            name = value.removeprefix("ref:").strip()
            branch = branch or name.removeprefix("refs/heads/")
            value = _read_reference(repository, name)
    except (OSError, ValueError):
        return Head(None, None)
    return Head(value if re.fullmatch(COMMIT, value) else None, None if branch == ".invalid" else branch)


def _read_reference(repository: Repository, name: str) -> str:
    """The text of a reference; empty, if there is none of this name."""
    if ".." in name.split("/") or name.startswith("/"):
        raise ValueError(f"{name} is not a reference")
    for folder in (repository.own, repository.common):
        if (folder / name).is_file():
            return _read(folder / name).strip()
    packed = repository.common / "packed-refs"
    lines = _read(packed).splitlines() if packed.is_file() else []
    return next((commit for commit, _, found in (line.partition(" ") for line in lines) if found == name), "")


def _read(path: Path) -> str:
    if path.stat().st_size > _MAX_BYTES:
        raise ValueError(f"{path} is too large")
    return path.read_text(encoding="utf-8", errors="strict")


def find_changes(repository: Repository, folder: Path, files: Iterable[str]) -> dict[str, Change] | None:
    """Return the files of the commit in which `folder` differs from it, and those of `files` that the commit lacks, by their path
    in the folder.

    None: not known, as git is not installed or gives no answer in time."""
    prefix = _prefix(repository, folder)
    listed = _ask_git(repository.root, ("status", "--porcelain", "-z", "--no-renames", "--ignored", "--", prefix or "."))
    if listed is None:
        return None
    found, unknown = dict[str, Change](), set[str]()
    for code, path in _entries(listed.decode("utf-8", "surrogateescape")):
        if code in ("??", "!!"):
            unknown.add(path.rstrip("/"))
        else:
            is_there = (repository.root / path).exists()
            found[path.removeprefix(prefix)] = ("added" if "A" in code else "changed") if is_there else "removed"
    return found | {file: "added" for file in files if not unknown.isdisjoint(_with_parents(prefix + file))}


def read_committed(repository: Repository, folder: Path, files: Sequence[str], longest: int) -> dict[str, bytes]:
    """Return what the commit has under these paths of the folder. Longer ones, and those that git does not give, are left out."""
    prefix = _prefix(repository, folder)
    named = [file for file in files if "\n" not in file]
    sizes = _ask_git(repository.root, ("cat-file", "--batch-check=%(objecttype) %(objectsize)"), _objects(prefix, named))
    if sizes is None:
        return {}
    short = [file for file, line in zip(named, sizes.decode().splitlines(), strict=False) if _is_short_blob(line, longest)]
    contents = _ask_git(repository.root, ("cat-file", "--batch=%(objectsize)"), _objects(prefix, short)) or b""
    found = dict[str, bytes]()
    for file in short:
        size, _, contents = contents.partition(b"\n")
        if not size.isdigit():
            break
        found[file], contents = contents[: int(size)], contents[int(size) + 1 :]
    return found


def _prefix(repository: Repository, folder: Path) -> str:
    below = folder.resolve().relative_to(repository.root).as_posix()
    return "" if below == "." else f"{below}/"


def _objects(prefix: str, files: Iterable[str]) -> bytes:
    return "".join(f"HEAD:{prefix}{file}\n" for file in files).encode("utf-8", "surrogateescape")


def _is_short_blob(line: str, longest: int) -> bool:
    kind, _, size = line.partition(" ")
    return kind == "blob" and size.isdigit() and int(size) <= longest


def _ask_git(root: Path, words: Sequence[str], given: bytes = b"") -> bytes | None:
    settings = ("-c", "core.fsmonitor=false", "-c", "core.quotePath=false")  # no program of the repository is started
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment["GIT_NO_LAZY_FETCH"] = "1"  # what a partial clone lacks stays away
    try:
        done = subprocess.run(
            ("git", "--no-optional-locks", *settings, *words),
            cwd=root,
            env=environment,
            input=given,
            capture_output=True,
            timeout=_GIT_TIMEOUT,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def _entries(listed: str) -> Iterator[tuple[str, str]]:
    """Code and path of each entry."""
    return ((field[:2], field[3:]) for field in listed.split("\0") if field)


def _with_parents(path: str) -> Iterator[str]:
    parts = path.split("/")
    return ("/".join(parts[:end]) for end in range(1, len(parts) + 1))
