"""The folders that are no project: a job file there sends nothing."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from gradstream import marker
from gradstream.errors import InvalidBundle

_SYSTEM = (
    "/bin",
    "/boot",
    "/dev",
    "/etc",
    "/home",
    "/lib",
    "/media",
    "/mnt",
    "/opt",
    "/proc",
    "/root",
    "/run",
    "/sbin",
    "/srv",
    "/sys",
    "/tmp",
    "/usr",
    "/var",
    "/var/tmp",
    "/dev/shm",
)
_BELOW = ("/dev", "/proc", "/sys", "/etc", "/boot")
"""No folder in these is a project either, except below /dev/shm, which is a disk."""
_OF_A_SHELL = frozenset({".bashrc", ".bash_history", ".profile", ".bash_profile", ".zshrc", ".zsh_history"})
_OF_A_HOME = _OF_A_SHELL | {".ssh", ".aws", ".gnupg", ".netrc"}
_REMEDY = "put the job file and its code into a folder of their own, or name the code with --code"


def refuse_what_is_no_project(folder: Path) -> None:
    """Raise InvalidBundle, with the kind of folder, if the folder is no project."""
    if what := non_project(folder):
        raise InvalidBundle(f"{folder} is {what}, so nothing of it is sent; {_REMEDY}")


def non_project(folder: Path) -> str | None:
    """Return the kind of a folder that is no project, else None. The folder need not exist."""
    folder = folder.resolve()
    home = _home()
    if folder == home:
        return "your home folder"
    if home.is_relative_to(folder):
        return "a folder with your home folder in it"
    below = any(folder.is_relative_to(each) for each in _BELOW) and not folder.is_relative_to("/dev/shm")
    if str(folder) in _SYSTEM or below or folder == Path(tempfile.gettempdir()).resolve():
        return "a folder of the system"
    names = set(os.listdir(folder)) if folder.is_dir() else set()
    if names & _OF_A_SHELL and len(names & _OF_A_HOME) >= 2:
        return f"laid out like a home folder ({', '.join(sorted(names & _OF_A_HOME)[:3])})"
    kind = marker.kind_of(folder, names)
    return {"platform": "the data folder of a platform", "training": "the output of `gradstream train`"}.get(kind or "")


def _home() -> Path:
    try:
        return Path.home().resolve()
    except RuntimeError:  # no HOME, and no such user
        return Path("/")
