"""When training ends, and which of its evaluations is the best."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from gradstream import metrics
from gradstream.bounds import MAX_SIZE, MAX_STEPS, Count, Number
from gradstream.metrics.named import better_side
from gradstream.spec.part import SpecPart

ACCURACY, LOSS = "eval/accuracy", "eval/loss"
"""The metrics of the default `Workload.evaluate`: an accuracy is a share from 0 to 1, a loss falls."""
_METRIC = r"^eval/\w{1,190}$"


class Target(SpecPart, frozen=True):
    """A value of an evaluation metric at which the job ends. Give at_least or at_most."""

    metric: str = Field(ACCURACY, pattern=_METRIC, description="Name of the evaluation metric, such as eval/accuracy")
    at_least: float | None = Field(None, ge=-MAX_SIZE, le=MAX_SIZE, description="Lowest value that reaches the target")
    at_most: float | None = Field(None, ge=-MAX_SIZE, le=MAX_SIZE, description="Highest value that reaches the target")

    @model_validator(mode="after")
    def _one_side(self) -> Self:
        if (self.at_least is None) == (self.at_most is None):
            raise ValueError("give exactly one of 'at_least' and 'at_most'")
        return self

    @model_validator(mode="after")
    def _can_be_meant(self) -> Self:
        """Refuse targets that contradict the metric's name: an accuracy rises to at most 1, a loss falls."""
        if self.metric == LOSS and self.at_least is not None:
            raise ValueError(f"a loss falls, so at_least would be reached before training; write at_most: {self.at_least:g}")
        if self.metric != ACCURACY:
            return self
        if self.at_most is not None:
            raise ValueError(f"an accuracy rises, so at_most would be reached before training; write at_least: {self.at_most:g}")
        if self.at_least is not None and not 0 < self.at_least <= 1:
            share = f"; did you mean {self.at_least / 100:g}?" if 1 < self.at_least <= 100 else ""
            raise ValueError(f"at_least: an accuracy is a share, above 0 and at most 1, not {self.at_least:g}{share}")
        return self

    def reached(self, value: float) -> bool:
        return value >= self.at_least if self.at_least is not None else value <= (self.at_most or 0.0)


class Best(SpecPart, frozen=True):
    """The evaluation whose model is kept beside the final one, as best.safetensors."""

    metric: str = Field(pattern=_METRIC, description="Name of the evaluation metric, such as eval/loss", examples=[LOSS])
    mode: Literal["min", "max"] | None = Field(
        None,
        description="Better values: min for lower, max for higher; default: by the metric, as min for eval/loss, max for eval/auc",
    )
    min_delta: Number = Field(0.0, ge=0, description="Least improvement over the best value so far that counts as better")

    @model_validator(mode="after")
    def _direction(self) -> Self:
        if self.mode is None and _known_side(self.metric) == "neither":
            raise ValueError(f"mode: say whether a lower or a higher {self.metric} is better: min or max")
        return self

    @property
    def falls(self) -> bool:
        """A lower value is better."""
        return self.mode == "min" if self.mode else _known_side(self.metric) == "lower"

    def is_better(self, value: float, than: float | None) -> bool:
        """A value that is not finite is never better."""
        if not abs(value) < float("inf"):
            return False
        if than is None:
            return True
        return value < than - self.min_delta if self.falls else value > than + self.min_delta


def _known_side(metric: str) -> metrics.Better:
    return better_side(metric)


class Stop(SpecPart, frozen=True):
    """The end of training: the first of these limits that the job reaches. Give epochs, steps, or never."""

    epochs: float | None = Field(None, gt=0, le=MAX_STEPS, description="Passes over the training split by all workers together")
    steps: int | None = Field(None, ge=1, le=MAX_STEPS, description="Mini-batches per worker")
    never: bool = Field(
        False,
        description="The job learns until you stop it, or until a target, its patience or its timeout ends it; for data that grows",
    )
    target: Target | None = Field(None, description="Value of an evaluation metric at which the job ends")
    patience: Count | None = Field(
        None,
        ge=1,
        description="Early stopping: evaluations in a row without a better value of best.metric, after which the job ends",
    )

    @model_validator(mode="after")
    def _bounded(self) -> Self:
        given = [name for name in ("epochs", "steps") if getattr(self, name) is not None]
        if self.never and given:
            raise ValueError(f"never: the job also has '{given[0]}', which would end it; remove one of them")
        if not (given or self.never):
            raise ValueError(
                "give 'epochs' or 'steps', so that the job ends even if a target is never reached; or 'never: true' for one that "
                "learns until it is stopped"
            )
        return self
