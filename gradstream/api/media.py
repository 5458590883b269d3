"""Media of a job: the images, figures, tables, texts and histograms that its user code has logged."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from gradstream.api.base import ApiModel, Known
from gradstream.user_logging.items import MediaKind


class MediaName(ApiModel):
    """All items of one name."""

    name: str = Field(examples=["samples/first"])
    kind: Known[MediaKind]
    ranks: list[int] = Field(description="Workers that have logged it; -1: the evaluator")
    count: int
    bytes: int
    first_step: int
    last_step: int
    seq: int = Field(description="The highest `seq` of its items: it grows when there are new ones")


class JobMedia(ApiModel):
    items: list[MediaName] = Field(description="By name")
    bytes: int = Field(description="Stored bytes of all items")
    max_bytes: int = Field(description="The bytes that a job may store")


class MediaItem(ApiModel):
    """One item, without its content."""

    seq: int
    name: str
    kind: Known[MediaKind]
    rank: int = Field(description="-1: the evaluator")
    step: int = Field(description="The worker's mini-batch; in evaluations, the version of the center")
    samples: int
    version: int
    attempt: int
    time: datetime
    size: int
    width: int | None = Field(description="Pixels, of images and figures; null: another kind")
    height: int | None


class MediaPage(ApiModel):
    items: list[MediaItem] = Field(description="In the order of their arrival")
    next: int | None = Field(description="Give it as `after` to read on; null: these are the last ones so far")


class StoredHistogram(ApiModel):
    """The distribution of logged values at one step."""

    seq: int
    rank: int
    step: int
    samples: int
    version: int
    time: datetime
    edges: list[float] = Field(description="Edges of the bins, one more than there are counts")
    counts: list[int]
    nan: int = Field(description="Values that were NaN")
    inf: int = Field(description="Values that were infinite")


class StoredHistograms(ApiModel):
    items: list[StoredHistogram] = Field(description="By step. If there are more than `most`, they are chosen evenly")
    count: int = Field(description="Histograms that there are")
