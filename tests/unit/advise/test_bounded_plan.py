"""The forecast of a table that is bounded in memory, beside the memory and the file of a real one."""

from __future__ import annotations

import numpy as np
import pytest

from gradstream.advise.table_plan import planned_tables
from gradstream.api.plan import TableSize
from gradstream.center.tables.table import EmbeddingTable
from gradstream.sim.toys import job
from gradstream.spec.tables import TableSpec

ROWS, BOUND, WIDTH = 60_000, 6_000, 16
TABLE = {"rule": {"name": "adagrad"}, "memory": {"rows": BOUND}}


def real_table() -> EmbeddingTable:
    table = EmbeddingTable("user", WIDTH, TableSpec.model_validate(TABLE), 1)
    for keys in np.arange(ROWS).reshape(-1, 1000):
        found = table.look_up(keys)
        ones = np.ones(len(keys), np.int64)
        table.push(found.keys, found.loans, np.ones((len(keys), WIDTH), np.float32), ones, np.zeros(len(keys), np.float32))
    return table


@pytest.mark.more
def test_a_plan_has_the_memory_and_the_disk_of_a_bounded_table() -> None:
    table = real_table()
    size = TableSize(
        name="user",
        row_bytes=table.row_nbytes,
        cold_row_bytes=table.cold_row_nbytes,
        keys=1000,
        push_bytes=1,
        pull_bytes=1,
        samples=1000,
        distinct=1000,
        growth=1.0,
    )
    spec = job({"name": "sync"}, tables={"user": TABLE}, stop={"steps": ROWS // 8}, batch_size=8, roles={"worker": {"count": 1}})
    [planned] = planned_tables(spec, [size], None, 2**21)
    assert planned.rows == ROWS
    assert planned.server_bytes == pytest.approx(table.nbytes, rel=0.25)
    assert planned.server_bytes < 0.6 * ROWS * table.row_nbytes, "vectors are not in memory"
    assert table.tier
    on_disk = (ROWS - BOUND) * (size.row_bytes - size.cold_row_bytes)
    assert on_disk == pytest.approx(table.tier.file_bytes, rel=0.25)
    assert (
        f"6,000 of 60,000 rows stay in memory. The others take {on_disk / 2**20:,.1f} MiB on each server's disk" in planned.message
    )
    assert planned.full_at_rows is not None
    hot, cold = BOUND * size.row_bytes, (planned.full_at_rows - BOUND) * size.cold_row_bytes
    assert hot + cold == pytest.approx(2**21, rel=0.001)
