"""What a job trains on: the user's workload, and how its mini-batches are fetched."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from gradstream.bounds import Count
from gradstream.spec.part import SpecPart
from gradstream.spec.values import not_too_deep, storable


class WorkloadRef(SpecPart, frozen=True):
    entrypoint: str = Field(
        max_length=200,
        pattern=r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*$",
        description="Where the Workload class is, as module:Class, from the root of the bundle",
        examples=["digits:Digits"],
    )
    args: Annotated[dict[str, Any], BeforeValidator(not_too_deep), AfterValidator(storable)] = Field(
        default_factory=dict, description="Fields of the Workload class to set"
    )


class Data(SpecPart, frozen=True):
    """How mini-batches are fetched. Which ones, and what is in them, does not depend on it."""

    prefetch: int | None = Field(
        None, ge=0, le=64,
        description="Mini-batches fetched while the model computes; default: 2, on a GPU or when fetching is found to be slow",
    )  # fmt: skip
    processes: int | None = Field(
        None, ge=0, le=64,
        description="Processes of each worker that fetch; default: a thread for sources of gradstream.data, one for others",
    )  # fmt: skip
    length: Count | None = Field(None, ge=1, description="Examples in one pass of an iterable data set; default: its len()")

    @model_validator(mode="after")
    def _fetches(self) -> Self:
        if self.prefetch == 0 and self.processes:
            raise ValueError("data.processes: with 'prefetch: 0' nothing is fetched ahead; remove one of them")
        return self
