"""The part list: the further files of a process in a checkpoint, and files of earlier checkpoints that they rest on."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field

from gradstream.process.saving.checkpoint_names import LARGEST_NUMBER

MAX_FILES, MAX_RESTS_ON = 1024, 2048
"""Files in one list: at 256 MiB each, 256 GiB of a process, and what changes of them add up to."""
MAX_BYTES = 1 << 20
"""Size of a list."""
LARGEST_FILE = 64 << 30
"""Bytes that one request may store."""

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class ListedFile(BaseModel, frozen=True):
    """A file of a checkpoint, in whose folder it has this name. Readers ignore members that a newer version adds."""

    name: str = Field(max_length=128)
    size: int = Field(ge=0, le=LARGEST_FILE)
    sha256: Sha256


class EarlierFile(ListedFile, frozen=True):
    """A file of an earlier checkpoint, perhaps of an earlier attempt."""

    attempt: int = Field(ge=1, le=LARGEST_NUMBER)
    checkpoint: int = Field(ge=0, le=LARGEST_NUMBER)

    @property
    def start_name(self) -> str:
        """Its name beside files of other checkpoints, for a job that starts from them."""
        part, _, rest = self.name.partition(".")
        return f"{part}.{self.attempt}-{self.checkpoint}-{rest}"


class PartList(BaseModel, frozen=True):
    files: tuple[ListedFile, ...] = Field((), max_length=MAX_FILES)
    rests_on: tuple[EarlierFile, ...] = Field((), max_length=MAX_RESTS_ON)

    @property
    def start_names(self) -> list[str]:
        """Names of all files, the oldest first, for a job that starts from them."""
        return [file.start_name for file in self.rests_on] + [file.name for file in self.files]
