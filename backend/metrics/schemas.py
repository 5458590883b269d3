from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from backend.schemas import Schema
from gradstream.api.charts import Axis, Chart, MetricBatch
from gradstream.metrics import Better

LivePoint = Annotated[
    tuple[int, int, int, float, float | None],
    Field(description="step, samples, version, time, value (null: not finite)", examples=[[12, 768, 5, 1763683200.5, 1.93]]),
]


class CatalogueEntry(Schema):
    name: str = Field(examples=["train/loss"])
    title: str = Field(examples=["Training loss"])
    group: str = Field(description="The title of the group that it is listed in", examples=["Training"])
    unit: str = Field(examples=["loss"])
    meaning: str
    better: Better
    drawn: bool = Field(description="False: one number, which the job's progress shows, and no chart")


class MetricPage(Schema):
    items: list[MetricBatch]
    next: int = Field(description="Give it as `after` to read on")


class Charts(Schema):
    seq: int = Field(description="Number in the job's feed up to which the charts are complete")
    forgotten_at: datetime | None = Field(description="Time at which the job's `retention` removed its metrics; null: not removed")
    charts: list[Chart] = Field(description="In the order of the request")


class Spread(Schema):
    """Counts and quantiles of the points in a range."""

    count: int = Field(description="Finite values")
    odd: int = Field(description="Points whose value is not finite")
    p50: float | None = Field(description="Start of the bin that holds the median; null: no finite value")
    p90: float | None
    p99: float | None


class DistributionSeries(Spread):
    attempt: int
    source: str = Field(description="Label of the process that measured", examples=["worker-0"])
    rank: int = Field(description="Worker that the values describe; -1: none")
    total: int = Field(description="Points of the whole series, also outside the range")
    counts: list[int] = Field(description="Finite values in each bin")


class Distribution(Spread):
    """Bin i holds the values from `low + i * width` to below `low + (i + 1) * width`, the last also those at its end. For
    whole numbers `width` is a whole number, and 1 unless more than 200 numbers lie between the least and the greatest."""

    seq: int = Field(description="Number in the job's feed up to which the distribution is complete")
    forgotten_at: datetime | None = Field(description="Time at which the job's `retention` removed its metrics; null: not removed")
    name: str = Field(examples=["train/staleness"])
    x: Axis
    start: float | None = Field(alias="from", description="null: there is no point")
    end: float | None = Field(alias="to")
    low: float | None = Field(description="Start of the first bin; null: no finite value")
    width: float
    bins: int = Field(description="At most 200; the same for all series")
    series: list[DistributionSeries]


class LiveSeries(Schema):
    """New points of one series."""

    attempt: int
    source: str
    rank: int
    name: str
    total: int = Field(description="Points of the series, the new ones among them")
    count: int = Field(description="New points")
    sum: float | None = Field(description="Sum of the finite values")
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
    batches_bytes: int = Field(description="Received batches, compressed; exports read them")
    blocks_bytes: int = Field(description="Blocks derived from the batches; charts read them")
    bytes: int = Field(description="Both")
    keep_for: float | None = Field(description="Seconds after the job's end, as its `retention` says; null: as long as the job")
    forgotten_at: datetime | None = Field(description="Time of their removal; null: all are kept")


class ExportFormat(StrEnum):
    CSV = "csv"
    PARQUET = "parquet"
