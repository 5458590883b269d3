"""Lookups, pushes and shrinks of one table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from gradstream.center.tables import index
from gradstream.center.tables.hashing import buckets_of, buckets_of_shard
from gradstream.center.tables.payload import FoundRows
from gradstream.center.tables.storage.contents import add_contents, read_contents
from gradstream.center.tables.table import EmbeddingTable, RowOutcome
from gradstream.errors import Invalid, InvalidWorkload, Unavailable
from gradstream.spec.tables import TableSpec, specs_of

SGD = {"name": "sgd", "lr": 1.0}


def table(capacity: int = 10_000, width: int = 1, **spec: Any) -> EmbeddingTable:
    return EmbeddingTable("t", width, TableSpec.model_validate({"rule": SGD, "init": {"uniform": 0}, **spec}), capacity=capacity)


def push(to: EmbeddingTable, looked: FoundRows, gradient: float = 1.0, occurrences: int = 1) -> RowOutcome:
    count = len(looked.keys)
    gradients = np.full((count, to.width), gradient, np.float32)
    return to.push(looked.keys, looked.loans, gradients, np.full(count, occurrences))


def outcome(done: RowOutcome) -> tuple[int, int, int, int]:
    return done.applied, done.counted, done.missed, done.dropped


def test_admission_by_count() -> None:
    found, pulled, outcomes = table(admit={"count": 3}), [], []
    for occurrences, gradient in ((2, 0.5), (1, 0.5), (1, 0.5), (4, 0.25)):
        looked = found.look_up(np.array([9]))
        pulled.append(looked.values[0, 0])
        outcomes.append(outcome(push(found, looked, gradient, occurrences)))
    assert outcomes == [(0, 1, 0, 0), (0, 1, 0, 0), (1, 0, 0, 0), (1, 0, 0, 0)]
    assert pulled == [0, 0, 0, -0.5]
    assert found.look_up(np.array([9])).values[0, 0] == -0.75


@pytest.mark.parametrize("probability", [1e-300, 1e-17, 1e-12])
def test_a_key_with_hardly_any_probability_waits(probability: float) -> None:
    found = table(admit={"probability": probability})
    push(found, found.look_up(np.arange(1000)), occurrences=1000)
    assert (found.alive, found.waiting) == (0, 1000)


def test_lookups_leave_every_bit() -> None:
    found = table()
    push(found, found.look_up(np.arange(100)))
    before = read_contents(found).columns()
    found.look_up(np.arange(-5000, 5000))
    after = read_contents(found).columns()
    assert all(before[name].tobytes() == after[name].tobytes() for name in before)
    assert found.alive == found.made == 100


def test_a_gradient_at_first_values_counts_though_another_push_made_the_row() -> None:
    found = table()
    first, second = found.look_up(np.array([1])), found.look_up(np.array([1]))
    push(found, first)
    done = push(found, second)
    assert outcome(done) == (1, 0, 0, 0)
    assert done.staleness.tolist() == [1]
    assert found.look_up(np.array([1])).values[0, 0] == -2


def test_staleness_is_that_of_the_row_and_damps_its_step() -> None:
    found = table(rule={**SGD, "damp": True})
    push(found, found.look_up(np.array([10, 20])))
    old = found.look_up(np.array([10, 20]))
    push(found, found.look_up(np.array([10])))
    push(found, found.look_up(np.array([10, 20])))
    done = push(found, old)
    assert done.staleness.tolist() == [2, 1]
    assert found.look_up(np.array([10, 20])).values[:, 0].tolist() == [-3 - np.float32(1) / np.float32(3), -2.5]


def test_a_row_that_came_back_gets_no_stranger_s_gradient() -> None:
    found = table(keep={"unseen": 1})
    push(found, found.look_up(np.array([1])))
    stale = found.look_up(np.array([1]))
    found.time = 1
    assert found.shrink() == 1
    push(found, found.look_up(np.array([1])), 5.0)
    assert outcome(push(found, stale)) == (0, 0, 1, 0)
    assert found.look_up(np.array([1])).values[0, 0] == -5
    found.time = 3
    found.shrink()
    assert outcome(push(found, stale)) == (0, 1, 0, 0)
    assert (found.look_up(np.array([1])).values[0, 0], found.alive) == (0, 1)


def test_reused_places_never_change_another_row() -> None:
    found = table(width=3, keep={"unseen": 1}, rule={"name": "adagrad"})
    push(found, found.look_up(np.arange(500)))
    found.time = 1
    push(found, found.look_up(np.arange(0, 500, 2)))
    kept = found.look_up(np.arange(0, 500, 2)).values.copy()
    assert found.shrink() == 250
    push(found, found.look_up(np.arange(1000, 1400)))
    assert found.alive == 650
    assert found.arrays.rows.places.counts[0] == 650
    assert found.look_up(np.arange(0, 500, 2)).values.tobytes() == kept.tobytes()
    assert not found.look_up(np.arange(1, 500, 2)).values.any()


def test_most_keeps_the_highest_scores_then_the_highest_keys() -> None:
    found = table(most=1024)
    keys = np.arange(3000)
    push(found, found.look_up(keys))
    push(found, found.look_up(np.array([0])))
    found.shrink()
    buckets = buckets_of(keys)
    expected = {int(keys[buckets == bucket].max()) for bucket in set(buckets.tolist())}
    expected -= {int(keys[buckets == buckets[0]].max())}
    assert set(read_contents(found).keys.tolist()) == expected | {0}


@pytest.mark.few(1)
@pytest.mark.parametrize("admit", [None, {"count": 2}])
def test_keys_that_come_and_go_are_found_and_the_index_stays_small(admit: dict[str, int] | None) -> None:
    """Slots of evicted keys are used again by the same key, or leave when they are many."""
    found, draw = table(keep={"unseen": 2}, admit=admit), np.random.default_rng(0)
    seen: dict[int, int] = {}
    for time in range(40):
        keys = np.unique(draw.integers(0, 4000, 1500)) + 100 * time
        push(found, found.look_up(keys))
        seen |= dict.fromkeys(keys.tolist(), time)
        found.shrink()
        seen = {key: last for key, last in seen.items() if time - last < 2}
        contents = read_contents(found)
        assert set(contents.keys.tolist()) | set(contents.waiting.tolist()) == set(seen)
    assert (found.alive, found.alive + found.waiting) == (len(contents.keys), len(seen))
    assert (found.waiting > 100) == bool(admit)
    assert found.evicted > 20_000
    assert found.arrays.buckets.sizes.sum() <= 1024 * 2 * index.SMALLEST


def test_a_full_table_drops_new_keys_and_serves_the_others() -> None:
    found = table(capacity=10)
    push(found, found.look_up(np.arange(10)))
    assert outcome(push(found, found.look_up(np.arange(5, 15)))) == (5, 0, 0, 5)
    assert found.look_up(np.arange(15)).values[:, 0].tolist() == [-1] * 5 + [-2] * 5 + [0] * 5


def unmixed(hashes: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Keys with these hashes."""
    with np.errstate(over="ignore"):
        x = hashes ^ (hashes >> np.uint64(31)) ^ (hashes >> np.uint64(62))
        x = x * np.uint64(pow(0x94D049BB133111EB, -1, 2**64))
        x = x ^ (x >> np.uint64(27)) ^ (x >> np.uint64(54))
        x = x * np.uint64(pow(0xBF58476D1CE4E5B9, -1, 2**64))
        x = x ^ (x >> np.uint64(30)) ^ (x >> np.uint64(60))
        return (x - np.uint64(0x9E3779B97F4A7C15)).astype(np.int64)


@pytest.mark.parametrize("spread", [1, 2**20], ids=["low bits", "high bits"])
def test_keys_made_up_for_one_bucket_are_found_as_fast(spread: int) -> None:
    keys = unmixed(np.arange(20_000, dtype=np.uint64) * np.uint64(spread))
    assert set(buckets_of(keys).tolist()) == {0}
    found = table(capacity=30_000)
    push(found, found.look_up(keys))
    assert (found.look_up(keys).values == -1).all()
    slots = found.arrays.buckets
    held = slots.slots[slots.starts[0] : slots.starts[0] + slots.sizes[0]]["place"] != index.EMPTY
    runs = np.diff(np.flatnonzero(np.concatenate([[True], ~held, [True]])))
    assert runs.max() < 500  # of 20,000, if the order in the region followed the hash


def test_a_bucket_grows_alone_and_gives_its_region_back() -> None:
    found = table(keep={"unseen": 1})
    keys = np.arange(200_000)
    keys = keys[buckets_of(keys) == 7]
    push(found, found.look_up(keys))
    sizes = found.arrays.buckets.sizes
    assert sizes[7] >= 256
    assert (np.delete(sizes, 7) == index.SMALLEST).all()
    found.time = 1
    found.shrink()
    assert sizes[7] == index.SMALLEST


def test_an_index_has_slots_for_all_rows_and_as_many_candidates() -> None:
    """At this capacity nearly all buckets have just moved, so that regions take most."""
    found = table(capacity=118_000, admit={"count": 2})
    rows, waiting = np.arange(118_000), np.arange(118_000) + 2**40
    for keys in (rows, rows, waiting):
        push(found, found.look_up(keys))
    slots = found.arrays.buckets
    assert (found.alive, found.waiting) == (118_000, 118_000)
    assert (slots.starts + slots.sizes).max() <= len(slots.slots)


def test_an_index_refuses_to_grow_beyond_its_slots() -> None:
    found = index.BucketIndex("the index of table 't'", range(1), capacity=64)
    slots = found.arrays
    while slots.starts[0] + 3 * slots.sizes[0] <= len(slots.slots):
        found.grow(0)
    with pytest.raises(Unavailable, match="the index of table 't' is full, as many keys share a bucket"):
        found.grow(0)


def test_contents_say_what_changed_behind_a_mark() -> None:
    found = table(admit={"count": 2})
    push(found, found.look_up(np.array([1, 2])))
    push(found, found.look_up(np.array([1])))
    found.mark = 2
    push(found, found.look_up(np.array([1, 3])))
    changed = read_contents(found, above=1)
    assert (changed.keys.tolist(), changed.waiting.tolist()) == ([1], [3])


def test_refusals() -> None:
    found = table()
    push(found, found.look_up(np.array([1])))
    with pytest.raises(Invalid, match="has key 1 already"):
        add_contents(found, read_contents(found))
    with pytest.raises(Invalid, match="have 1 numbers, weights and state; this table has 3"):
        add_contents(table(rule={"name": "adam"}), read_contents(found))
    with pytest.raises(Invalid, match="another shard"):
        EmbeddingTable("t", 1, TableSpec(), buckets=buckets_of_shard(0, 2), capacity=9).look_up(np.arange(9))
    with pytest.raises(Unavailable, match="smaller `capacity`"):
        table(capacity=2**31, width=2**20)
    full = table(capacity=10)
    push(full, full.look_up(np.arange(10)))
    with pytest.raises(Unavailable, match="is full at 5 rows"):
        add_contents(table(capacity=5), read_contents(full))


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"rule": {"name": "ftrl"}, "init": {"uniform": 0.1}}, "they begin at 0"),
        ({"rule": {"name": "ftrl", "damp": True}}, "damp"),
        ({"rule": {"name": "sgd", "eps": 1e-8}}, "eps"),
        ({"keep": {"decay": 0.9}}, "decay would be ignored"),
        ({"score": {"clicked": 2}}, "score would be ignored"),
        ({"admit": {"count": 2, "score": 1}}, "exactly one"),
        ({"admit": {}}, "exactly one"),
        ({"keep": {}}, "leave `keep` out"),
    ],
    ids=str,
)
def test_combinations_that_would_be_ignored(spec: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        TableSpec.model_validate(spec)


def test_specs_of_tables() -> None:
    default, user = {"rule": SGD}, {"most": 2048}
    found = specs_of({"default": default, "user": user}, ["user", "item"])
    assert (found["item"].rule.name, found["user"].rule.name, found["user"].most) == ("sgd", "adagrad", 2048)
    with pytest.raises(InvalidWorkload, match="no table 'usr'; did you mean 'user'"):
        specs_of({"usr": user}, ["user", "item"])
