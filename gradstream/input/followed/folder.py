"""The mini-batches of a folder that grows: the same ones for every position, whenever its files come.

Each stretch (`stretches`) consists of blocks of `batch_size` examples for each of n ranks, of which rank r takes the r-th part; the
last block of a stretch may be smaller. So no mini-batch spans two files or passes, and a rank's position tells file and example.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

from gradstream.center.positions import Place
from gradstream.data.followed import FollowedFolder
from gradstream.data.ragged import examples_of
from gradstream.errors import InvalidWorkload
from gradstream.input.followed.stretches import Passes, Stretch
from gradstream.input.gather import PLAIN, Batching
from gradstream.input.pieces import PieceReader
from gradstream.spec import JobSpec


class Followed:
    """Implements `Feed` and `FollowedFeed`."""

    thread_safe = False
    takes_in_turn = False
    leaderless: tuple[int, ...] = ()
    is_unreachable = False

    def __init__(self, dataset: FollowedFolder, spec: JobSpec, rank: int, batching: Batching = PLAIN) -> None:
        """Raises: InvalidWorkload."""
        batching.never_for(dataset)
        if batching.drop_last:
            raise InvalidWorkload(f"drop_last would lose the end of each file in {dataset.path}; remove it")
        if spec.data.prefetch or spec.data.processes:
            raise InvalidWorkload(f"{dataset.path} is read as its files come; remove data.prefetch and data.processes")
        self._dataset, self._rank, self._workers, self._batch = dataset, rank, spec.roles.worker.count, spec.batch_size
        self._passes, self._files = Passes(spec.data), 0
        """The number of files that are divided into stretches."""
        if self._passes.by_time and dataset.time is None:
            raise InvalidWorkload(
                f"data.length: {spec.data.length} is a time, and {dataset.path} has no column of times; name it, "
                "parquet_folder(..., time='seen_at'), or give a number of examples"
            )
        self._stretches: list[Stretch] = []
        self._ends: list[int] = []
        """Mini-batches of this rank up to the end of each stretch."""
        self._examples: list[int] = []
        """Its examples up to there."""
        self._at = -1, 0
        """File and row that come next from the reader."""
        self._reader: PieceReader | None = None

    def share(self, rank: int) -> None:
        return None

    def has(self, position: int) -> bool:
        """Return whether this mini-batch is there. Looks for new files if it is not. Raises: InvalidWorkload."""
        if position >= self._known:
            self._look()
        return position < self._known

    def behind(self, position: int) -> int:
        """Return the examples of this rank that are there, from the mini-batch of this position on."""
        self._look()
        stretch, block = self._place(position)
        before = (self._examples[stretch - 1] if stretch else 0) + block * self._batch
        return max(0, self._known_examples - before)

    def pass_of(self, position: int) -> int:
        """Return the number of the pass that this mini-batch is of."""
        return self._stretches[self._place(position)[0]].number

    def passes_until(self, position: int) -> int:
        """Return the number of passes that are over for this rank with this mini-batch, as far as its file tells: another file that
        has come meanwhile changes nothing."""
        place, _ = self._place(position)
        stretch = self._stretches[place]
        return stretch.number + (stretch.ends_pass and position + 1 == self._ends[place])

    def begins_stretch(self, position: int) -> bool:
        return self._place(position)[1] == 0

    def place(self) -> Place:
        """Empty: positions say all."""
        return ()

    def go_to(self, position: int, place: Place) -> None: ...

    def begin(self, position: int) -> None: ...

    def state(self) -> dict[str, Any]:
        """Empty: names and markers say all."""
        return {}

    def load(self, state: dict[str, Any]) -> None: ...

    @property
    def late(self) -> list[str]:
        """Names of files that came too late to be read."""
        return self._dataset.late

    def take(self, position: int) -> tuple[Any, int]:
        """Raises: InvalidWorkload: it is not there."""
        if not self.has(position):
            raise InvalidWorkload(
                f"{self._dataset.path} has no mini-batch number {position} for worker {self._rank} yet, and only a job waits for it"
            )
        place, block = self._place(position)
        stretch = self._stretches[place]
        row = stretch.first + block * self._batch * self._workers
        if self._at != (stretch.file, row) or self._reader is None:
            self._reader = PieceReader(self._dataset.pieces_of(stretch.file, row))
        size = self._size(stretch.rows, block)
        self._at = stretch.file, row + size
        kept, _ = self._reader.read(size, 0, 1)
        begin, count = self._part(size)
        return examples_of(self._reader.batch(kept), slice(begin, begin + count)), count

    def _place(self, position: int) -> tuple[int, int]:
        """The stretch of a mini-batch of this rank, and its block there."""
        stretch = bisect_right(self._ends, position)
        return stretch, position - (self._ends[stretch - 1] if stretch else 0)

    def _size(self, rows: int, block: int) -> int:
        """The rows of a block of a stretch of so many rows."""
        return min(self._batch * self._workers, rows - block * self._batch * self._workers)

    def _part(self, size: int) -> tuple[int, int]:
        """The first example of this rank in a block of so many rows, and how many it has."""
        begin, end = (size * rank // self._workers for rank in (self._rank, self._rank + 1))
        return begin, end - begin

    @property
    def _known(self) -> int:
        return self._ends[-1] if self._ends else 0

    @property
    def _known_examples(self) -> int:
        return self._examples[-1] if self._examples else 0

    def _look(self) -> None:
        self._dataset.look()
        for groups in self._dataset.files[self._files :]:
            times = self._dataset.times_of(self._files) if self._passes.by_time else None
            for stretch in self._passes.divide(self._files, sum(count for _, _, count in groups), times):
                self._append(stretch)
            self._files += 1

    def _append(self, stretch: Stretch) -> None:
        full, rest = divmod(stretch.rows, self._batch * self._workers)
        last = self._part(rest)[1]
        self._stretches.append(stretch)
        self._ends.append(self._known + full + (last > 0))
        self._examples.append(self._known_examples + full * self._batch + last)
