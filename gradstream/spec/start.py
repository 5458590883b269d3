"""What a job begins from, if not from the weights that `model()` draws."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Literal, Self
from uuid import UUID

from pydantic import BaseModel, Field, model_validator

from gradstream.spec.part import SpecPart

NEEDS_A_FILE = "start_from.job: this command reaches no platform; download the model and write start_from: {file: PATH}"
"""Of what runs without a platform."""


Checkpoint = Literal["final", "best", "last"]


class StartFrom(SpecPart, frozen=True):
    """Weights of a model with the same parameters and buffers, by name and shape. Optimizers begin anew."""

    job: str | None = Field(None, min_length=1, description="Another job's model: its id, or its name for its newest job")
    checkpoint: Checkpoint = Field(
        "final",
        description="Of that job: final, its final model; best, that of its best evaluation (see best); last, its newest "
        "checkpoint, also while it runs",
    )
    file: str | None = Field(
        None, min_length=1, description="Or a .safetensors file in the folder of the code", examples=["a.safetensors"]
    )

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.job is None) == (self.file is None):
            raise ValueError("give exactly one of 'job' and 'file'")
        if self.file and self.checkpoint != "final":
            raise ValueError("checkpoint: it is of a job, and a file is what it is; remove it")
        return self

    @property
    def leaves_the_folder(self) -> bool:
        """The file is elsewhere than in the folder of the code, so it exists on this machine only."""
        path = PurePosixPath(self.file or "")
        return path.is_absolute() or ".." in path.parts


class StartedFrom(BaseModel, frozen=True):
    """The model of another job that a job starts from: `start_from` as it was resolved when the job was submitted."""

    job: UUID = Field(description="The other job, which may be deleted by now")
    name: str = Field(description="Its name", examples=["digits"])
    checkpoint: Checkpoint
    file: str | None = Field(None, description="Of final and best: the file that was copied", examples=["model.safetensors"])
    sha256: str | None = Field(None, description="Of that file")
    attempt: int | None = Field(None, description="Of last: the attempt that took the checkpoint")
    number: int | None = Field(None, description="Of last: the checkpoint's number in that attempt; 0: the one at its end")
    version: int | None = Field(None, description="Of last: the version of the center in it")
    samples: int | None = Field(None, description="Of last: samples that this center had seen")

    @property
    def phrase(self) -> str:
        """`checkpoint 3 of attempt 1 of digits, version 1,234, 39,488 samples`."""
        if self.checkpoint != "last":
            return f"{self.file} of {self.name}"
        which = f"checkpoint {self.number}" if self.number else "the last checkpoint"
        counted = [] if self.version is None else [f"version {self.version:,}"]
        counted += [] if self.samples is None else [f"{self.samples:,} samples"]
        return ", ".join([f"{which} of attempt {self.attempt} of {self.name}", *counted])
