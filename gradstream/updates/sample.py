"""One update sample, as a worker makes it and the platform keeps it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field, model_validator

from gradstream.bounds import MAX_COUNT
from gradstream.updates.edges import BINS
from gradstream.updates.layers import MAX_LAYER_NAME, MAX_LAYERS

What = Literal["gradient", "update"]
MAX_BATCH = 20
"""Samples that are sent at once."""
MAX_SAMPLE_BYTES = 128 * 1024
"""Bytes of one sample as JSON. 64 layers with 40 bins each take about 40 kB."""

Count = Annotated[int, Field(ge=0, le=MAX_COUNT)]
Elements = Annotated[int, Field(ge=0, le=2**40)]
"""A sum over all layers and samples fits into 64 bits."""
Finite = Annotated[float, Field(allow_inf_nan=False)]


class LayerHistogram(BaseModel, frozen=True):
    """The magnitudes in one layer. The counts, `zeros` and `not_finite` add up to `elements`."""

    name: str = Field(max_length=MAX_LAYER_NAME)
    elements: Elements
    zeros: Elements = 0
    not_finite: Elements = Field(0, description="NaN and infinite values, which are in no bin")
    first: int = Field(0, ge=0, le=BINS, description="The number of the first bin that has a count here")
    counts: tuple[Elements, ...] = Field(
        (),
        max_length=BINS,
        description="Counts from bin `first` on. Bin b begins at 2^(b // 2 - 126), times 1.5 if b is odd: two bins per octave",
    )
    norm: Finite = Field(ge=0, description="L2 norm of the finite values")
    low: Finite | None = Field(None, description="The least finite value; null: no value is finite")
    high: Finite | None = Field(None, description="The greatest finite value")

    @model_validator(mode="after")
    def _adds_up(self) -> LayerHistogram:
        if sum(self.counts) + self.zeros + self.not_finite != self.elements or self.first + len(self.counts) > BINS:
            raise ValueError("counts, zeros and not_finite must add up to elements, in the bins that there are")
        return self


Layers = Annotated[tuple[LayerHistogram, ...], Field(max_length=MAX_LAYERS)]


class UpdateSample(BaseModel, frozen=True):
    """A push whose response has come, with the histograms of its layers."""

    step: Count = Field(description="Mini-batches that the worker had trained")
    push: Count = Field(description="The number of the entry with the push, of this incarnation of the worker")
    base: Count = Field(description="The version that the push was computed from")
    version: Count = Field(description="The center's version in the response")
    samples: Count = Field(description="Samples of the center in the response")
    staleness: Count = Field(description="Versions between the base and the center when the servers decided on the push")
    outcome: Literal["applied", "deferred", "dropped"]
    time: Annotated[float, Field(ge=0, le=1e11)] = Field(description="Time of the response, in seconds since 1970")
    lost: Count = Field(
        0, description="Samples that this process had lost before: a limit was reached, or no response told a staleness"
    )
    gradient: Layers | None = Field(
        None, description="The gradient of the round's first mini-batch; null: see `pushes_gradient`, or the worker saw none"
    )
    pushes_gradient: bool = Field(False, description="The update is that gradient, so `update` stands for both")
    update: Layers = Field(description="Vector that the worker pushed, before the codec")

    def layers(self, what: What) -> tuple[LayerHistogram, ...]:
        """Return the layers of the gradient or of the update; empty: the worker saw none."""
        return self.update if what == "update" or self.pushes_gradient else self.gradient or ()
