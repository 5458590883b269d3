"""Values of the job file that pydantic has no type for, each with its JSON Schema."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from gradstream.bounds import MAX_COUNT, MAX_DEPTH, MAX_SECONDS, shorten

NAME = r"^[a-z0-9]([a-z0-9._-]*[a-z0-9])?$"
"""Names of jobs, in folders, addresses and commands."""
MAX_NAME = 63
MAX_TAGS = 20
MAX_NOTE = 4000
LARGEST_ARGUMENT = int(sys.float_info.max)
"""Largest whole number of the user's own. Not less: Postgres gives 1e20 back as a whole number."""

DURATION_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def _seconds(given: Any) -> Any:
    if isinstance(given, str):
        found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)\s*", given)
        if not found:
            raise ValueError("write a duration as a number of seconds or like '30s', '5m', '2h'")
        given = float(found[1]) * DURATION_UNITS[found[2]]
    if isinstance(given, int | float) and given > MAX_SECONDS:
        raise ValueError(f"must be at most 100 years, {MAX_SECONDS:g} seconds")
    return given


Seconds = Annotated[
    float,
    BeforeValidator(_seconds),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "number", "minimum": 0, "maximum": MAX_SECONDS},
                {"type": "string", "pattern": r"^\d+(\.\d+)?(ms|s|m|h|d)$"},
            ]
        }
    ),
]
"""A duration: seconds, or text such as `30s`, `5m`, `2h`."""


def _pass_length(given: Any) -> Any:
    """A whole number of examples, or the text of a duration: a plain number is never seconds here."""
    if isinstance(given, str):
        seconds = _seconds(given)
        if not seconds > 0:
            raise ValueError(f"must be more than 0 seconds, not {shorten(given)}")
        return given.strip()
    if isinstance(given, int | float) and not isinstance(given, bool) and 1 <= given <= MAX_COUNT and given == int(given):
        return int(given)
    raise ValueError(f"write a whole number of examples, from 1, or a time like '5m', not {shorten(given)}")


PassLength = Annotated[
    int | str,
    BeforeValidator(_pass_length),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "integer", "minimum": 1, "maximum": MAX_COUNT},
                {"type": "string", "pattern": r"^\d+(\.\d+)?(ms|s|m|h|d)$"},
            ]
        }
    ),
]
"""Examples, or a time such as `5m`."""


GPU_SHARES = (1, 2, 3, 4, 5, 6, 10, 12)
"""Processes of equal shares that a GPU can be divided among. Each divides `GPU_TICKS`."""
GPU_TICKS = 60
"""Parts of a GPU in which shares are counted, so that shares of different sizes add up exactly."""


def gpu_share_of(part: float) -> int | None:
    """Return k for a part of 1/k of a GPU, which may be rounded (0.33); None: there is no such share."""
    return next((k for k in GPU_SHARES if abs(part * k - 1) <= 0.0101), None)


def _gpu_part(given: float) -> float:
    if gpu_share_of(given) is None:
        raise ValueError(
            f"a GPU is shared by 1 to 6, 10 or 12 processes alike, not by parts of {given:g}; set 1, 0.5, 0.333, 0.25, 0.2, "
            "0.167, 0.1 or 0.083"
        )
    return given


GpuPart = Annotated[float, Field(gt=0, le=1), AfterValidator(_gpu_part)]
"""1/k of a GPU, for k in `GPU_SHARES`."""


def seconds_of(written: str) -> float:
    """Return the seconds of a duration that the job file has accepted."""
    return float(_seconds(written))


def not_too_deep(given: Any, limit: int = MAX_DEPTH) -> Any:
    """The same value, unless lists and mappings lie too deep in one another to be copied and written as JSON."""
    layer, depth = [given], 0
    while layer := [inner for outer in layer if isinstance(outer, dict | list) for inner in _inside(outer)]:
        depth += 1
        if depth > limit:
            raise ValueError(f"lists and mappings lie more than {limit} deep in one another; write it flatter")
    return given


def _inside(outer: dict[Any, Any] | list[Any]) -> Iterable[Any]:
    return outer.values() if isinstance(outer, dict) else outer


def storable(given: Any) -> Any:
    """The user's own values, unless JSON or Postgres could not hold them: then a worker would get others than were written."""
    match given:
        case int() if abs(given) > LARGEST_ARGUMENT:
            raise ValueError("a whole number of more than 308 digits is too large; write it as text")
        case float() if not math.isfinite(given):
            raise ValueError(f"{given} is not a finite number; write it as text, or leave it out")
        case str() if "\x00" in given or any("\ud800" <= character <= "\udfff" for character in given):
            raise ValueError("a text holds a NUL or half a character; remove it")
        case dict():
            for key, value in given.items():
                storable(key)
                storable(value)
        case list():
            for value in given:
                storable(value)
    return given


def _average(given: Any) -> Any:
    if given == "uniform" or (isinstance(given, int | float) and 0 < given < 1):
        return given
    raise ValueError(f"must be a number between 0 and 1, or 'uniform', not {shorten(given)}")


Average = Annotated[
    float | Literal["uniform"],
    BeforeValidator(_average),
    WithJsonSchema(
        {"anyOf": [{"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}, {"type": "string", "const": "uniform"}]}
    ),
]
"""The share that each version takes in an average of the center; `uniform`: all the same."""

MAX_SHARDS = 256


def _shards(given: Any) -> Any:
    if given == "auto":
        return given
    if isinstance(given, int | float) and not isinstance(given, bool) and 0 <= given <= MAX_SHARDS and given == int(given):
        return int(given)
    raise ValueError(f"must be a whole number from 0 to {MAX_SHARDS}, or 'auto', not {shorten(given)}")


ShardCount = Annotated[
    int | Literal["auto"],
    BeforeValidator(_shards),
    WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 0, "maximum": MAX_SHARDS}, {"type": "string", "const": "auto"}]}),
]
"""`auto`: chosen when the model's size is known (`gradstream.spec.shard_count`), once for the life of the job."""


def _tag(given: str) -> str:
    if not re.fullmatch(_TAG, given):
        raise ValueError(f"a tag has 1 to 40 characters, no comma, no line break and no space at its ends, unlike {shorten(given)}")
    return storable(given)  # type: ignore[no-any-return]


def _once_each(tags: list[str]) -> list[str]:
    return list(dict.fromkeys(tags))


_TAG = r"^(?=.{1,40}$)[^\s,]([^,\n\r\t]*[^\s,])?$"
Tag = Annotated[str, AfterValidator(_tag), WithJsonSchema({"type": "string", "pattern": _TAG})]
"""A label of a job. Commas separate tags on the command line and in addresses."""
Tags = Annotated[list[Tag], Field(max_length=MAX_TAGS), AfterValidator(_once_each)]
Note = Annotated[str, Field(max_length=MAX_NOTE), AfterValidator(storable)]
"""Plain text of a user's own."""
