"""How the learning rate changes while the center sees samples, as it stands in a job file.

A schedule is a factor on the rate of the side that descends. It counts samples, not steps or calls: so it means the same
with one worker and with a hundred, under any gate, and in a resumed job. A length that the job file leaves out is that of the
run: `Schedule.for_run` fills it in before the first step.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, WithJsonSchema

from gradstream.bounds import MAX_COUNT, BoundedPart, Count, shorten


def _warmup(given: Any) -> Any:
    if isinstance(given, float) and 0 < given < 1:
        return given
    if isinstance(given, int | float) and not isinstance(given, bool) and 0 <= given <= MAX_COUNT and given == int(given):
        return int(given)
    said = f"must be a whole number of samples, at most {MAX_COUNT:g}, or a share of the run between 0 and 1"
    raise ValueError(f"{said}, not {shorten(given)}")


Warmup = Annotated[
    int | float,
    BeforeValidator(_warmup),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "integer", "minimum": 0, "maximum": MAX_COUNT},
                {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
            ]
        }
    ),
]
"""Samples; or, between 0 and 1, a share of all that the job trains."""


class Schedule(BoundedPart, frozen=True):
    """Every schedule may begin with a warm-up."""

    warmup: Warmup = Field(
        0,
        description="Samples of all workers together over which the rate rises linearly to its full value; or a share of the run, "
        "such as 0.05",
    )

    def for_run(self, total_samples: int) -> Self:
        """This schedule in samples, of a job that trains so many of them."""
        share = isinstance(self.warmup, float)
        return self.model_copy(update={"warmup": round(self.warmup * total_samples)}) if share else self

    def factor(self, samples: int) -> float:
        """On the rate of a step that is made when the center has seen so many samples. Above 0."""
        rising = min(1.0, (samples + 1) / (self.warmup + 1))
        return rising * self._decayed(samples)

    def _decayed(self, samples: int) -> float:
        raise NotImplementedError


class Constant(Schedule, frozen=True):
    """The same rate all the time."""

    name: Literal["constant"] = "constant"

    def _decayed(self, samples: int) -> float:
        return 1.0


class Step(Schedule, frozen=True):
    """The rate falls by a factor at regular intervals."""

    name: Literal["step"] = "step"
    every: Count = Field(ge=1, description="Step size in samples of all workers together")
    to: float = Field(0.1, gt=0, le=1, description="Factor on the rate at each step")

    def _decayed(self, samples: int) -> float:
        return self.to ** (samples // self.every)


class Cosine(Schedule, frozen=True):
    """The rate falls along half a cosine, then stays. Source: Loshchilov, Hutter 2017, "SGDR", without restarts."""

    name: Literal["cosine"] = "cosine"
    over: Count | None = Field(
        None, ge=1, description="Samples of all workers together until the rate is lowest; null: the whole run"
    )
    to: float = Field(0.01, gt=0, le=1, description="Lowest rate, as a share of the full rate")

    def for_run(self, total_samples: int) -> Self:
        schedule = super().for_run(total_samples)
        return schedule if self.over is not None else schedule.model_copy(update={"over": max(1, total_samples)})

    def _decayed(self, samples: int) -> float:
        assert self.over is not None, "for_run has said how long the run is"
        return self.to + (1 - self.to) * (1 + math.cos(math.pi * min(1.0, samples / self.over))) / 2


AnySchedule = Annotated[Constant | Step | Cosine, Field(discriminator="name")]
