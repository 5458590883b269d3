"""A folder of exports: `export-3/` has a manifest and the files that it names. Each appears whole, by a rename."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from gradstream.errors import Invalid
from gradstream.process.saving.content import sha256_of_file
from gradstream.process.saving.exports import MANIFEST, ExportManifest, downloaded_export, downloaded_numbers

REMEDY = "remove that folder and let `gradstream exports JOB --follow FOLDER` download it anew"


def numbers_in(root: Path) -> list[int]:
    """Return the exports of a folder, the oldest first. Raises: Invalid: it is no folder."""
    try:
        return downloaded_numbers(root)
    except OSError as error:
        raise Invalid(
            f"{root} cannot be read as a folder of exports ({error.strerror}); `gradstream exports JOB --into {root}` makes one"
        ) from error


def read_manifest(root: Path, number: int) -> ExportManifest:
    """Raises: Invalid: it is missing or damaged."""
    file = downloaded_export(root, number) / MANIFEST
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
        file = downloaded_export(root, manifest.number) / listed.name
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
        if not (lacking := downloaded_export(root, after)).is_dir():
            raise Invalid(
                f"{downloaded_export(root, chain[0].number)} is a delta, and the export that it rests on, {lacking}, is missing; "
                f"`gradstream exports JOB --into {root}` downloads it"
            )
        chain.insert(0, read_manifest(root, after))
    return chain
