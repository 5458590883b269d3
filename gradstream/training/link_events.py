"""The events of a link."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor

from gradstream.center.entries import Push, Response


class LinkEvents:
    """Events of a link, which a worker overrides. Here they do nothing."""

    def save_state(self, checkpoint: int, state: Callable[[], dict[str, Any]]) -> None:
        """Keep this worker's state for a checkpoint. `state` copies it; call it before this returns, or not at all."""

    def posting(self, push: Push, x: Tensor) -> None:
        """Look at what a push will send, before a codec changes it. `x`: shape (size,), on the CPU; not to be kept."""

    def pushed(self, push: Push) -> None:
        """Note that a push was posted."""

    def answered(self, response: Response) -> None:
        """Note the response to a push."""

    def measured_distance(self, distance: float) -> None:
        """Note, for a sample of pushes, the L2 distance of the center from a push's base when the push was applied."""

    def waits_for_data(self) -> None:
        """Note, about twice a second, that the next mini-batch is not there yet."""
