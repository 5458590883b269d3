"""The entries of a platform's data folder: what each is for, and how to tell one from a user's file of the same name."""

from __future__ import annotations

import json
from pathlib import Path
from uuid import UUID

from gradstream.marker import FOLDER_ID, FORMER_PASSWORDS, MARKER, PASSWORDS

ENTRIES = {
    "postgres": "database: jobs, metrics, accounts",
    "files": "bundles, checkpoints and models",
    "agent": "work folder of the node agent",
    "models": "models that the demo downloaded",
    "logs": "logs of the programs",
    "secrets": "passwords and keys",
    "client.json": "sign-in of the command line",
    "platform.json": "trace of a platform that was killed",
    "last-stop.json": "how the last stop went",
    "lock": "lock",
}
_FOLDERS = {
    "files": {"bundles", "jobs", "incoming"},
    "agent": {"bundles", "processes", "machine", "owner", "mps", "credential", "credential.new", "credential.next"},
    "secrets": {*PASSWORDS, *FORMER_PASSWORDS, FOLDER_ID, f"{FOLDER_ID}.tmp", "new-account", "join-token"},
}
_ID = {FOLDER_ID, f"{FOLDER_ID}.tmp"}
_MEMBERS = {"client.json": {"url", "token"}, "platform.json": {"pid", "url", "data_dir", "run_dir"}}


def surely_ours(folder: Path) -> list[str]:
    """The entries of a data folder without a marker that hold nothing but what a platform puts there.

    An earlier version moved into any folder, so its `logs` or `files` may be a user's."""
    return [name for name in ENTRIES if _is_ours(folder / name)]


def is_unused(folder: Path) -> bool:
    """Return whether the folder is empty, or has only lock, id and marker, as a first start that was cut short leaves it."""
    names = {path.name for path in folder.iterdir()}
    if not names <= {"lock", "secrets", MARKER, f"{MARKER}.tmp"}:
        return False
    if "lock" in names and not _is_ours(folder / "lock"):
        return False
    secrets = folder / "secrets"
    return "secrets" not in names or (_is_ours(secrets) and {path.name for path in secrets.iterdir()} <= _ID)


def _is_ours(entry: Path) -> bool:
    name = entry.name
    if entry.is_symlink() or not entry.exists():
        return False
    if name == "postgres":
        return (entry / "PG_VERSION").is_file()
    if name == "lock":
        return entry.is_file() and entry.stat().st_size == 0
    if name in _MEMBERS:
        return _MEMBERS[name] <= _members(entry)
    if not entry.is_dir():
        return False
    inside = {path.name for path in entry.iterdir()}
    if name == "logs":
        return all(each.endswith(".log") for each in inside)
    if name == "models":
        return all(map(_is_uuid, inside))
    return inside <= _FOLDERS.get(name, set())


def _members(file: Path) -> set[str]:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return set()
    return set(found) if isinstance(found, dict) else set()


def _is_uuid(name: str) -> bool:
    try:
        return str(UUID(name)) == name
    except ValueError:
        return False
