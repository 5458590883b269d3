"""Points, charts, targets and importance."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated
from uuid import UUID

from pydantic import Field

from gradstream.api import html
from gradstream.api.base import ApiModel, Known
from gradstream.api.statuses import JobStatus

PointRow = Annotated[
    tuple[str, int, int, int, int, float, float | None],
    Field(
        description="name, rank, step, samples, version, time, value (null: not finite)",
        examples=[["train/loss", 0, 12, 768, 5, 1763683200.5, 1.93]],
    ),
]


class MetricBatch(ApiModel):
    """Points that one process sent together."""

    seq: int
    attempt: int
    source: str = Field(description="Label of the process that measured", examples=["worker-0"])
    points: list[PointRow]


class Axis(StrEnum):
    """Mini-batches of that worker, or pushes handled; samples that the center had seen; its version; seconds since the epoch."""

    STEP = "step"
    SAMPLES = "samples"
    VERSION = "version"
    TIME = "time"


class ChartColumns(ApiModel):
    """The columns with points, list by list. `low`, `high` and `mean` are of the finite values. Null: not finite, or none is"""

    x: list[float] = Field(description="Position of the column's first point, in the order of arrival")
    first: list[float | None]
    low: list[float | None]
    high: list[float | None]
    last: list[float | None]
    mean: list[float | None]
    count: list[int] = Field(description="Points")
    odd: list[int] = Field(description="Points whose value is not finite")


class ChartSeries(ApiModel):
    attempt: int
    source: str = Field(description="Label of the process that measured", examples=["worker-0"])
    rank: int = Field(description="Worker that the values describe; -1: none")
    total: int = Field(description="Points of the whole series, also outside the range")
    columns: ChartColumns


class Chart(ApiModel):
    name: str = Field(examples=["train/loss"])
    x: Known[Axis]
    start: float | None = Field(alias="from", description="null: there is no point")
    end: float | None = Field(alias="to")
    series: list[ChartSeries]


class Reached(ApiModel):
    """The first point that reached the target."""

    value: float
    time: float = Field(description="Seconds since the epoch, by the clock of the process that measured")
    seconds: float = Field(description="Seconds since the start of the first attempt")
    samples: int
    samples_before: int | None = Field(
        description="Samples at the point before: the job reached the target somewhere after them; null: this is the first point"
    )
    step: int
    version: int
    sent_bytes: float = Field(description="Bytes of vectors that all workers had sent until then")
    attempt: int
    source: str = Field(examples=["evaluator"])
    rank: int = Field(description="Worker that the value describes; -1: none")


class JobTarget(ApiModel):
    job: UUID
    name: str = Field(examples=["digits-adag"])
    strategy: str = Field(examples=["adag"])
    status: Known[JobStatus]
    reached: Reached | None = Field(description="null: not reached so far")
    best: float | None = Field(description="The value nearest to the target, or furthest beyond it; null if none was measured")


class Targets(ApiModel):
    metric: str = Field(examples=["eval/accuracy"])
    at_least: float | None
    at_most: float | None
    items: list[JobTarget] = Field(description="The quickest first, those that never reached it last")
    missing: list[UUID] = Field(description="Requested jobs that do not exist, or exist no longer")

    def _repr_html_(self) -> str:
        return html.show_targets(self.items)


class SettingLevel(ApiModel):
    value: str
    runs: int
    mean: float = Field(description="Mean figure of these runs")


class SettingImportance(ApiModel):
    settings: list[str] = Field(description="Several: they differ between the same runs, so nothing tells them apart")
    importance: float = Field(description="Loss of out-of-bag R² when the values are shuffled between the runs; the mean")
    spread: float = Field(description="Standard deviation over the shuffles")
    stands_out: bool = Field(description="Shuffles and noise alone do not explain its importance")
    correlation: float | None = Field(description="Rank correlation (Spearman) with the figure; null: not a number in all runs")
    levels: list[SettingLevel] = Field(description="Unless it is a number: its values with the most runs, the lowest mean first")


class Importance(ApiModel):
    """The settings that explain a figure of ended runs, by a random forest and permutation importance."""

    figure: str = Field(examples=["min:eval/loss"])
    runs: int = Field(description="Ended runs with a finite value of the figure; only these count")
    r2: float | None = Field(description="Out-of-bag R²: what part of the variance the settings predict; null: not computed")
    needed_r2: float | None = Field(description="The least R² that is believed of so many runs; null: not computed")
    believed: bool = Field(description="The R² is high enough. If not, the importances say nothing")
    reason: str | None = Field(description="Why nothing was computed, and the remedy; null: it was")
    settings: list[SettingImportance] = Field(description="Settings that differ between the runs, the most important first")
    running: list[UUID] = Field(description="Runs left out, as they have not ended")
    without: list[UUID] = Field(description="Ended runs left out, as they have no finite value of the figure")
    missing: list[UUID] = Field(description="Requested jobs that do not exist, or exist no longer")
