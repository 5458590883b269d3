"""What a job begins from, if not from the weights that `model()` draws."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Literal, Self

from pydantic import Field, model_validator

from gradstream.spec.part import SpecPart

NEEDS_A_FILE = "start_from.job: this command reaches no platform; download the model and write start_from: {file: PATH}"
"""Of what runs without a platform."""


class StartFrom(SpecPart, frozen=True):
    """Weights of a model with the same parameters and buffers, by name and shape. Optimizers begin anew."""

    job: str | None = Field(None, min_length=1, description="Another job's model: its id, or its name for its newest job")
    checkpoint: Literal["final", "best"] = Field(
        "final", description="Of that job: its final model, or that of its best evaluation (see best)"
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
