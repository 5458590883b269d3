"""Views of a simulation while it runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from torch import Tensor

from gradstream.center.entries import Buffers
from gradstream.center.tables.payload import FoundRows, RowKeys
from gradstream.sim.center import ShardedCenter


@dataclass(frozen=True)
class View:
    """The simulation at one moment; read it before the watch returns."""

    time: float
    """Virtual time."""
    samples: int
    """Examples whose updates the center has seen."""
    version: int
    events: int
    """Pushes so far."""
    loss: float | None
    """Mean over the mini-batches made since the view before; None: there were none."""
    _center: ShardedCenter

    def center(self) -> Tensor:
        """Return a copy of the center as an evaluator gets it: averaged over the versions if the job says `evaluate.average`."""
        return self._center.for_evaluation().x

    def buffers(self) -> Buffers | None:
        return self._center.for_evaluation().buffers

    def figures(self) -> dict[str, float]:
        """Return the figures of the last examples that the workload observed; empty: none."""
        return self._center.figures()

    def look_up(self, keys: Mapping[str, RowKeys]) -> Mapping[str, FoundRows]:
        """Return rows of the model's tables."""
        return self._center.look_up(keys)


Watch = Callable[[View], bool | None]
"""True ends the simulation."""


class Watching:
    """Calls a watch each time the center has seen `every` more samples, and at the end."""

    def __init__(self, watch: Watch, every: int | None) -> None:
        """`every` None: at the end only. Raises: ValueError."""
        if every is not None and every < 1:
            raise ValueError("watch_every must be 1 sample or more")
        self._watch, self._every = watch, every
        self._seen = -1
        self._losses = 0.0
        self._count = 0

    def lost(self, loss: float) -> None:
        self._losses += loss
        self._count += 1

    def look(self, center: ShardedCenter, time: float, events: int, *, end: bool = False) -> bool:
        """Call the watch if it is due. True: the watch ends the simulation."""
        samples = center.samples
        if samples == self._seen or not (end or self._due(samples)):
            return False
        self._seen = samples
        loss = self._losses / self._count if self._count else None
        self._losses, self._count = 0.0, 0
        return bool(self._watch(View(time, samples, center.version, events, loss, center)))

    def begin(self, samples: int) -> None:
        """Note that a resumed run has seen the samples up to here."""
        self._seen = samples

    def _due(self, samples: int) -> bool:
        return self._every is not None and samples // self._every > max(0, self._seen) // self._every
