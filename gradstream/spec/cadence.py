"""How often the center is evaluated or exported, checkpoints are taken and tables shrink: by time, by the samples that the center
has seen, or by passes over the data."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from typing import Annotated, Any, Final, Literal, NamedTuple, Self

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema, model_validator

from gradstream.bounds import MAX_BATCH, MAX_COUNT, MAX_SECONDS, shorten
from gradstream.metrics.named import metric_key
from gradstream.spec.part import SpecPart
from gradstream.spec.values import DURATION_UNITS, Average

_COUNTED = ("samples", "epochs")
_PASSES = "passes"
HOLD_AT: Final = 3
"""Centers kept for evaluations by samples at which workers wait at the gate: one is being evaluated, the others wait for it."""
MAX_KEPT: Final = 8
"""Kept centers at which a shard skips the next evaluation. Workers push on where rounds begin without a pull; where they wait,
rounds that are under way may each add one, but for bsp."""


class Cadence(NamedTuple):
    """The time between two of the same; exactly one is set."""

    seconds: float | None = None
    samples: int | None = None
    epochs: float | None = None
    passes: int | None = None

    @property
    def by_time(self) -> bool:
        """True if the machine's speed decides where they fall; else the log does, alike on every machine."""
        return self.seconds is not None

    def in_samples(self, epoch_samples: int | None) -> int | None:
        """Return the samples of all workers together; None: it goes by time or passes, or the length of an epoch is not known."""
        if self.epochs is not None:
            return max(1, round(self.epochs * epoch_samples)) if epoch_samples else None
        return self.samples


def parse(given: float | str) -> Cadence:
    """Parse a value that the job file has accepted."""
    if isinstance(given, str):
        number, _, unit = given.partition(" ")
        if unit == _PASSES:
            return Cadence(passes=int(number))
        return Cadence(samples=int(number)) if unit == "samples" else Cadence(epochs=float(number))
    return Cadence(seconds=given)


def is_due(before: int, now: int, every: int) -> bool:
    """Return whether a multiple of `every` lies between these two numbers of samples or passes."""
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


def _read_counted(given: Any) -> str:
    found = re.fullmatch(_AMOUNT, given) if isinstance(given, str) else None
    unit = _unit(found[2], (*_COUNTED, _PASSES)) if found else ""
    if found is None or unit in DURATION_UNITS:
        raise ValueError(f"write '10000 samples' or '0.5 epochs', not {shorten(given)}; passes are '1 passes'")
    return _counted(float(found[1]), unit, found[1])


def _read_passes_or_seconds(given: Any) -> float | str:
    """Seconds, of which there is at least one, or a number of passes."""
    found = re.fullmatch(_AMOUNT, given) if isinstance(given, str) else None
    if found and (unit := _unit(found[2], (_PASSES,))) == _PASSES:
        return _counted(float(found[1]), unit, found[1])
    if found:
        given = float(found[1]) * DURATION_UNITS[unit]
    if not isinstance(given, int | float) or isinstance(given, bool):
        raise ValueError(f"write a number of seconds, '5m' or '1 passes', not {shorten(given)}")
    if not 1 <= given <= MAX_SECONDS:
        raise ValueError(f"must be from 1 second to 100 years, not {shorten(given)}")
    return float(given)


def _unit(word: str, counted: tuple[str, ...] = _COUNTED) -> str:
    units = [*DURATION_UNITS, *counted]
    unit = next((unit for unit in (word, f"{word}s", f"{word}es") if unit in units), None)
    if unit:
        return unit
    close = difflib.get_close_matches(word.lower(), counted, 1, 0.6)
    hint = f"did you mean '{close[0]}'? There are" if close else "there are"
    step = "; a step of one worker is batch_size samples" if word in ("step", "steps") else ""
    raise ValueError(f"there is no unit '{word[:40]}'; {hint}: {', '.join(units)}{step}")


def _counted(amount: float, unit: str, written: str) -> str:
    if not 0 < amount <= MAX_COUNT:
        raise ValueError(f"must be more than 0 {unit}, and at most {MAX_COUNT:g}, not {written[:40]}")
    if unit != "epochs":
        if amount != int(amount):
            raise ValueError(f"must be a whole number of {unit}, not {written}")
        return f"{int(amount)} {unit}"
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
ShrinkInterval = Annotated[
    str,
    BeforeValidator(_read_counted),
    WithJsonSchema({"type": "string", "pattern": r"^\d+(\.\d+)?\s*(samples?|epochs?|pass(es)?)$"}),
]
"""Never a time, so that it falls alike on every machine."""
ExportInterval = Annotated[
    float | str,
    BeforeValidator(_read_passes_or_seconds),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "number", "minimum": 1, "maximum": MAX_SECONDS},
                {"type": "string", "pattern": r"^\d+(\.\d+)?\s*(ms|s|m|h|d|pass(es)?)$"},
            ]
        }
    ),
]


class Checkpointing(SpecPart, frozen=True):
    """Checkpoints, from which a job resumes after a failure."""

    every: CheckpointInterval = Field(
        30.0,
        description="Interval between two checkpoints: a time (30s), at least 0.5 s, or samples. Samples of all workers together "
        "('50000 samples', '1 epochs') are the same on every machine",
    )

    @property
    def cadence(self) -> Cadence:
        return parse(self.every)


class Exporting(SpecPart, frozen=True):
    """Exports of the model and its embedding tables for serving, while the job trains and at its end."""

    every: ExportInterval | None = Field(
        None,
        description="Interval between two exports: a time (5m), at least 1 s, or passes over the data ('1 passes'), at whose end "
        "servers export; default: only at the end of the job, and when you ask",
    )
    base: ExportInterval | None = Field(
        None,
        description="Interval after which an export has all rows again: a time, or passes; default: when the deltas since the last "
        "base have more than half of its bytes",
    )
    dtype: Literal["float32", "float16"] = Field("float32", description="Type of the weights of rows in exports")

    @property
    def seconds(self) -> float | None:
        """Seconds between two exports that the control plane asks for; None: it asks for none."""
        return None if self.every is None else parse(self.every).seconds

    @property
    def passes(self) -> int | None:
        """Passes between two exports that servers make by themselves; None: they make none."""
        return None if self.every is None else parse(self.every).passes

    @property
    def base_cadence(self) -> Cadence:
        """Without any interval: only the bytes of deltas count."""
        return Cadence() if self.base is None else parse(self.base)

    @model_validator(mode="after")
    def _check_base(self) -> Self:
        if self.base_cadence.passes and not self.passes:
            raise ValueError("base: servers count passes for exports of passes only; write `every` in passes, or `base` as a time")
        return self


def _metric_name(name: str) -> str:
    return metric_key(name).replace("_", "-") if name.startswith("top") else metric_key(name)


MetricName = Annotated[str, AfterValidator(_metric_name)]
"""A metric that an evaluation computes by itself."""


class Evaluate(SpecPart, frozen=True):
    """Evaluation of the model on the evaluation split while it trains."""

    every: EvaluationInterval = Field(
        2.0,
        description="Interval between two evaluations, at least 0.05 s: a time (5s), or samples of all workers together ('10000 "
        "samples', '0.5 epochs'), which is the same on every machine",
    )
    batch_size: int = Field(1024, ge=1, le=MAX_BATCH, description="Examples per mini-batch of the evaluation")
    processes: int = Field(
        1,
        ge=1,
        le=64,
        description="Processes that score mini-batches side by side, with the numbers of one. They share the parameters; each "
        "takes a core, and memory for a mini-batch",
    )
    metrics: tuple[MetricName, ...] = Field(
        (),
        max_length=20,
        description="Metrics of the whole evaluation split, by name, without code: accuracy, top-5 (or another number), precision, "
        "recall, f1, average_precision, auc, mse, mae, perplexity; they become eval/accuracy, eval/top_5 and so on",
        examples=[["top-5", "f1"]],
    )
    average: Average | None = Field(
        None,
        description="Average of the model's versions (Polyak), which is evaluated and becomes the final model: the share of each "
        "new version, such as 0.001, or 'uniform'; default: no average",
    )

    @property
    def cadence(self) -> Cadence:
        return parse(self.every)
