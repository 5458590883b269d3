"""The input of a job: the user's workload, and the fetching of its mini-batches."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from gradstream.spec.part import SpecPart
from gradstream.spec.values import PassLength, not_too_deep, seconds_of, storable

FETCHED_AHEAD = 2
"""Mini-batches that a worker fetches ahead by default, where it does."""


class WorkloadRef(SpecPart, frozen=True):
    """Your code: the Workload class and its arguments."""

    entrypoint: str = Field(
        max_length=200,
        pattern=r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*$",
        description="Workload class as module:Class; the module's path begins at the root of the bundle",
        examples=["digits:Digits"],
    )
    args: Annotated[dict[str, Any], BeforeValidator(not_too_deep), AfterValidator(storable)] = Field(
        default_factory=dict, description="Values of the Workload class's fields, by name"
    )


class Data(SpecPart, frozen=True):
    """The mini-batches of the workers: who trains which, and how they are fetched."""

    prefetch: int | None = Field(
        None,
        ge=0,
        le=64,
        description="Mini-batches that a worker fetches ahead while the model computes; default: 2 on a GPU or if fetching is "
        "slow, else 0",
    )
    processes: int | None = Field(
        None,
        ge=0,
        le=64,
        description="Processes per worker that fetch mini-batches; default: a thread for sources of gradstream.data, else one "
        "process",
    )
    length: PassLength | None = Field(
        None,
        description="Length of one pass over an iterable data set, in examples; default: its len(). For a folder that grows: "
        "examples, or a time of events (5m); default: a file",
    )

    deal: Literal["shares", "demand"] = Field(
        "shares",
        description="shares: each worker trains a fixed share of the data; demand: the servers deal mini-batches to workers as "
        "they push, so that the others take over what a slow or lost worker leaves",
    )

    @property
    def pass_examples(self) -> int | None:
        """None: not given in examples."""
        return self.length if isinstance(self.length, int) else None

    @property
    def pass_seconds(self) -> float | None:
        """Event time of a pass; None: not given as a time."""
        return seconds_of(self.length) if isinstance(self.length, str) else None

    @model_validator(mode="after")
    def _fetches(self) -> Self:
        if self.prefetch == 0 and self.processes:
            raise ValueError("data.processes: with 'prefetch: 0' nothing is fetched ahead; remove one of them")
        return self
