"""The mini-batches of a folder that grows: the same ones for every position, whenever its files come.

Each file consists of blocks of `batch_size` examples for each of n ranks, of which rank r takes the r-th part; the last block of a
file may be smaller. So no mini-batch spans two files, and the position of a rank tells file and example.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

from gradstream.data.followed import FollowedFolder
from gradstream.data.ragged import examples_of
from gradstream.errors import InvalidWorkload
from gradstream.input.gather import PLAIN, Batching
from gradstream.input.pieces import PieceReader
from gradstream.spec import JobSpec


class Followed:
    """Implements `Feed` and `FollowedFeed`."""

    thread_safe = False
    takes_in_turn = False

    def __init__(self, dataset: FollowedFolder, spec: JobSpec, rank: int, batching: Batching = PLAIN) -> None:
        """Raises: InvalidWorkload."""
        batching.never_for(dataset)
        if batching.drop_last:
            raise InvalidWorkload(f"drop_last would lose the end of each file in {dataset.path}; remove it")
        if spec.data.prefetch or spec.data.processes:
            raise InvalidWorkload(f"{dataset.path} is read as its files come; remove data.prefetch and data.processes")
        self._dataset, self._rank, self._workers, self._batch = dataset, rank, spec.roles.worker.count, spec.batch_size
        self._rows: list[int] = []
        """Those of each file."""
        self._ends: list[int] = []
        """Mini-batches of this rank up to the end of each file."""
        self._examples: list[int] = []
        """Its examples up to there."""
        self._next, self._file = -1, 0
        """The position whose mini-batch comes next from the reader, and the file that it reads."""
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
        file, block = self._place(position)
        before = (self._examples[file - 1] if file else 0) + block * self._batch
        return max(0, self._known_examples - before)

    def pass_of(self, position: int) -> int:
        """Return the number of the file that this mini-batch is of."""
        return self._place(position)[0]

    def begins_stretch(self, position: int) -> bool:
        return self._place(position)[1] == 0

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
        file, block = self._place(position)
        if position != self._next or file != self._file or self._reader is None:
            self._reader = PieceReader(self._dataset.pieces_of(file, block * self._batch * self._workers))
        self._next, self._file = position + 1, file
        kept, _ = self._reader.read(self._batch * self._workers, 0, 1)
        begin, count = self._part(self._rows[file], block)
        return examples_of(self._reader.batch(kept), slice(begin, begin + count)), count

    def _place(self, position: int) -> tuple[int, int]:
        """The file of a mini-batch of this rank, and its block there."""
        file = bisect_right(self._ends, position)
        return file, position - (self._ends[file - 1] if file else 0)

    def _part(self, rows: int, block: int) -> tuple[int, int]:
        """The first example of this rank in a block of a file of so many rows, and how many it has."""
        size = min(self._batch * self._workers, rows - block * self._batch * self._workers)
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
        for groups in self._dataset.files[len(self._rows) :]:
            rows = sum(count for _, _, count in groups)
            full, rest = divmod(rows, self._batch * self._workers)
            last = self._part(rows, full)[1] if rest else 0
            self._rows.append(rows)
            self._ends.append(self._known + full + (last > 0))
            self._examples.append(self._known_examples + full * self._batch + last)
