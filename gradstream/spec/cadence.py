"""How often the center is evaluated and checkpoints are taken."""

from __future__ import annotations

from pydantic import Field

from gradstream.spec.part import SpecPart
from gradstream.spec.values import Average, Seconds


class Snapshot(SpecPart, frozen=True):
    every: Seconds = Field(30.0, ge=0.5, description="Time between cuts, from which a lost job resumes")


class Evaluate(SpecPart, frozen=True):
    every: Seconds = Field(2.0, ge=0.05, description="Time between evaluations of the center; training does not wait")
    batch_size: int = Field(1024, ge=1, description="Examples per evaluation batch")
    average: Average | None = Field(
        None,
        description="Evaluate, and give out as the model, an average of the center over its versions (Polyak): the share that each "
        "version takes, e.g. 0.001, or 'uniform'",
    )
