from __future__ import annotations

from typing import Annotated

from pydantic import Field

from backend.schemas import Schema
from gradstream.metrics import Better

PointRow = Annotated[
    tuple[str, int, int, int, int, float, float | None],
    Field(
        description="name, rank, step, samples, version, time, value (null: not finite)",
        examples=[["train/loss", 0, 12, 768, 5, 1763683200.5, 1.93]],
    ),
]
SeriesPoint = Annotated[
    tuple[int, int, int, float, float | None],
    Field(description="step, samples, version, time, value (null: not finite)", examples=[[12, 768, 5, 1763683200.5, 1.93]]),
]


class CatalogueEntry(Schema):
    name: str = Field(examples=["train/loss"])
    unit: str = Field(examples=["loss"])
    meaning: str
    better: Better


class MetricBatch(Schema):
    """Points that one process sent together."""

    seq: int
    attempt: int
    source: str = Field(description="Who measured: the label of a process", examples=["worker-0"])
    points: list[PointRow]


class MetricPage(Schema):
    items: list[MetricBatch]
    next: int = Field(description="Give it as `after` to read on")


class Series(Schema):
    source: str
    rank: int = Field(description="The worker that it is about; -1: none")
    points: list[SeriesPoint]


class SeriesOf(Schema):
    series: list[Series]
