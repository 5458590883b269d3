"""The origin of a job's code: the commit that it was submitted from, and the version of Gradstream that sent it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pydantic import BaseModel, Field, ValidationError

import gradstream
from gradstream.bundle.commit.git import COMMIT, find_changes, find_repository, read_head
from gradstream.bundle.selecting import select_file, select_files
from gradstream.errors import InvalidBundle


class CodeOrigin(BaseModel, frozen=True):
    commit: str | None = Field(None, pattern=COMMIT, description="Hash of the code's git commit; null: it is in no repository")
    branch: str | None = Field(
        None, min_length=1, max_length=250, pattern=r"^[^\x00-\x1f\x7f]+$", description="null: detached", examples=["main"]
    )
    dirty: bool | None = Field(None, description="true: submitted files differ from the commit; null: not known")
    client: str | None = Field(
        None,
        min_length=1,
        max_length=64,
        pattern=r"^[\x20-\x7e]+$",
        description="Version of Gradstream that submitted the job",
        examples=["0.1.0"],
    )

    @property
    def phrase(self) -> str | None:
        """`commit 1a2b3c4 (dirty)`; None: the commit is not known."""
        if self.commit is None:
            return None
        return f"commit {self.commit[:7]}{' (dirty)' if self.dirty else ''}"


def collect_origin(code: Path | None, files: Iterable[str] | None = None) -> CodeOrigin:
    """The origin of a folder or file of code. `files`: those that travel, by their path in the bundle; None: the folder says.

    git gets 2 s to compare them with the commit. Unknown fields stay empty; nothing is raised."""
    ours = CodeOrigin(client=gradstream.__version__)
    if code is None:
        return ours
    folder = code if code.is_dir() else code.parent
    repository = find_repository(folder)
    if repository is None:
        return ours
    head = read_head(repository)
    sent = _selected(code) if files is None else files
    changes = find_changes(repository, folder, sent) if head.commit else None
    dirty = None if changes is None else bool(changes)
    try:
        return CodeOrigin(commit=head.commit, branch=head.branch, dirty=dirty, client=gradstream.__version__)
    except ValidationError:  # a branch's name may be longer than what is kept
        return CodeOrigin(commit=head.commit, dirty=dirty, client=gradstream.__version__)


def _selected(code: Path) -> Iterable[str]:
    try:
        return (select_file(code) if code.is_file() else select_files(code)).files
    except (InvalidBundle, OSError):  # code that is not sent anywhere need not fit into a bundle
        return ()
