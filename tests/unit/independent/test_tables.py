"""Tables of 1, 2, 3 and 7 shards and a dictionary of plain numpy come to the same bits, whatever happens to the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradstream.center.tables.hashing import buckets_of_shard, shards_of
from gradstream.center.tables.payload import FoundRows
from gradstream.center.tables.storage.contents import TableContents, add_contents, read_contents
from gradstream.center.tables.table import EmbeddingTable
from gradstream.spec.tables import TableSpec
from tests.unit.independent.tables import PlainTable

RULES: list[dict[str, Any]] = [
    {"name": "sgd", "lr": 0.1, "damp": True},
    {"name": "adagrad", "lr": 0.1},
    {"name": "adagrad", "lr": 0.1, "rowwise": True, "initial": 0.1, "damp": True},
    {"name": "adam", "lr": 0.01},
    {"name": "ftrl", "alpha": 0.5, "beta": 1, "l1": 0.3, "l2": 0.1},
]
POLICIES: list[dict[str, Any]] = [
    {},
    {"admit": {"count": 3}, "keep": {"unseen": 2}},
    {"admit": {"probability": 0.3}, "keep": {"decay": 0.9, "score": 0.4}},
    {"admit": {"score": 0.5}, "keep": {"decay": 0.7, "score": 0.2, "unseen": 3}},
    {"keep": {"unseen": 1}, "most": 2048},
]
SHARDS = (1, 2, 3, 7)
CAPACITY = 4096


class Sharded:
    """Tables of several shards, as one."""

    def __init__(self, spec: TableSpec, width: int, seed: int, shards: int) -> None:
        self.shards = shards
        self.tables = [EmbeddingTable("t", width, spec, seed, buckets_of_shard(k, shards), CAPACITY) for k in range(shards)]

    def look_up(self, keys: Any) -> list[tuple[Any, FoundRows]]:
        of = shards_of(keys, self.shards)
        return [(of == k, table.look_up(keys[of == k])) for k, table in enumerate(self.tables)]

    def push(self, looked: list[tuple[Any, FoundRows]], gradients: Any, occurrences: Any, clicks: Any) -> list[int]:
        total = np.zeros(4, int)
        for table, (mine, lookup) in zip(self.tables, looked, strict=True):
            done = table.push(lookup.keys, lookup.loans, gradients[mine], occurrences[mine], clicks[mine])
            total += (done.applied, done.counted, done.missed, done.dropped)
        return list(total)

    def contents(self) -> TableContents:
        parts = [read_contents(table).columns() for table in self.tables]
        return TableContents(**{name: np.concatenate([part[name] for part in parts]) for name in parts[0]})


def same(a: TableContents, b: TableContents) -> None:
    for name, column in a.columns().items():
        assert column.tobytes() == getattr(b, name).tobytes(), name


def compare(plain: PlainTable, found: TableContents) -> None:
    assert set(map(int, found.keys)) == set(plain.rows)
    assert dict(zip(map(int, found.waiting), map(int, found.waiting_occurrences), strict=True)) == {
        key: held.occurrences for key, held in plain.candidates.items()
    }
    for i, key in enumerate(map(int, found.keys)):
        row = plain.rows[key]
        assert found.values[i].tobytes() == np.concatenate([row.w, row.s]).astype(np.float32).tobytes()
        assert (found.updates[i], found.seen[i]) == (row.updates, row.seen)
        assert found.events[i].tolist() == [row.shows, row.clicks] or not plain.scored


def _pairs() -> list[Any]:
    """Each rule with each policy. `make test` runs two policies of each rule, so it meets every rule and every policy twice."""
    return [
        pytest.param(
            rule, policy, id=f"{rule['name']}{len(rule)}-{policy}", marks=() if (i + j) % len(POLICIES) < 2 else pytest.mark.long
        )
        for i, rule in enumerate(RULES)
        for j, policy in enumerate(POLICIES)
    ]


@pytest.mark.few(2)
@pytest.mark.parametrize(("rule", "policy"), _pairs())
@settings(max_examples=6, deadline=None)
@given(seed=st.integers(0, 2**64 - 1), width=st.integers(1, 9), random=st.integers(0, 2**32))
def test_rows_that_are_admitted_updated_and_evicted(
    rule: dict[str, Any], policy: dict[str, Any], seed: int, width: int, random: int
) -> None:
    table_settings = {**policy, "rule": rule, "init": {"uniform": 0 if rule["name"] == "ftrl" else 0.05}}
    spec = TableSpec.model_validate(table_settings)
    plain = PlainTable("t", width, table_settings, seed, spec.has_scores)
    sharded = [Sharded(spec, width, seed, shards) for shards in SHARDS]
    rng = np.random.default_rng(random)
    known = rng.integers(-(2**63), 2**63 - 1, 30, endpoint=True)
    under_way: list[Any] = []
    for _ in range(25):
        if rng.random() < 0.15:
            plain.time += int(rng.integers(0, 2))
            for each in sharded:
                for table in each.tables:
                    table.time = plain.time
                    table.shrink()
            plain.shrink()
        keys = rng.choice(known, rng.integers(0, 12), replace=False)
        under_way.append((keys, [plain.read(int(key)) for key in keys], [each.look_up(keys) for each in sharded]))
        for key, (w, _, _) in zip(keys, under_way[-1][1], strict=True):
            mine, lookup = under_way[-1][2][0][0]
            assert lookup.values[keys[mine] == key][0].tobytes() == w.tobytes()
        if rng.random() < 0.7:
            keys, read, looked = under_way.pop(int(rng.integers(len(under_way))))
            gradients = rng.normal(size=(len(keys), width)).astype(np.float32)
            occurrences, clicks = rng.integers(1, 4, len(keys)), rng.integers(0, 2, len(keys)).astype(np.float32)
            outcomes = [
                plain.push(int(key), of, updates, gradients[i], int(occurrences[i]), clicks[i])
                for i, (key, (_, of, updates)) in enumerate(zip(keys, read, strict=True))
            ]
            expected = [outcomes.count(name) for name in ("applied", "counted", "missed", "dropped")]
            for each, lookup in zip(sharded, looked, strict=True):
                assert each.push(lookup, gradients, occurrences, clicks) == expected
    whole = sharded[0].contents()
    compare(plain, whole)
    for each in sharded[1:]:
        same(whole, each.contents())
    resharded = Sharded(spec, width, seed, 5)
    for table in resharded.tables:
        add_contents(table, whole)
    same(whole, resharded.contents())
