"""Parameters that an optimizer treats in another way, chosen by their names."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Self

from pydantic import Field, model_validator

from gradstream.bounds import BoundedPart, Number


class ParameterGroup(BoundedPart, frozen=True):
    """Other settings for some parameters. A parameter belongs to the first group whose pattern its name matches."""

    match: str = Field(
        min_length=1, max_length=1000, description="Pattern of names, such as `*.bias`: `*` is any text, `?` any character"
    )
    lr_factor: Number = Field(1.0, ge=0, description="Factor on the learning rate; 0 keeps the parameters as they are")
    weight_decay: Number | None = Field(None, ge=0, description="Weight decay; default: that of the optimizer")
    adapt: bool = Field(True, description="lars and lamb: scale steps by norms; false: plain steps, as for biases")

    @model_validator(mode="after")
    def _changes_something(self) -> Self:
        if self.lr_factor == 1 and self.weight_decay is None and self.adapt:
            raise ValueError("a group changes nothing without lr_factor, weight_decay or adapt: false")
        return self


def matches(name: str, pattern: str) -> bool:
    """Return whether the whole name is of this pattern. Case counts."""
    return fnmatchcase(name, pattern)
