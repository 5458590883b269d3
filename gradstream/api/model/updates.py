"""Update samples of a job: histograms of gradients and pushed updates by layer, against the staleness of the push."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from gradstream.api.base import ApiModel
from gradstream.updates.sample import UpdateSample, What

GroupedBy = Literal["staleness", "samples"]


class StoredUpdateSample(ApiModel):
    """One sampled push."""

    seq: int
    rank: int = Field(description="The worker")
    attempt: int
    sample: UpdateSample


class UpdateSamplePage(ApiModel):
    items: list[StoredUpdateSample] = Field(description="In the order of their arrival")
    next: int | None = Field(description="Give it as `after` to read on; null: these are the last ones so far")


class NormBand(ApiModel):
    """Quantiles of the L2 norm over the samples of one group."""

    p10: float
    p50: float
    p90: float


class UpdateGroup(ApiModel):
    """The samples of one range of staleness, or of one part of the training."""

    low: int = Field(description="The least staleness of the range; by samples: those of the center at its first sample")
    high: int = Field(description="The greatest one")
    count: int = Field(description="Sampled pushes")
    dropped: int = Field(description="Those that the servers dropped")
    elements: int = Field(description="Elements of all these pushes; the counts, zeros and not_finite add up to it")
    zeros: int
    not_finite: int
    first: int = Field(description="The number of the bin of the first count")
    counts: list[int] = Field(description="By magnitude. Bin b begins at 2^(b // 2 - 126), times 1.5 if b is odd")
    median: float | None = Field(
        description="Median of the finite elements' magnitudes, interpolated in its bin; null: there are none"
    )
    norm: NormBand


class UpdateLayer(ApiModel):
    name: str
    elements: int


class UpdateHistograms(ApiModel):
    every: int | None = Field(description="Pushes of a worker from which one is measured; null: the job measures none")
    layers: list[UpdateLayer] = Field(description="In the order of the model's parameters")
    ranks: list[int] = Field(description="Workers that have samples")
    count: int = Field(description="Stored samples of the workers asked for")
    used: int = Field(description="Samples that the groups have: evenly chosen, if there are more than `most`")
    lost: int = Field(description="Samples that limits have dropped in the workers")
    full: bool = Field(description="The job may store no more samples")
    what: What
    layer: str | None = Field(description="null: all layers together")
    groups: list[UpdateGroup] = Field(description="Without the empty ones")
