"""The sampling of a worker's pushes: which are measured, and what their responses add."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from gradstream.center.entries import Push, Response
from gradstream.center.positions import taken_at
from gradstream.training.replica import Replica
from gradstream.updates.bins import count_magnitudes
from gradstream.updates.layers import Layer, layers_of
from gradstream.updates.places import MeasuredPlaces
from gradstream.updates.sample import LayerHistogram, Layers, UpdateSample

log = logging.getLogger(__name__)


class _Measured(NamedTuple):
    push: Push
    gradient: Layers | None
    update: Layers


class UpdateSampler:
    """Measures one push in each `every`, at a random place, so that no rhythm of the workers falls into step with the samples.

    A sample exists once the response has told the staleness of its push."""

    def __init__(self, every: int, seed: str, w: Replica, keep: Callable[[UpdateSample], None]) -> None:
        self._places, self._w, self._keep = MeasuredPlaces(every, seed), w, keep
        self._layers = layers_of(w.model.parameters, w.theta.numel())
        self._gradient: Layers | None = None
        self._gradient_at: tuple[int, int] | None = None
        """The address of the gradient that was measured, and its version counter."""
        self._open: dict[int, _Measured] = {}
        """Measured pushes without a response, by the number of their entry."""
        self.lost = 0
        """Samples that a limit dropped, or whose response told no staleness."""
        self._ask_for_gradient()

    def posting(self, push: Push, x: Tensor) -> None:
        """Measure the push if it is due. `x`: the vector that it will send, before the codec."""
        if self._places.count():
            is_same = self._gradient_at == (x.data_ptr(), x._version)
            update = self._gradient if self._gradient and is_same else measure(x, self._layers)
            self._open[push.seq] = _Measured(push, self._gradient, update)
        self._gradient = None
        self._ask_for_gradient()

    def answered(self, response: Response) -> None:
        """Make the sample of this push, if it was measured."""
        measured = self._open.pop(response.seq, None)
        if measured is None:
            return
        if response.staleness is None:  # the center came a second time, after a damaged one
            self.lost += 1
            return
        push, gradient, update = measured
        is_same = gradient == update
        assert response.outcome in ("applied", "deferred", "dropped"), "pushes have one of these outcomes"
        sample = UpdateSample(
            step=taken_at(push.position),
            push=push.seq,
            base=push.base,
            version=response.version,
            samples=response.samples,
            staleness=response.staleness,
            outcome=response.outcome,
            time=time.time(),
            lost=self.lost,
            gradient=None if is_same else gradient,
            pushes_gradient=is_same,
            update=update,
        )
        self._keep(sample)

    def _ask_for_gradient(self) -> None:
        self._w.on_gradient = self._note_gradient if self._places.next_is_due else None

    def _note_gradient(self, g: Tensor) -> None:
        self._w.on_gradient = None
        self._gradient, self._gradient_at = measure(g, self._layers), (g.data_ptr(), g._version)


def measure(x: Tensor, layers: Sequence[Layer]) -> Layers:
    """Count the magnitudes of a vector in each layer. A layer on a GPU is copied to the CPU, one after another."""
    return tuple(_measure_layer(layer.name, x.detach()[layer.start : layer.stop]) for layer in layers)


def _measure_layer(name: str, part: Tensor) -> LayerHistogram:
    narrow = part.dtype not in (torch.float32, torch.float64)
    found = count_magnitudes((part.float() if narrow else part).cpu().numpy())
    places = found.bins.nonzero()[0]
    first, stop = (int(places[0]), int(places[-1]) + 1) if places.size else (0, 0)
    return LayerHistogram.model_construct(  # what the platform checks when it comes
        name=name,
        elements=part.numel(),
        zeros=found.zeros,
        not_finite=found.not_finite,
        first=first,
        counts=tuple(found.bins[first:stop].tolist()),
        norm=min(found.norm, sys.float_info.max),
        low=found.low,
        high=found.high,
    )
