"""Update samples of `run --local`: each step is a push of its gradient to a center that nothing else changes."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from torch import nn

from gradstream.optim.parameters import ParameterShape
from gradstream.spec import JobSpec
from gradstream.updates.layers import layers_of
from gradstream.updates.places import MeasuredPlaces
from gradstream.updates.posted import write_samples
from gradstream.updates.sample import UpdateSample
from gradstream.updates.sampler import measure


class LocalUpdates:
    def __init__(self, spec: JobSpec, named: Sequence[tuple[str, nn.Parameter]], folder: Callable[[], Path]) -> None:
        """`named`: the trained parameters. `folder`: of the run, made when the first sample comes."""
        self._folder, self._trained = folder, [parameter for _, parameter in named]
        shapes = [ParameterShape(name, tuple(parameter.shape)) for name, parameter in named]
        self._layers = layers_of(shapes, sum(shape.size for shape in shapes))
        every = spec.update_histograms.every if spec.update_histograms else 1
        self._places = MeasuredPlaces(every, f"{spec.seed}.0")

    def look(self, *, step: int, samples: int) -> None:
        """Measure the gradients of a step, if it is due. All parameters have one."""
        if not self._places.count():
            return
        vector = torch.cat([p.grad.detach().reshape(-1) for p in self._trained if p.grad is not None])
        sample = UpdateSample(
            step=step,
            push=step,
            base=step - 1,
            version=step,
            samples=samples,
            staleness=0,
            outcome="applied",
            time=time.time(),
            pushes_gradient=True,
            update=measure(vector, self._layers),
        )
        write_samples(self._folder(), 0, [sample])
