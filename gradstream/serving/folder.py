"""A folder of exports: `export-3/` has a manifest and the files that it names. Each appears whole, by a rename."""

from __future__ import annotations

import re
from pathlib import Path

from pydantic import ValidationError

from gradstream.errors import Invalid
from gradstream.process.saving.content import sha256_of_file
from gradstream.process.saving.exports import MANIFEST, ExportManifest

_NAME = re.compile(r"export-([1-9][0-9]{0,8})")
REMEDY = "remove that folder and let `gradstream exports JOB --follow FOLDER` download it anew"


def folder_of(root: Path, number: int) -> Path:
    return root / f"export-{number}"


def numbers_in(root: Path) -> list[int]:
    """Return the exports of a folder, the oldest first. Raises: Invalid: it is no folder."""
    try:
        return sorted(int(found[1]) for each in root.iterdir() if (found := _NAME.fullmatch(each.name)))
    except OSError as error:
        raise Invalid(
            f"{root} cannot be read as a folder of exports ({error.strerror}); `gradstream exports JOB --into {root}` makes one"
        ) from error


def read_manifest(root: Path, number: int) -> ExportManifest:
    """Raises: Invalid: it is missing or damaged."""
    file = folder_of(root, number) / MANIFEST
    try:
        manifest = ExportManifest.model_validate_json(file.read_bytes())
    except (OSError, ValidationError) as error:
        raise Invalid(f"{file} is missing or damaged; {REMEDY}") from error
    if manifest.number != number:
        raise Invalid(f"{file} is of export {manifest.number}; {REMEDY}")
    return manifest


def check_files(root: Path, manifest: ExportManifest) -> None:
    """Compare all files with the manifest's sizes and checksums. Raises: Invalid: one is missing, damaged or half written."""
    for listed in manifest.files:
        file = folder_of(root, manifest.number) / listed.name
        if not file.is_file():
            raise Invalid(f"{file} is missing; {REMEDY}")
        if (size := file.stat().st_size) != listed.size:
            raise Invalid(f"{file} has {size:,} bytes and not {listed.size:,}: it is half written or damaged; {REMEDY}")
        if sha256_of_file(file) != listed.sha256:
            raise Invalid(f"{file} is damaged: its checksum is not that of the manifest; {REMEDY}")


def chain_until(root: Path, newest: ExportManifest, current: ExportManifest | None) -> list[ExportManifest]:
    """Return the exports that lead to `newest`, the oldest first: from a base, or onto `current`, if that is on the way.

    A delta has all changes since the export that it rests on. So it fits any later one of the same attempt, too.

    Raises: Invalid: an export on the way is missing or damaged."""
    chain = [newest]
    while (after := chain[0].after) is not None:
        if current and after <= current.number < newest.number and current.attempt == newest.attempt and current.job == newest.job:
            return chain
        if not (lacking := folder_of(root, after)).is_dir():
            raise Invalid(
                f"{folder_of(root, chain[0].number)} is a delta, and the export that it rests on, {lacking}, is missing; "
                f"`gradstream exports JOB --into {root}` downloads it"
            )
        chain.insert(0, read_manifest(root, after))
    return chain
