from __future__ import annotations

from datetime import datetime
from enum import StrEnum
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
LivePoint = Annotated[
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


class Axis(StrEnum):
    """Mini-batches of that worker, or pushes handled; samples that the center had seen; its version; seconds since the epoch."""

    STEP = "step"
    SAMPLES = "samples"
    VERSION = "version"
    TIME = "time"


class Columns(Schema):
    """Only those that hold points, list by list. `low`, `high` and `mean` are of the finite values. Null: not finite, or none is"""

    x: list[float] = Field(description="Of the first point in the column, in the order of arrival")
    first: list[float | None]
    low: list[float | None]
    high: list[float | None]
    last: list[float | None]
    mean: list[float | None]
    count: list[int] = Field(description="Points")
    odd: list[int] = Field(description="Points whose value is not finite")


class ChartSeries(Schema):
    attempt: int
    source: str = Field(description="Who measured: the label of a process", examples=["worker-0"])
    rank: int = Field(description="The worker that it is about; -1: none")
    total: int = Field(description="Points of the series in all, also outside the range")
    columns: Columns


class Chart(Schema):
    name: str = Field(examples=["train/loss"])
    x: Axis
    start: float | None = Field(alias="from", description="Null where there is no point")
    end: float | None = Field(alias="to")
    series: list[ChartSeries]


class Charts(Schema):
    seq: int = Field(description="The number in the job's feed up to which these are complete")
    forgotten_at: datetime | None = Field(description="When the job's metrics were removed, as its `retention` says")
    charts: list[Chart] = Field(description="In the order in which they were asked for")


class Spread(Schema):
    """Of the points in a range."""

    count: int = Field(description="Finite values")
    odd: int = Field(description="Points whose value is not finite")
    p50: float | None = Field(description="Where the bin begins with which half of the values are reached; null: there is none")
    p90: float | None
    p99: float | None


class DistributionSeries(Spread):
    attempt: int
    source: str = Field(description="Who measured: the label of a process", examples=["worker-0"])
    rank: int = Field(description="The worker that it is about; -1: none")
    total: int = Field(description="Points of the series in all, also outside the range")
    counts: list[int] = Field(description="Finite values in each bin")


class Distribution(Spread):
    """Bin i holds the values from `low + i * width` to below `low + (i + 1) * width`, the last also those at its end. Where values
    are whole numbers `width` is one, and 1 unless more than 200 numbers lie between the least and the greatest."""

    seq: int = Field(description="The number in the job's feed up to which this is complete")
    forgotten_at: datetime | None = Field(description="When the job's metrics were removed, as its `retention` says")
    name: str = Field(examples=["train/staleness"])
    x: Axis
    start: float | None = Field(alias="from", description="Null where there is no point")
    end: float | None = Field(alias="to")
    low: float | None = Field(description="Where the first bin begins; null: there is no finite value")
    width: float
    bins: int = Field(description="At most 200; the same for all series")
    series: list[DistributionSeries]


class LiveSeries(Schema):
    """What came of one series."""

    attempt: int
    source: str
    rank: int
    name: str
    total: int = Field(description="Points of the series with these")
    count: int = Field(description="Points that came")
    sum: float | None = Field(description="Of the finite values")
    odd: int = Field(description="Points whose value is not finite")
    points: list[LivePoint] = Field(description="The first, a lowest, a highest and the last of them; all, if there are up to 4")


class LiveMetrics(Schema):
    """Event `metrics` of a job's stream."""

    seq: int
    series: list[LiveSeries]


class MeasuredName(Schema):
    name: str = Field(examples=["train/loss"])
    series: int
    points: int


class MeasuredNames(Schema):
    items: list[MeasuredName]


class Storage(Schema):
    points: int
    series: int
    batches_bytes: int = Field(description="What came, compressed: exports are made from it")
    blocks_bytes: int = Field(description="What charts read, made from it")
    bytes: int = Field(description="Both")
    keep_for: float | None = Field(description="Seconds after the job's end, as its `retention` says; null: as long as the job")
    forgotten_at: datetime | None = Field(description="When they were removed; null: all are there")


class ExportFormat(StrEnum):
    CSV = "csv"
    PARQUET = "parquet"
