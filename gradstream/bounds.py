"""Bounds of a job file: unknown keys are mistakes, and so are numbers beyond which nothing is meant, and sums, dates and columns
could not hold what follows."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, Final, get_args

from pydantic import BaseModel, Field, ValidationError, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

MAX_COUNT: Final = 10**15
"""Largest whole number; a double holds each exactly."""
MAX_BATCH: Final = 10**9
"""Examples computed at once."""
MAX_STEPS: Final = 10**12
"""Mini-batches of a worker, and passes over the data."""
MAX_SIZE: Final = 1e30
"""Largest other number; single precision holds it."""
MAX_SECONDS: Final = 100 * 365.25 * 86400.0
"""100 years."""
MAX_DEPTH: Final = 32
"""Lists and mappings in one another, in values of the user's own."""


def shorten(value: Any) -> str:
    """Enough of a value to recognise it in a message."""
    try:
        text = repr(value)
    except ValueError:  # a number of thousands of digits
        return "so large a number"
    return text if len(text) <= 60 else text[:57] + "..."


Count = Annotated[int, Field(le=MAX_COUNT)]
"""With what it must at least be in its field."""
Number = Annotated[float, Field(le=MAX_SIZE)]
"""Likewise."""


class BoundedPart(BaseModel, frozen=True, extra="forbid", allow_inf_nan=False):
    """A part of a job file: immutable, and strict about its keys and numbers."""

    @model_validator(mode="before")
    @classmethod
    def _no_number_is_true(cls, given: Any) -> Any:
        """Refuse `batch_size: true`, which Python reads as 1. Validators of fields may not stand at the names of choices."""
        wrong = [name for name in _number_fields(cls) if isinstance(given.get(name), bool)] if isinstance(given, dict) else []
        if not wrong:
            return given
        kind = PydanticCustomError("bool_for_number", "must be a number")
        raise ValidationError.from_exception_data(
            cls.__name__, [InitErrorDetails(type=kind, loc=(name,), input=given[name]) for name in wrong]
        )


@cache
def _number_fields(part: type[BaseModel]) -> frozenset[str]:
    return frozenset(name for name, field in part.model_fields.items() if _is_number(field.annotation))


def _is_number(annotation: Any) -> bool:
    kinds = {annotation, *get_args(annotation)}
    kinds |= {inner for kind in kinds for inner in get_args(kind)}
    takes_text = any(kind is str or isinstance(kind, str) for kind in kinds)
    return bool(kinds & {int, float}) and bool not in kinds and not takes_text
