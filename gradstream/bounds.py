"""Bounds of the numbers in a job file: beyond them nothing is meant, and sums, dates and columns could not hold what follows."""

from __future__ import annotations

from typing import Annotated, Any, Final

from pydantic import Field

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
