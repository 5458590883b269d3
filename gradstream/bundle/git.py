"""The commit that a folder of code stands at. The files of the repository say it, so git need not be installed; only whether the
code differs from that commit is asked from git."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

COMMIT = r"^(?:[0-9a-f]{40}|[0-9a-f]{64})$"
_STATUS_TIMEOUT = 2.0
"""Seconds that `git status` may take in a large repository."""
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


def differs_from_commit(repository: Repository, folder: Path, files: Iterable[str]) -> bool | None:
    """Return whether `folder` differs from its commit in a file that the commit has, or has one of `files` that the commit lacks.

    None: not known, as git is not installed or gives no answer in time."""
    below = folder.resolve().relative_to(repository.root).as_posix()
    prefix = "" if below == "." else f"{below}/"
    listed = _ask_git(repository.root, prefix or ".")
    if listed is None:
        return None
    unknown = set[str]()
    for code, path in _entries(listed):
        if code not in ("??", "!!"):
            return True
        unknown.add(path.rstrip("/"))
    return any(not unknown.isdisjoint(_with_parents(prefix + file)) for file in files)


def _ask_git(root: Path, below: str) -> str | None:
    settings = ("-c", "core.fsmonitor=false", "-c", "core.quotePath=false")  # no program of the repository is started
    command = ("git", "--no-optional-locks", *settings, "status", "--porcelain", "-z", "--ignored", "--", below)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            command, cwd=root, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=_STATUS_TIMEOUT
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("utf-8", "surrogateescape") if done.returncode == 0 else None


def _entries(listed: str) -> Iterator[tuple[str, str]]:
    """Code and path of each entry; a renamed file's old path, which follows, is left out."""
    fields = iter(listed.split("\0"))
    for field in fields:
        if field:
            yield field[:2], field[3:]
            if "R" in field[:2] or "C" in field[:2]:
                next(fields, None)


def _with_parents(path: str) -> Iterator[str]:
    parts = path.split("/")
    return ("/".join(parts[:end]) for end in range(1, len(parts) + 1))
