"""How the learning rate changes while the center sees samples, as it stands in a job file.

A schedule is a factor on the rate of the side that descends. It counts samples, not steps or calls: so it means the same
with one worker and with a hundred, under any gate, and in a resumed job.
"""

from __future__ import annotations

import math
from typing import Annotated, Literal

from pydantic import BaseModel, Field


class Schedule(BaseModel, frozen=True, extra="forbid", allow_inf_nan=False):
    """Every schedule may begin with a warm-up."""

    warmup: int = Field(0, ge=0, description="Samples, of all workers together, while the rate rises in a line to its full height")

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
    every: int = Field(ge=1, description="Samples, of all workers together, between two falls")
    to: float = Field(0.1, gt=0, le=1, description="What each fall multiplies the rate with")

    def _decayed(self, samples: int) -> float:
        return self.to ** (samples // self.every)


class Cosine(Schedule, frozen=True):
    """The rate falls along half a cosine, then stays. Source: Loshchilov, Hutter 2017, "SGDR", without restarts."""

    name: Literal["cosine"] = "cosine"
    over: int = Field(ge=1, description="Samples, of all workers together, after which it is at its lowest")
    to: float = Field(0.01, gt=0, le=1, description="Its lowest, as a share of the full rate")

    def _decayed(self, samples: int) -> float:
        return self.to + (1 - self.to) * (1 + math.cos(math.pi * min(1.0, samples / self.over))) / 2


AnySchedule = Annotated[Constant | Step | Cosine, Field(discriminator="name")]
