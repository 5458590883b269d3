"""An incarnation of a worker on this host, as a shard sees it: its vectors in shared memory, and its messages."""

from __future__ import annotations

from pathlib import Path

from gradstream.errors import PlaneLost
from gradstream.wire.transport.layout import Layout
from gradstream.wire.transport.pipe import ResponsePipeWriter
from gradstream.wire.transport.shm import Shared


class LocalWorker:
    def __init__(self, folder: Path, incarnation: tuple[int, int], shard: int, centers: int) -> None:
        """`centers`: how many the worker's shared memory holds."""
        self._folder, self._incarnation, self._centers = folder, incarnation, centers
        self._vectors: Shared | None = None
        self.responses = ResponsePipeWriter(folder, *incarnation, shard)
        self.into = 0
        """The center that the worker wants its next response in."""

    def leave(self) -> None:
        """It is over: its memory may go. A message may still have to tell it so."""
        self._vectors = None

    def vectors(self, layout: Layout) -> Shared:
        """Mapped when first asked for, since an incarnation may join before the model's size is known. Raises: PlaneLost."""
        if self._vectors is None:
            try:
                self._vectors = Shared.open(self._folder, *self._incarnation, layout, self._centers)
            except OSError as error:
                rank, number = self._incarnation
                raise PlaneLost(f"the shared memory of worker {rank}.{number} is gone: {error}") from error
        return self._vectors
