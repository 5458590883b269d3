"""The file by which Gradstream knows its own folders again, so that it deletes, fills and leaves out nothing else.

platform   the data folder of `gradstream up`          `reset` deletes what its marker lists
training   the output of `gradstream train`            never bundled
download   a folder that `gradstream download` made    never bundled; its files may be replaced
files      a user's folder with downloaded files       those files alone are never bundled
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast, get_args

from gradstream import __version__

MARKER = ".gradstream.json"
FORMAT = 1
"""Format of folders that this version makes; a folder with a higher number belongs to a newer version."""
Kind = Literal["platform", "training", "download", "files"]
FIRST_PASSWORDS = ("postgres-password", "redis-live-password", "redis-plane-password", "node-token", "signing-key")
"""Passwords of the versions without markers."""
PASSWORDS = ("postgres-password", "redis-live-password", "redis-plane-password", "signing-key")
"""Passwords of a platform on one machine, a file each in its folder `secrets`."""
FOLDER_ID = "folder-id"
"""The file in `secrets` that repeats the id of the marker. A marker alone, copied into another folder, claims nothing there."""
FORMER_PASSWORDS = ("node-token", "redis-node-password")
"""Passwords of older versions: they open nothing any more."""


@dataclass(frozen=True, slots=True)
class Marker:
    kind: Kind
    holds: tuple[str, ...] = ()
    """Names of the entries that Gradstream made; for `training` and `download` all of the folder."""
    format: int = FORMAT
    job: str | None = None
    """Id of the job that a download belongs to."""
    id: str | None = None
    """Id of a platform's data folder, which the file `secrets/folder-id` repeats. None: an older version wrote the marker."""

    @property
    def whole(self) -> bool:
        """True if all of the folder is Gradstream's."""
        return self.kind != "files"


def read_marker(folder: Path) -> Marker | None:
    """Return a folder's marker; None: it has none, or none that this program wrote."""
    try:
        found = json.loads((folder / MARKER).read_text(encoding="utf-8"))
        kind, holds, job = found["gradstream"], found.get("holds", []), found.get("job")
        names = tuple(name for name in holds if isinstance(name, str) and _is_a_name(name))
        return Marker(cast(Kind, kind), names, int(found["format"]), job, found.get("id")) if kind in get_args(Kind) else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def write_marker(folder: Path, kind: Kind, holds: Iterable[str] = (), *, job: str | None = None, id: str | None = None) -> None:
    """Write the marker whole, or not at all."""
    content = {"gradstream": kind, "format": FORMAT, "version": __version__, "holds": sorted(holds), "job": job, "id": id}
    temporary = folder / f"{MARKER}.tmp"
    temporary.write_text(json.dumps(content) + "\n", encoding="utf-8")
    os.replace(temporary, folder / MARKER)


def kind_of(folder: Path, names: Collection[str]) -> Kind | None:
    """Return the kind of a folder with these entries, also if a version without markers wrote it; None: not Gradstream's."""
    if MARKER in names and (marker := read_marker(folder)) and not is_copied(folder, marker):
        return marker.kind
    if "secrets" in names and is_old_data_folder(folder):
        return "platform"
    if {"processes", "store", "redis.log"} <= set(names):
        return "training"
    return None


def is_copied(folder: Path, found: Marker) -> bool:
    """Return whether this marker of a platform belongs to another folder: `secrets` does not repeat its id, or, if an older version
    wrote the marker, lacks passwords. A data folder that is moved or copied whole brings its secrets along."""
    if found.kind != "platform" or found.format > FORMAT:
        return False
    secrets = folder / "secrets"
    if found.id is None:
        return not all((secrets / name).is_file() for name in PASSWORDS)
    try:
        return (secrets / FOLDER_ID).read_text(encoding="utf-8") != found.id
    except (OSError, ValueError):
        return True


def is_old_data_folder(folder: Path) -> bool:
    """Return whether a version without markers kept a platform here: its database and all of its passwords are there."""
    secrets = folder / "secrets"
    return (folder / "postgres" / "PG_VERSION").is_file() and all((secrets / name).is_file() for name in FIRST_PASSWORDS)


def _is_a_name(name: str) -> bool:
    return name not in ("", ".", "..") and "/" not in name and "\0" not in name
