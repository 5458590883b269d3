"""The start of a job from another model's weights, instead of those that `model()` draws."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Annotated, Any, Literal, Self
from uuid import UUID

from pydantic import BaseModel, BeforeValidator, Field, WithJsonSchema, model_validator

from gradstream.bounds import MAX_COUNT, Count, shorten
from gradstream.spec.part import SpecPart

NEEDS_A_FILE = "start_from.job: this command reaches no platform; download the model and write start_from: {file: PATH}"
"""The error of commands that run without a platform."""


_WORDS = ("final", "best", "last")


def _start_point(given: Any) -> Any:
    if isinstance(given, str) and given in _WORDS:
        return given
    if isinstance(given, int | float) and not isinstance(given, bool) and 0 <= given <= MAX_COUNT and given == int(given):
        return int(given)
    raise ValueError(f"must be 'final', 'best', 'last', or the number of a checkpoint, from 0, not {shorten(given)}")


StartPoint = Annotated[
    Literal["final", "best", "last"] | int,
    BeforeValidator(_start_point),
    WithJsonSchema({"anyOf": [{"type": "string", "enum": list(_WORDS)}, {"type": "integer", "minimum": 0, "maximum": MAX_COUNT}]}),
]
"""Numbers of checkpoints count up within an attempt; 0: its last one."""


def takes_checkpoint(point: StartPoint) -> bool:
    """Return whether the job begins with the files of a checkpoint, not with a stored model."""
    return point not in ("final", "best")


class StartFrom(SpecPart, frozen=True):
    """Weights of a model with the same parameters and buffers, by name and shape, and rows of the same embedding tables. Optimizers
    begin anew. Give job or file."""

    job: str | None = Field(
        None, min_length=1, description="Job whose model to load: its id, or its name for the newest job of that name"
    )
    checkpoint: StartPoint = Field(
        "final",
        description="Model of that job. final: its final model; best: the model of its best evaluation; last: its newest "
        "checkpoint, even while it runs; a number: that checkpoint, while the job keeps it, 0 for the last one of an attempt",
    )
    attempt: Annotated[Count, Field(ge=1)] | None = Field(
        None, description="Attempt that took the checkpoint of this number; default: the newest one that keeps such a checkpoint"
    )
    file: str | None = Field(
        None,
        min_length=1,
        description="A .safetensors file in the folder of the code, or the index of one in parts, in place of a job",
        examples=["a.safetensors"],
    )

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.job is None) == (self.file is None):
            raise ValueError("give exactly one of 'job' and 'file'")
        if self.file and self.checkpoint != "final":
            raise ValueError("checkpoint: it is of a job, and a file is what it is; remove it")
        if self.attempt is not None and isinstance(self.checkpoint, str):
            raise ValueError("attempt: it goes with the number of a checkpoint; give checkpoint a number, or remove attempt")
        return self

    @property
    def leaves_the_folder(self) -> bool:
        """The file is elsewhere than in the folder of the code, so it exists on this machine only."""
        path = PurePosixPath(self.file or "")
        return path.is_absolute() or ".." in path.parts


class StartedFrom(BaseModel, frozen=True):
    """The model of another job that a job starts from: `start_from` as it was resolved when the job was submitted."""

    job: UUID = Field(description="The other job, which may be deleted by now")
    name: str = Field(description="Name of the other job", examples=["digits"])
    checkpoint: StartPoint
    file: str | None = Field(
        None, description="File that was copied, if checkpoint is final or best", examples=["model.safetensors"]
    )
    sha256: str | None = Field(None, description="SHA-256 of that file")
    attempt: int | None = Field(None, description="Attempt that took the checkpoint; null: it is a stored model")
    number: int | None = Field(None, description="Number of the checkpoint in that attempt; 0: the checkpoint at its end")
    version: int | None = Field(None, description="Version of the model in the checkpoint")
    samples: int | None = Field(None, description="Samples that this model had been trained with, if it is of a checkpoint")

    @property
    def phrase(self) -> str:
        """`checkpoint 3 of attempt 1 of digits, version 1,234, 39,488 samples`."""
        if not takes_checkpoint(self.checkpoint):
            return f"{self.file} of {self.name}"
        which = f"checkpoint {self.number}" if self.number else "the last checkpoint"
        counted = [] if self.version is None else [f"version {self.version:,}"]
        counted += [] if self.samples is None else [f"{self.samples:,} samples"]
        return ", ".join([f"{which} of attempt {self.attempt} of {self.name}", *counted])
