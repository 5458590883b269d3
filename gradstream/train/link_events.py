"""The events of a link."""

from __future__ import annotations

from typing import Any

from gradstream.center.entries import Push


class LinkEvents:
    """Events of a link, which a worker overrides. Here they do nothing."""

    def save_state(self, checkpoint: int, state: dict[str, Any]) -> None:
        """Keep this worker's state for a checkpoint."""

    def pushed(self, push: Push) -> None:
        """Note that a push was posted."""

    def measured_distance(self, distance: float) -> None:
        """Note, for a sample of pushes, the L2 distance of the center from a push's base when the push was applied."""

    def waits_for_data(self) -> None:
        """Note, about twice a second, that the next mini-batch is not there yet."""
