"""Short runs of a job with embedding tables in which everything goes wrong: see `crowd_with_rows`."""

from __future__ import annotations

import os
from collections import Counter
from random import Random
from typing import Any

import pytest

from gradstream.center.entries import FINAL_CHECKPOINT
from gradstream.center.tables.storage import copying
from tests.unit.center.tables.crowd_with_rows import OUTCOMES, TABLES, CrowdWithRows
from tests.unit.center.test_fuzz import GATES, spec

RUNS = int(os.environ.get("GRADSTREAM_FUZZ_RUNS", "20"))
"""For each gate, of the long run; 200 take half an hour. The ordinary run plays some gates once."""
SOME = ("asp", "max_staleness", "ssp(1), acknowledged", "asp, inside", "quorum 2", "gathered")


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy takes several entries also of few rows."""
    monkeypatch.setattr(copying, "PIECE", 300)


def bounded(seed: int) -> dict[str, Any]:
    """Return the tables; two of three draws bound one or both of them in memory."""
    chance = Random(seed)
    names = chance.choice([(), ("user",), ("user", "item")])
    return {name: of | ({"memory": {"rows": chance.randrange(3, 7)}} if name in names else {}) for name, of in TABLES.items()}


class Runs:
    """Counts of events over several runs."""

    def __init__(self) -> None:
        self.keys, self.copies, self.resumed, self.cold_reads = Counter[str](), Counter[str](), 0, 0

    def play(self, gate: str, seed: int) -> None:
        crowd = CrowdWithRows(spec(gate, workers=3, tables=bounded(seed)), seed, pushes=40)
        crowd.play()
        self.cold_reads += crowd.cold_reads()
        self.keys.update({outcome: keys for (_, outcome), keys in crowd.plain.account.items()})
        self.copies += crowd.readers.outcomes
        crowd.checkpoints.pop(FINAL_CHECKPOINT)
        if crowd.checkpoints:
            newest = max(crowd.checkpoints)
            other = spec(gate, workers=3, tables=bounded(seed + 1))  # rows stay when the bound changes
            CrowdWithRows(other, seed, 15, crowd.checkpoints[newest], crowd.plain_at[newest]).play()
            self.resumed += 1


def test_some_things_go_wrong_with_rows() -> None:
    runs = Runs()
    for seed, gate in enumerate(SOME):
        runs.play(gate, seed)
    assert min(runs.keys[outcome] for outcome in OUTCOMES) > 0, runs.keys
    assert runs.resumed > 2
    assert runs.cold_reads > 0, "rows come from disk"
    assert set(runs.copies) == {"whole", "increment", "failed"}, "checkpoints and exports are committed, and fail"


@pytest.mark.long
@pytest.mark.parametrize("gate", GATES)
def test_everything_goes_wrong_with_rows(gate: str) -> None:
    runs = Runs()
    for seed in range(RUNS):
        runs.play(gate, seed)
    assert runs.keys["applied"] > RUNS
    assert runs.keys["counted"] > RUNS
    assert runs.resumed > RUNS / 10
    assert runs.cold_reads > RUNS
    assert set(runs.copies) == {"whole", "increment", "failed"}
