"""The cost of checkpoints, exports and shrinks of a large table: bytes of an increment, and the longest exchange meanwhile.

An exchange is a lookup and a push of the keys of a mini-batch. A server copies a piece between two of them, so the next may
wait for it: each exchange here waits for one."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from gradstream.center.tables.storage.copying import TableCopy, pieces
from gradstream.center.tables.table import EmbeddingTable

EXCHANGES = 2000
"""As many as wait for a piece of a large table: the longest of them is known, too."""


def copy_ratios(found: EmbeddingTable, keys: NDArray[np.int64], batch: int) -> dict[str, float]:
    """`found`: a table with rows of these keys. Bytes of an increment with a tenth of them as a share of those of all. The longest
    exchange during a checkpoint, during an export and otherwise, and the shrink alone, as multiples of the 99th percentile of
    exchanges otherwise."""
    rng = np.random.default_rng(1)

    def push(some: NDArray[np.int64]) -> None:
        looked = found.look_up(some)
        found.push(some, looked.loans, np.ones((len(some), found.width), np.float32), np.ones(len(some), np.int64))

    def exchange() -> None:
        push(np.unique(rng.choice(keys, batch)))

    alone = [seconds(exchange) for _ in range(EXCHANGES)]
    usual = float(np.quantile(alone, 0.99))
    export, _ = longest_during(TableCopy(found, None, candidates=False), exchange)
    longest, whole = longest_during(TableCopy(found, None), exchange)
    above, found.mark = found.mark, found.mark + 1  # what exchanges have changed since the base does not count
    changed = rng.permutation(keys)[: len(keys) // 10]
    for first in range(0, len(changed), batch):
        push(changed[first : first + batch])
    increment = sum(piece.nbytes for piece in pieces(TableCopy(found, above)))
    return {
        "increment": increment / whole,
        "usual p99 in ms": 1e3 * usual,
        "alone": max(alone) / usual,
        "checkpoint": longest / usual,
        "export": export / usual,
        "shrink": seconds(found.shrink) / usual,
    }


def longest_during(copy: TableCopy, exchange: Callable[[], None]) -> tuple[float, int]:
    """Return the seconds of the longest exchange and the piece that it waits for, and the bytes of all pieces."""
    longest, sizes = 0.0, list[int]()
    while not copy.is_complete:
        longest = max(longest, seconds(lambda: sizes.append(copy.next_piece().nbytes)) + seconds(exchange))
    return longest, sum(sizes)


def seconds(work: Callable[[], object]) -> float:
    """CPU seconds of this process."""
    began = time.process_time()
    work()
    return time.process_time() - began
