"""One server's table that grows to a great number of rows: `python -m benchmarks.table_growth --rows 100000000`.

Each mini-batch brings keys that are all new. The time of a mini-batch is compared with the 99th percentile of all: a table that
moves its rows as it grows would show the moves here. Lookups at the end are compared with those at a tenth of the rows."""

from __future__ import annotations

import argparse
import resource

import numpy as np

from benchmarks.common import table
from benchmarks.table_copies import seconds
from benchmarks.tables import MINI_BATCH, ROWWISE, WIDTH
from gradstream.center.tables import kernel_cache
from gradstream.center.tables.table import EmbeddingTable
from gradstream.model import compile_kernels
from gradstream.spec.tables import TableSpec

LOOKUPS = 50


def peak_bytes() -> int:
    """Return the most memory that this process has had, in bytes."""
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def grow(rows: int) -> dict[str, float]:
    """CPU seconds in all and of a lookup, the longest mini-batch as a multiple of the p99, and bytes of a row."""
    rng, found = np.random.default_rng(0), EmbeddingTable("t", WIDTH, TableSpec.model_validate(ROWWISE))
    gradients, ones = rng.normal(size=(MINI_BATCH, WIDTH)).astype(np.float32), np.ones(MINI_BATCH, np.int64)
    before, spent, at_tenth = peak_bytes(), list[float](), 0.0

    def look_up() -> float:
        """Known keys: those of some mini-batches, drawn again."""
        again = np.random.default_rng(0)
        again.normal(size=(MINI_BATCH, WIDTH))
        known = [again.integers(-(2**63), 2**63 - 1, MINI_BATCH) for _ in range(LOOKUPS)]
        return min(seconds(lambda keys=keys: found.look_up(keys)) for keys in known)

    while found.alive < rows:
        keys = rng.integers(-(2**63), 2**63 - 1, MINI_BATCH)
        spent.append(seconds(lambda keys=keys: found.push(keys, found.look_up(keys).loans, gradients, ones)))
        if not at_tenth and found.alive >= rows / 10:
            at_tenth = look_up()
    return {
        "seconds": sum(spent),
        "p99": float(np.quantile(spent, 0.99)),
        "longest": max(spent) / float(np.quantile(spent, 0.99)),
        "lookup": at_tenth / look_up(),
        "table_bytes": found.nbytes / found.alive,
        "peak_bytes": (peak_bytes() - before) / found.alive,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    args = parser.parse_args()
    if not kernel_cache.is_complete():
        compile_kernels.main()
    found = grow(args.rows)
    rows = [
        (f"{args.rows:,} new rows, in mini-batches of {MINI_BATCH:,}", "", f"{found['seconds']:.0f} s of a core"),
        ("longest mini-batch", f"p99, {1e3 * found['p99']:.1f} ms", f"{found['longest']:.2f}"),
        ("speed of lookups", "at a tenth of the rows", f"{found['lookup']:.2f}"),
        ("bytes of a row, by the table's own count", "", f"{found['table_bytes']:.0f}"),
        ("bytes of a row, the most that the process has had", "", f"{found['peak_bytes']:.0f}"),
    ]
    print("\n".join(table(("what", "against", "figure"), rows)))


if __name__ == "__main__":
    main()
