"""When training ends."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from gradstream.spec.part import SpecPart


class Target(SpecPart, frozen=True):
    metric: str = Field("eval/accuracy", pattern=r"^eval/\w+$", description="An evaluation metric")
    at_least: float | None = None
    at_most: float | None = None

    @model_validator(mode="after")
    def _one_side(self) -> Self:
        if (self.at_least is None) == (self.at_most is None):
            raise ValueError("give exactly one of 'at_least' and 'at_most'")
        return self

    def reached(self, value: float) -> bool:
        return value >= self.at_least if self.at_least is not None else value <= (self.at_most or 0.0)


class Stop(SpecPart, frozen=True):
    """When training ends: at the first of these that is reached."""

    epochs: float | None = Field(None, gt=0, description="Passes over the training split, all workers together")
    steps: int | None = Field(None, ge=1, description="Mini-batches per worker")
    target: Target | None = Field(None, description="End when the center reaches this on the evaluation split")

    @model_validator(mode="after")
    def _bounded(self) -> Self:
        if self.epochs is None and self.steps is None:
            raise ValueError("give 'epochs' or 'steps', so that the job ends even if a target is never reached")
        return self
