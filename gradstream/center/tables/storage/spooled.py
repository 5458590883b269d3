"""All rows of a table in two columns, of which a table that is bounded in memory leaves the weights on its disk."""

from __future__ import annotations

import tempfile

import numpy as np
from numpy.typing import NDArray

from gradstream.center.tables.storage.contents import read_contents
from gradstream.center.tables.table import EmbeddingTable
from gradstream.errors import Unavailable

_ROWS = 1 << 16
"""Rows that are in memory at once, about."""


def keys_and_weights(table: EmbeddingTable) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return a copy of both, without the state of the rule. Raises: Unavailable: the disk is full, or a file on it is damaged."""
    if table.tier is None or not table.alive:
        contents = read_contents(table)
        return contents.keys, contents.values[:, : table.width].copy()
    step = max(1, len(table.buckets) * _ROWS // table.alive)
    keys = []
    try:
        with tempfile.TemporaryFile(dir=table.tier.folder) as file:
            for begin in range(0, len(table.buckets), step):
                contents = read_contents(table, buckets=slice(begin, begin + step))
                keys.append(contents.keys)
                file.write(np.ascontiguousarray(contents.values[:, : table.width]).data)
            file.flush()
            weights = np.memmap(file, np.float32, mode="c", shape=(table.alive, table.width))  # stays when the file is closed
    except OSError as error:
        raise Unavailable(
            f"table '{table.name}' is bounded in memory, and its trained rows cannot be written to {table.tier.folder} ({error}); "
            "free space there"
        ) from error
    return np.concatenate(keys), np.asarray(weights)
