"""The credential of a node: a secret that its agent makes once, and keeps in one file of its folder."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

REMOVED_EXIT_CODE = 5
"""Exit code of an agent whose node a user has removed from the platform."""
_KEPT, _NEW, _NEXT = "credential", "credential.new", "credential.next"
_OF_OLDER_VERSIONS = "machine"
"""They told a restart from another machine by its content, which is the secret now."""


def has_credential(folder: Path) -> bool:
    """Return whether the agent of this folder has registered before."""
    return any((folder / name).exists() for name in (_KEPT, _OF_OLDER_VERSIONS))


def credential_of(folder: Path) -> str:
    """Return the credential that this folder's agent registers with. The first call makes it, readable for its account only."""
    for name in (_KEPT, _OF_OLDER_VERSIONS, _NEW):
        try:
            return (folder / name).read_text().strip()
        except FileNotFoundError:
            continue
    folder.mkdir(parents=True, exist_ok=True)
    return _write(folder / _NEW, _make())


def keep_credential(folder: Path) -> None:
    """The platform knows it now."""
    if not (folder / _KEPT).exists():
        _write(folder / _KEPT, credential_of(folder))
        for name in (_NEW, _OF_OLDER_VERSIONS):
            (folder / name).unlink(missing_ok=True)


def forget_credential(folder: Path) -> None:
    """The platform has ended it: the next start of the agent makes another one, which needs a join token."""
    for name in (_KEPT, _NEW, _NEXT, _OF_OLDER_VERSIONS):
        (folder / name).unlink(missing_ok=True)


def next_credential_of(folder: Path) -> str:
    """Return the credential that this folder's agent changes to. The first call of a change makes it, so a start in the middle
    of a change goes on with the same one."""
    try:
        return (folder / _NEXT).read_text().strip()
    except FileNotFoundError:
        return _write(folder / _NEXT, _make())


def change_credential(folder: Path) -> None:
    """The platform knows the next one: from now on it is the credential, also if the machine loses power."""
    _replace(folder / _NEXT, folder / _KEPT)


def _make() -> str:
    return f"gsc_{secrets.token_urlsafe(32)}"


def _write(path: Path, value: str) -> str:
    """Whole or not at all, also if the machine loses power."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.unlink(missing_ok=True)
    with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(value)
        file.flush()
        os.fsync(file.fileno())
    _replace(temporary, path)
    return value


def _replace(source: Path, target: Path) -> None:
    os.replace(source, target)
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
