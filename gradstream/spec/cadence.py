"""How often the center is evaluated or exported and checkpoints are taken: by time, or by the samples that the center has seen."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BeforeValidator, Field, WithJsonSchema

from gradstream.bounds import MAX_BATCH, MAX_COUNT, MAX_SECONDS, shorten
from gradstream.spec.part import SpecPart
from gradstream.spec.values import DURATION_UNITS, Average, Seconds

_COUNTED = ("samples", "epochs")


class Cadence(NamedTuple):
    """The time between two of the same; exactly one is set."""

    seconds: float | None = None
    samples: int | None = None
    epochs: float | None = None

    @property
    def by_time(self) -> bool:
        """True if the machine's speed decides where they fall; else the log does, alike on every machine."""
        return self.seconds is not None

    def in_samples(self, epoch_samples: int | None) -> int | None:
        """Return the samples of all workers together; None: it goes by time, or the length of an epoch is not known."""
        if self.epochs is not None:
            return max(1, round(self.epochs * epoch_samples)) if epoch_samples else None
        return self.samples


def parse(given: float | str) -> Cadence:
    """Parse a value that the job file has accepted."""
    if isinstance(given, str):
        number, _, unit = given.partition(" ")
        return Cadence(samples=int(number)) if unit == "samples" else Cadence(epochs=float(number))
    return Cadence(seconds=given)


def is_due(before: int, now: int, every: int) -> bool:
    """Return whether a multiple of `every` lies between these two numbers of samples."""
    return now // every > before // every


_AMOUNT = r"\s*(\d+(?:\.\d+)?(?:[eE]\+?\d+)?)\s*([A-Za-z]+)\s*"


def _reader(least: float) -> Callable[[Any], float | str]:
    """`least`: seconds."""

    def read(given: Any) -> float | str:
        if isinstance(given, str):
            found = re.fullmatch(_AMOUNT, given)
            if not found:
                raise ValueError(f"write '5s', '10000 samples' or '0.5 epochs', not {shorten(given)}")
            amount, unit = float(found[1]), _unit(found[2])
            if unit in _COUNTED:
                return _counted(amount, unit, found[1])
            given = amount * DURATION_UNITS[unit]
        if not isinstance(given, int | float) or isinstance(given, bool):
            raise ValueError(f"write a number of seconds, '5s', '10000 samples' or '0.5 epochs', not {shorten(given)}")
        if not least <= given < float("inf"):
            raise ValueError(f"must be at least {least:g} seconds, not {shorten(given)}")
        if given > MAX_SECONDS:
            raise ValueError(f"must be at most 100 years, {MAX_SECONDS:g} seconds")
        return float(given)

    return read


def _read_samples(given: Any) -> str:
    found = re.fullmatch(_AMOUNT, given) if isinstance(given, str) else None
    unit = _unit(found[2]) if found else ""
    if found is None or unit not in _COUNTED:
        raise ValueError(f"write '10000 samples' or '0.5 epochs', not {shorten(given)}")
    return _counted(float(found[1]), unit, found[1])


def _unit(word: str) -> str:
    units = [*DURATION_UNITS, *_COUNTED]
    unit = word if word in units else f"{word}s"
    if unit in units:
        return unit
    close = difflib.get_close_matches(word.lower(), _COUNTED, 1, 0.6)
    hint = f"did you mean '{close[0]}'? There are" if close else "there are"
    step = "; a step of one worker is batch_size samples" if word in ("step", "steps") else ""
    raise ValueError(f"there is no unit '{word[:40]}'; {hint}: {', '.join(units)}{step}")


def _counted(amount: float, unit: str, written: str) -> str:
    if not 0 < amount <= MAX_COUNT:
        raise ValueError(f"must be more than 0 {unit}, and at most {MAX_COUNT:g}, not {written[:40]}")
    if unit == "samples":
        if amount != int(amount):
            raise ValueError(f"must be a whole number of samples, not {written}")
        return f"{int(amount)} samples"
    return f"{amount:.12g} epochs"


_SCHEMA = WithJsonSchema(
    {
        "anyOf": [
            {"type": "number", "minimum": 0, "maximum": MAX_SECONDS},
            {"type": "string", "pattern": r"^\d+(\.\d+)?\s*(ms|s|m|h|d|samples?|epochs?)$"},
        ]
    }
)
CheckpointInterval = Annotated[float | str, BeforeValidator(_reader(0.5)), _SCHEMA]
EvaluationInterval = Annotated[float | str, BeforeValidator(_reader(0.05)), _SCHEMA]
SampleInterval = Annotated[
    str,
    BeforeValidator(_read_samples),
    WithJsonSchema({"type": "string", "pattern": r"^\d+(\.\d+)?\s*(samples?|epochs?)$"}),
]
"""Never a time, so that it falls alike on every machine."""


class Checkpointing(SpecPart, frozen=True):
    """Checkpoints, from which a job resumes after a failure."""

    every: CheckpointInterval = Field(
        30.0,
        description="Interval between two checkpoints, at least 0.5 s: a time (30s), or samples of all workers together ('50000 "
        "samples', '1 epochs'), which is the same on every machine",
    )

    @property
    def cadence(self) -> Cadence:
        return parse(self.every)


class Exporting(SpecPart, frozen=True):
    """Exports of the model and its embedding tables for serving, while the job trains and at its end."""

    every: Seconds | None = Field(
        None, ge=1, description="Time between two exports, at least 1 s; default: only at the end of the job, and when you ask"
    )
    base: Seconds | None = Field(
        None,
        ge=1,
        description="Time after which an export has all rows again; default: when the deltas since the last base have more than "
        "half of its bytes",
    )
    dtype: Literal["float32", "float16"] = Field("float32", description="Type of the weights of rows in exports")


class Evaluate(SpecPart, frozen=True):
    """Evaluation of the model on the evaluation split while it trains."""

    every: EvaluationInterval = Field(
        2.0,
        description="Interval between two evaluations, at least 0.05 s: a time (5s), or samples of all workers together ('10000 "
        "samples', '0.5 epochs'), which is the same on every machine",
    )
    batch_size: int = Field(1024, ge=1, le=MAX_BATCH, description="Examples per mini-batch of the evaluation")
    average: Average | None = Field(
        None,
        description="Average of the model's versions (Polyak), which is evaluated and becomes the final model: the share of each "
        "new version, such as 0.001, or 'uniform'; default: no average",
    )

    @property
    def cadence(self) -> Cadence:
        return parse(self.every)
