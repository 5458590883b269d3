"""Which files of a folder travel, and why the others do not.

The first rule that says something decides:

    .gradstreamignore lists it                     left out
    a credential, by name or content               left out, unless .gradstreamignore names it with `!` and no wildcard
    .gradstreamignore takes it in with `!`         travels
    an output of Gradstream, a cache, a dot file, or ignored by version control       left out
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from gradstream import marker
from gradstream.bundle import limits
from gradstream.bundle.archive import CONTROL, LeftOut, Why
from gradstream.bundle.credentials import credential_in, credential_in_archive, names_credential, read_beginning
from gradstream.bundle.gitignore import GitIgnored
from gradstream.bundle.ignorefile import IgnoreFile
from gradstream.bundle.roots import refuse_what_is_no_project
from gradstream.bundle.rules import CACHES, DOT_FILES, IGNORE_FILE
from gradstream.errors import InvalidBundle, Mistake


@dataclass(slots=True)
class Selection:
    files: dict[str, Path] = field(default_factory=dict)
    """By their path in the bundle."""
    left_out: list[LeftOut] = field(default_factory=list)


def select_files(root: Path) -> Selection:
    """At most one file more than a bundle may have.

    Raises: InvalidBundle: the folder is no project; or naming each file that is meant to travel and cannot."""
    refuse_what_is_no_project(root)
    return _Walk(root).walk()


def select_file(path: Path) -> Selection:
    """One file. Raises: InvalidBundle: it looks like a credential."""
    if reason := _credential(path, path.name):
        raise InvalidBundle(f"{path} is {reason}, so it is not sent; name the folder or file of the job's code")
    return Selection({path.name: path})


class _Walk:
    def __init__(self, root: Path) -> None:
        self._root, self._real = root, root.resolve()
        self._own = IgnoreFile.of_folder(root)
        self._git = GitIgnored(root)
        self._found = Selection()
        self._links: dict[str, Path] = {}
        """Files that are links, with the file that each leads to."""
        self._problems: list[Mistake] = []

    def walk(self) -> Selection:
        if self._root.is_dir():
            self._folder(self._root, "", None)
        self._drop_links_to_what_stays()
        if self._problems:
            raise InvalidBundle(f"{len(self._problems)} of the files in {self._root} cannot be bundled", self._problems)
        return self._found

    def _folder(self, folder: Path, prefix: str, inherited: tuple[Why, str] | None) -> None:
        """`inherited`: why all of it is left out, but for what .gradstreamignore takes in."""
        self._git.enter(self._real / prefix)
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        names = {entry.name for entry in entries}
        ours = self._of_gradstream(folder, names, is_root=not prefix)
        for entry in entries:
            if len(self._found.files) > limits.MAX_FILES:
                return
            path, source = prefix + entry.name, folder / entry.name
            if entry.is_dir(follow_symlinks=False):
                self._inner(source, f"{path}/", inherited)
            elif why := self._why_not(source, path, inherited, ours):
                self._leave_out(path, why)
            else:
                self._take(source, path)

    def _inner(self, folder: Path, path: str, inherited: tuple[Why, str] | None) -> None:
        why = self._why_not_folder(folder, path, inherited)
        if why and not self._own.may_take_from(path):
            self._leave_out(path, why)
        else:
            self._folder(folder, path, why)

    def _why_not_folder(self, folder: Path, path: str, inherited: tuple[Why, str] | None) -> tuple[Why, str] | None:
        if self._own.lists(path):
            return "listed", f"listed in {IGNORE_FILE}"
        if names_credential(path) and not self._own.names(path):
            return "credentials", "a folder of credentials, by its name"
        if self._own.takes(path):
            return None
        if inherited:
            return inherited
        try:
            names = os.listdir(folder)
        except OSError as error:
            return "listed", f"a folder that cannot be read: {error.strerror}"
        kind = marker.kind_of(folder, names)
        if kind and kind != "files":
            return "output", "an output of Gradstream"
        return self._by_default(path, is_folder=True)

    def _why_not(self, source: Path, path: str, inherited: tuple[Why, str] | None, ours: frozenset[str]) -> tuple[Why, str] | None:
        if self._own.lists(path):
            return "listed", f"listed in {IGNORE_FILE}"
        if not self._own.names(path) and (reason := _credential(source, path)):
            return "credentials", reason
        if self._own.takes(path):
            return None
        if inherited:
            return inherited
        if source.name in ours:
            return "output", "an output of Gradstream"
        return self._by_default(path, is_folder=False)

    def _by_default(self, path: str, *, is_folder: bool) -> tuple[Why, str] | None:
        if _CACHES.lists(path.lower()):
            return "cache", "never part of a job"
        if _DOT_FILES.lists(path):
            return "dot file", "a dot folder" if is_folder else "a dot file"
        reason = self._git.reason(path.rstrip("/"), is_folder=is_folder)
        return ("version control", reason) if reason else None

    @staticmethod
    def _of_gradstream(folder: Path, names: set[str], *, is_root: bool) -> frozenset[str]:
        """Entries of a user's folder that Gradstream put there."""
        found = marker.read_marker(folder) if marker.MARKER in names else None
        if found is None or marker.is_copied(folder, found):
            return frozenset()
        return frozenset(found.holds) if is_root or found.kind == "files" else frozenset()

    def _leave_out(self, path: str, why: tuple[Why, str]) -> None:
        self._found.left_out.append(LeftOut(path, *why))

    def _take(self, source: Path, path: str) -> None:
        if reason := _cannot_travel(source, self._real):
            self._problems.append(Mistake(f"/{path}", reason))
            return
        self._found.files[path] = source
        if source.is_symlink():
            self._links[path] = source.resolve()

    def _drop_links_to_what_stays(self) -> None:
        real = {self._real / path for path in self._found.files if path not in self._links}
        for path, target in self._links.items():
            if target not in real:
                del self._found.files[path]
                inside = target.relative_to(self._real).as_posix()
                self._leave_out(path, ("link", f"a link to {inside}, which is left out"))


_CACHES, _DOT_FILES = IgnoreFile(CACHES), IgnoreFile(DOT_FILES)


def _credential(source: Path, path: str) -> str | None:
    try:
        if not source.is_file():  # a pipe would be waited for
            return "a credential, by its name" if names_credential(path) else None
        with source.open("rb") as file:
            return credential_in(path, source.stat().st_size, read_beginning(file)) or credential_in_archive(file)
    except OSError:
        return None  # what cannot be read is told later, by its name


def _cannot_travel(source: Path, root: Path) -> str | None:
    real = source.resolve()
    if not real.is_relative_to(root):
        return f"is a link that leaves the folder; copy the file in its place, or list it in {IGNORE_FILE}"
    if not real.is_file():
        kind = "a link to a folder or to nothing" if source.is_symlink() else "not a regular file"
        return f"is {kind}; list it in {IGNORE_FILE}"
    if CONTROL.search(source.name):
        return "has a control character or a backslash in its name; rename it"
    return None if os.access(source, os.R_OK) else f"cannot be read; allow it, or list it in {IGNORE_FILE}"


def describe(left_out: tuple[LeftOut, ...]) -> Iterator[str]:
    """In short: credentials by their names, the rest by number; caches are not mentioned."""
    named = [each.path for each in left_out if each.why == "credentials"]
    if named:
        more = f" and {len(named) - 5} more" if len(named) > 5 else ""
        yield f"credentials ({', '.join(named[:5])}{more})"
    words: dict[Why, str] = {
        "listed": f"listed in {IGNORE_FILE}",
        "version control": "ignored by version control",
        "dot file": "dot files",
        "output": "outputs of Gradstream",
        "link": "links to what is left out",
    }
    for why, word in words.items():
        if count := sum(each.why == why for each in left_out):
            yield f"{count} {word}"
