"""The file in which a server tells of its rows: the hottest keys, and how scores and ages are spread. A newer one replaces it."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import BaseModel, Field

from gradstream.bounds import MAX_COUNT

MAX_TABLES, MAX_HOTTEST, MAX_BINS, LONGEST_NAME = 64, 20, 64, 200
MAX_BYTES = 1 << 19
LOWEST_SCORE = -6
_NAME = re.compile(r"tables/shard-(0|[1-9][0-9]{0,3})\.json")

Total = Annotated[int, Field(ge=0, le=MAX_COUNT)]
Amount = Annotated[float, Field(allow_inf_nan=False)]
Bins = Annotated[tuple[Total, ...], Field(max_length=MAX_BINS)]


def summary_file(shard: int) -> str:
    return f"tables/shard-{shard}.json"


def is_summary_file(path: str) -> bool:
    return _NAME.fullmatch(path) is not None


class HottestKey(BaseModel, frozen=True):
    key: int = Field(ge=-(2**63), lt=2**63)
    updates: Total
    shows: Amount | None = None
    clicks: Amount | None = None
    score: Amount | None = None
    """None: the table has no scores."""


class SummarizedTable(BaseModel, frozen=True):
    rows: Total
    candidates: Total
    nbytes: Total
    made: Total
    evicted: Total
    """Rows."""
    counted: Total
    """Rows that the bins have."""
    hottest: tuple[HottestKey, ...] = Field((), max_length=MAX_HOTTEST)
    """The hottest first: by shows, or by updates if the table has no scores."""
    ages: Bins = ()
    """Rows by passes since their last push: 0, 1, 2 to 3, 4 to 7, ...; the last bin has all above."""
    scores: Bins | None = None
    """Rows by score: below 2**-6, then from each power of two to the next; the last bin has all above."""


class ShardSummary(BaseModel, frozen=True):
    shard: int = Field(ge=0, lt=10_000)
    version: Total
    samples: Total
    left_out: Total = 0
    """Tables beyond `MAX_TABLES`, or with a longer name."""
    tables: dict[Annotated[str, Field(max_length=LONGEST_NAME)], SummarizedTable] = Field(max_length=MAX_TABLES)
