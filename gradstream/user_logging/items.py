"""Logged media on their way: what an item is, and the limits that the process and the platform both keep."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, get_args

MediaKind = Literal["image", "figure", "table", "text", "histogram"]
KINDS: tuple[MediaKind, ...] = get_args(MediaKind)

KIB, MIB = 1024, 1024**2
MAX_ITEM_BYTES: dict[MediaKind, int] = {
    "image": 2 * MIB,
    "figure": 2 * MIB,
    "table": 256 * KIB,
    "text": 64 * KIB,
    "histogram": 32 * KIB,
}
MAX_COLUMNS, MAX_ROWS, MAX_BINS = 64, 1000, 512
MAX_VALUES_BYTES = 64 * MIB
"""Bytes of the tensor of an image or a histogram."""
MAX_BATCH = 50
"""Items that are sent at once."""
MAX_BATCH_BYTES = 4 * MIB
SUFFIXES: dict[MediaKind, str] = {"image": ".png", "figure": ".png", "table": ".json", "text": ".txt", "histogram": ".json"}


class LimitExceeded(Exception):
    """A value is too large to be logged. Its message says which limit, and what to do."""


class Snapshot(Protocol):
    """A copy of a logged value, which user code can no longer change."""

    @property
    def nbytes(self) -> int: ...

    def encode(self) -> bytes:
        """Return the content of the item. It may wait for a device."""


@dataclass(frozen=True, slots=True)
class LoggedItem:
    """`content`: a PNG file, UTF-8 text, or JSON: {"columns", "rows"} of a table, {"edges", "counts", "nan", "inf"} of a
    histogram."""

    name: str
    kind: MediaKind
    rank: int
    """-1: the evaluator."""
    step: int
    samples: int
    version: int
    time: float
    content: bytes


def media_source(rank: int) -> str:
    """Return who logged an item: `worker-0`, `evaluator`."""
    return "evaluator" if rank < 0 else f"worker-{rank}"


def file_name(name: str, rank: int, step: int, kind: MediaKind) -> str:
    """Return the name of an item's file: one part of a path, whatever the user calls the item."""
    return f"{name.replace('/', '~')}.{media_source(rank)}.{step:08d}{SUFFIXES.get(kind, '')}"
