"""Exports for serving: names of their files, the part that each server stores, and the manifest that joins the parts.

`exports/3/` of an attempt has these files of each server:

    shard-0.rows-0.safetensors      rows: TABLE/keys (int64), TABLE/values (float32 or float16)
    shard-0.gone.safetensors        tombstones, keys of rows that are gone: TABLE/keys
    shard-0.dense.safetensors       its slice of the dense model
    shard-0.json                    its part, which it stores last

`tensors.safetensors` of the attempt says where each tensor of the dense model lies in these slices.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, Self

from pydantic import BaseModel, Field

from gradstream.bounds import MAX_COUNT
from gradstream.errors import Invalid
from gradstream.process.saving.checkpoint_names import LARGEST_NUMBER
from gradstream.process.saving.part_list import MAX_FILES, ListedFile

MANIFEST = "manifest.json"
PART = ".json"
GONE, DENSE = "gone.safetensors", "dense.safetensors"
MAX_TABLES, MAX_WIDTH, MAX_SHARDS = 1000, 100_000, 10_000
_SHARD = r"shard-(?:0|[1-9][0-9]{0,3})"
_SUFFIX = r"\.(?:json|(?:rows-[0-9]{1,6}|gone|dense)\.safetensors)"
_PATH = re.compile(rf"exports/(0|[1-9][0-9]{{0,8}})/({_SHARD})({_SUFFIX})")
_FOLDER = re.compile(r"export-([1-9][0-9]{0,8})")

Total = Annotated[int, Field(ge=0, le=MAX_COUNT)]
Place = Annotated[int, Field(ge=0, le=LARGEST_NUMBER)]
"""The number of an export in the log of its attempt; 0: the last one."""


class ExportPath(NamedTuple):
    """`exports/3/shard-0.json`, taken apart."""

    place: int
    part: str
    suffix: str

    @classmethod
    def parse(cls, path: str) -> Self | None:
        """Return None if this is no path of an export's file. Also: no such path leaves the folder of its export."""
        found = _PATH.fullmatch(path)
        return cls(int(found[1]), found[2], found[3]) if found else None


def export_folder(place: int) -> str:
    return f"exports/{place}/"


def downloaded_export(root: Path, number: int) -> Path:
    """Return the folder of an export, among those that a reader follows. It appears whole, by a rename."""
    return root / f"export-{number}"


def downloaded_numbers(root: Path) -> list[int]:
    """Return the exports in a folder, the oldest first. Raises: OSError: it cannot be read."""
    return sorted(int(found[1]) for each in root.iterdir() if (found := _FOLDER.fullmatch(each.name)))


class ExportedTable(BaseModel, frozen=True):
    width: int = Field(ge=1, le=MAX_WIDTH)
    reach: float = Field(ge=0, allow_inf_nan=False)
    """First values lie in [-reach, reach)."""
    admits: bool
    """A key without a row reads 0, and not its first values."""


class Exported(BaseModel, frozen=True):
    """The same in the parts of all servers."""

    version: Total
    samples: Total
    passes: Total = 0
    """Passes over the data that were over; 0 also where the job counts none."""
    seed: int = Field(ge=0, lt=2**31)
    shards: int = Field(ge=1, le=MAX_SHARDS)
    dtype: Literal["float32", "float16"]
    tables: dict[str, ExportedTable] = Field(max_length=MAX_TABLES)


class ExportPart(BaseModel, frozen=True):
    shard: int = Field(ge=0, le=MAX_SHARDS)
    exported: Exported
    after: Place | None
    """The export that it rests on; None: it has all rows of the shard."""
    rows: Total
    gone: Total
    files: tuple[ListedFile, ...] = Field(max_length=MAX_FILES)


class ManifestPart(BaseModel, frozen=True):
    shard: int = Field(ge=0, le=MAX_SHARDS)
    whole: bool
    """It has all rows of the shard, so earlier ones are gone."""
    files: tuple[ListedFile, ...] = Field(max_length=MAX_FILES)


class ExportManifest(BaseModel, frozen=True):
    job: str
    number: int = Field(ge=1, le=LARGEST_NUMBER)
    """Counts the exports of the job; one that failed leaves a gap."""
    after: int | None = Field(ge=1, le=LARGEST_NUMBER)
    """The export that this one rests on; None: it is a base."""
    attempt: int
    made_at: datetime
    exported: Exported
    rows: Total
    gone: Total
    parts: tuple[ManifestPart, ...]
    tensors: ListedFile

    @property
    def files(self) -> list[ListedFile]:
        return [self.tensors, *(file for part in self.parts for file in part.files)]

    @property
    def nbytes(self) -> int:
        return sum(file.size for file in self.files)

    @property
    def row_bytes(self) -> int:
        """Without the dense model."""
        return sum(file.size for part in self.parts for file in part.files if not file.name.endswith(DENSE))


def check_parts(parts: Sequence[ExportPart]) -> int | None:
    """Return the place of the export that these rest on; None: they are a base. `parts`: by shard.

    Raises: Invalid: they are of different exports."""
    exported = parts[0].exported
    if any(part.exported != exported for part in parts) or [part.shard for part in parts] != list(range(exported.shards)):
        raise Invalid("The parts of an export are of different places of the log, or of different jobs; ask for another export.")
    rests_on = {part.after for part in parts} - {None}
    if len(rests_on) > 1:
        raise Invalid("The parts of an export rest on different ones; ask for a base.")
    return next(iter(rests_on), None)


def manifest_parts(parts: Sequence[ExportPart]) -> tuple[ManifestPart, ...]:
    return tuple(ManifestPart(shard=part.shard, whole=part.after is None, files=part.files) for part in parts)
