"""Hashes, draws and rules have the values that were computed from their definitions by other programs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from gradstream.center.tables.hashing import (
    buckets_of,
    buckets_of_shard,
    first_value,
    mix,
    occurrences_needed,
    shards_of,
    stream_of,
)
from gradstream.center.tables.rules import apply_rule
from gradstream.center.tables.table import EmbeddingTable
from gradstream.spec.tables import AdagradRule, AdamRule, AnyRule, FtrlRule, SgdRule, TableSpec

GRADIENTS = [(0.5, -0.25), (-0.1, 0.3), (0.2, 0.0), (1.5, -2.0)]
START = (0.125, -0.5)
KEYS = np.array([0, 1, 2, 7, 42, -1])


def applied(rule: AnyRule, start: Any, gradients: Any, dtype: Any = np.float32) -> list[list[float]]:
    """Weights after each gradient."""
    width = len(start)
    rows = np.zeros((1, width + rule.state_size(width)), dtype)
    rows[0, :width], rows[0, width:] = start, rule.initial_state
    found, zero = [], np.zeros(1, np.int64)
    for t, gradient in enumerate(gradients):
        apply_rule(rule, rows, zero, np.array([gradient], dtype), np.array([t]), zero, 1.0)
        found.append(rows[0, :width].tolist())
    return found


def test_hashes() -> None:
    assert [mix(np.uint64(x)) for x in (0, 42, 2**64 - 1)] == [0xE220A8397B1DCDAF, 0xBDD732262FEB6E95, 0xE4D971771B652C20]
    assert buckets_of(KEYS).tolist() == [904, 580, 605, 399, 759, 915]
    assert shards_of(KEYS, 3).tolist() == [2, 1, 1, 1, 2, 2]
    assert shards_of(KEYS, 7).tolist() == [6, 3, 4, 2, 5, 6]


@pytest.mark.parametrize("shards", [1, 2, 3, 7, 256])
def test_shards_hold_every_bucket_once(shards: int) -> None:
    held = [bucket for shard in range(shards) for bucket in buckets_of_shard(shard, shards)]
    assert held == list(range(1024))
    keys = np.arange(5000)
    for shard in range(shards):
        mine = buckets_of(keys[shards_of(keys, shards) == shard])
        assert set(mine.tolist()) <= set(buckets_of_shard(shard, shards))


def test_first_values_and_admissions() -> None:
    stream = stream_of(1, "user")
    values = [[first_value(stream, key, column, np.float32(0.05)) for column in range(3)] for key in (0, 42)]
    expected = [[-0.0374232493, -0.0393814333, 0.0260868855], [0.00800424814, -0.0119934082, 0.0322102718]]
    assert np.array_equal(np.array(values, np.float32), np.array(expected, np.float32))
    assert [occurrences_needed(stream, key, 0.1) for key in range(10)] == [7, 4, 3, 7, 17, 5, 6, 1, 13, 7]
    table = EmbeddingTable("user", 3, TableSpec(), seed=1, capacity=100)
    assert np.array_equal(table.look_up(np.array([0, 42])).values, np.array(expected, np.float32))


@pytest.mark.parametrize(
    ("rule", "start", "expected"),
    [
        (
            SgdRule(lr=0.1),
            START,
            [
                (0.075000003, -0.474999994),
                (0.0850000009, -0.504999995),
                (0.0649999976, -0.504999995),
                (-0.0850000083, -0.305000007),
            ],
        ),
        (
            AdagradRule(lr=0.1),
            START,
            [
                (0.0249999985, -0.400000006),
                (0.0446116142, -0.476822138),
                (0.00809677318, -0.476822138),
                (-0.0858368725, -0.37867555),
            ],
        ),
        (
            AdagradRule(lr=0.1, rowwise=True, initial=0.1),
            START,
            [
                (0.0262270346, -0.450613528),
                (0.044297196, -0.504823983),
                (0.00928214565, -0.504823983),
                (-0.0714605153, -0.397167087),
            ],
        ),
        (
            AdamRule(lr=0.01),
            START,
            [(0.115000002, -0.49000001), (0.109889738, -0.491429448), (0.10387814, -0.492534429), (0.0967315063, -0.487003863)],
        ),
        (
            FtrlRule(alpha=0.5, beta=1, l1=0.3, l2=0.1),
            (0, 0),
            [(-0.0645161271, 0), (-0.0324628241, 0), (-0.0950519145, 0), (-0.378405273, 0.267183274)],
        ),
    ],
    ids=["sgd", "adagrad", "rowwise", "adam", "ftrl"],
)
def test_rules(rule: AnyRule, start: Any, expected: Any) -> None:
    assert np.array_equal(np.array(applied(rule, start, GRADIENTS), np.float32), np.array(expected, np.float32))


@pytest.mark.parametrize(
    ("rule", "make"),
    [
        (SgdRule(lr=0.1), lambda w: torch.optim.SGD([w], lr=0.1)),
        (AdagradRule(lr=0.1, initial=0.1), lambda w: torch.optim.Adagrad([w], lr=0.1, initial_accumulator_value=0.1)),
        (AdamRule(lr=0.01, betas=(0.8, 0.95)), lambda w: torch.optim.Adam([w], lr=0.01, betas=(0.8, 0.95))),
    ],
    ids=["sgd", "adagrad", "adam"],
)
def test_rules_are_those_of_torch(rule: AnyRule, make: Any) -> None:
    rng = np.random.default_rng(3)
    start, gradients = rng.normal(size=5), rng.normal(size=(50, 5))
    w = torch.tensor(start, dtype=torch.float64, requires_grad=True)
    optimizer = make(w)
    for gradient in gradients:
        w.grad = torch.from_numpy(gradient)
        optimizer.step()
    assert np.allclose(applied(rule, start, gradients, np.float64)[-1], w.detach().numpy(), rtol=0, atol=1e-12)


def test_ftrl_is_the_minimum_of_its_objective() -> None:
    """sum of g w + |w| l1 + l2 w^2 / 2 + (beta + sqrt n_t) / alpha w^2 / 2, its quadratic terms around the weights of each step."""
    rng = np.random.default_rng(4)
    gradients, rule = rng.normal(size=(30, 4)), FtrlRule(alpha=0.3, beta=0.7, l1=0.5, l2=0.2)
    path = [np.zeros(4), *map(np.array, applied(rule, np.zeros(4), gradients, np.float64))]
    roots = np.sqrt(np.cumsum(np.vstack([np.zeros((1, 4)), gradients**2]), 0))
    sigmas = np.diff(roots, axis=0) / rule.alpha

    def objective(w: Any) -> Any:
        around = sum(sigma * (w - at) ** 2 for sigma, at in zip(sigmas, path, strict=False)) / 2
        return gradients.sum(0) * w + around + rule.l1 * np.abs(w) + (rule.l2 + rule.beta / rule.alpha) * w**2 / 2

    for step in (1e-2, 1e-4):
        assert (objective(path[-1]) <= objective(path[-1] + step)).all()
        assert (objective(path[-1]) <= objective(path[-1] - step)).all()


@pytest.mark.parametrize(("shows", "clicks", "survived"), [(10, 1, 42), (100, 0, 125), (1, 1, 11)])
def test_rows_outlive_so_many_shrinks(shows: int, clicks: int, survived: int) -> None:
    table = EmbeddingTable("t", 1, TableSpec.model_validate({"keep": {"decay": 0.98, "score": 0.8}}), capacity=100)
    keys = np.array([5])
    table.push(keys, table.look_up(keys).loans, np.ones((1, 1), np.float32), np.array([shows]), np.array([clicks], np.float32))
    for _ in range(survived):
        table.shrink()
    assert table.alive == 1
    table.shrink()
    assert table.alive == 0
