"""A life of a worker on this host, as a shard sees it: its vectors in shared memory, and its letters."""

from __future__ import annotations

from pathlib import Path

from gradstream.errors import PlaneLost
from gradstream.wire.layout import Layout
from gradstream.wire.pipe import LetterSlot
from gradstream.wire.shm import Shared


class Near:
    def __init__(self, folder: Path, life: tuple[int, int], shard: int, centers: int) -> None:
        """`centers`: how many the worker has room for."""
        self._folder, self._life, self._centers = folder, life, centers
        self._vectors: Shared | None = None
        self.letters = LetterSlot(folder, *life, shard)
        self.into = 0
        """The center that the worker wants its next answer in."""

    def leave(self) -> None:
        """It is over: its memory may go. A letter may still have to tell it so."""
        self._vectors = None

    def vectors(self, layout: Layout) -> Shared:
        """Mapped when they are first asked for, since a life may join before the model's size is known. Raises: PlaneLost."""
        if self._vectors is None:
            try:
                self._vectors = Shared.open(self._folder, *self._life, layout, self._centers)
            except OSError as error:
                rank, incarnation = self._life
                raise PlaneLost(f"the shared memory of worker {rank}.{incarnation} is gone: {error}") from error
        return self._vectors
