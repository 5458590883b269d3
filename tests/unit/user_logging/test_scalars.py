"""Logged numbers: what is reported for those of several calls, threads and processes, and what is refused."""

from __future__ import annotations

import copy
import math
import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any, get_args

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gradstream import Workload
from gradstream.errors import InvalidWorkload
from gradstream.user_logging.names import MAX_NAMES
from gradstream.user_logging.scalars import LoggedScalars, Reduction

NUMBERS = st.floats(-1e6, 1e6)
EXPECTED = {"mean": np.mean, "min": np.min, "max": np.max, "last": lambda values: values[-1]}


@given(st.lists(NUMBERS, min_size=1, max_size=20), st.sampled_from(get_args(Reduction)))
def test_a_report_is_the_reduction_of_all_calls_since_the_last_one(values: list[float], reduce: Reduction) -> None:
    logged = LoggedScalars()
    for _ in range(2):
        for value in values:
            logged.add("x", value, reduce)
        assert logged.take() == {"x": pytest.approx(float(EXPECTED[reduce](values)), rel=1e-12, abs=1e-9)}
        assert logged.take() == {}


@given(st.lists(st.lists(NUMBERS, max_size=5), min_size=1, max_size=4), st.sampled_from(["mean", "min", "max"]))
def test_processes_merge_into_what_one_process_would_report(parts: list[list[float]], reduce: Reduction) -> None:
    whole, merged = LoggedScalars(), LoggedScalars()
    for part in parts:
        of_process = LoggedScalars()
        for value in part:
            of_process.add("x", value, reduce)
            whole.add("x", value, reduce)
        merged.merge(pickle.loads(pickle.dumps(of_process.take_weighted())))
    assert merged.take() == {name: pytest.approx(value, rel=1e-12, abs=1e-9) for name, value in whole.take().items()}


def test_a_mean_weighs_calls_and_leaves_out_those_without_weight() -> None:
    logged = LoggedScalars()
    for weight, value in ((3.0, 1.0), (1.0, 5.0), (0.0, 100.0)):
        logged.weight = weight
        logged.add("x", value)
    assert logged.take() == {"x": 2.0}


@pytest.mark.parametrize(
    "value",
    [2, True + 1, 2.0, torch.tensor(2), torch.tensor([[2.0]], requires_grad=True), np.float32(2), np.array([2])],
    ids=repr,
)
def test_one_real_number_of_any_kind_is_taken(value: Any) -> None:
    logged = LoggedScalars()
    logged.add("x", value)
    assert logged.take() == {"x": 2.0}
    Workload().log("x", value)


@pytest.mark.parametrize(
    "value", [None, "2", torch.ones(2), torch.tensor(1j), np.ones(2), 1j, [1.0], 10**400], ids=lambda value: str(value)[:20]
)
def test_no_real_number_is_refused_by_its_name_inside_a_job_and_outside(value: Any) -> None:
    for log in (LoggedScalars().add, Workload().log):
        with pytest.raises(InvalidWorkload, match=r"^log: .*'norm'.*; log its "):
            log("norm", value)


@pytest.mark.parametrize("name", ["", "a b", "a/", "/a", "a//b", "ä", "a\n", "x" * 101, 3, "user/x", "eval/x", "=1,2"])
def test_a_name_that_no_chart_can_have_is_refused(name: Any) -> None:
    for log in (LoggedScalars().add, Workload().log):
        with pytest.raises(InvalidWorkload, match=r"^log: "):
            log(name, 1.0)


@pytest.mark.parametrize("name", ["x", "grad_norm/encoder.0", "acc@5", "x" * 100, "evaluation/x"])
def test_usual_names_are_taken(name: str) -> None:
    logged = LoggedScalars()
    logged.add(name, 1.0)
    assert logged.take() == {name: 1.0}


def test_a_name_has_one_reduction() -> None:
    logged = LoggedScalars()
    logged.add("x", 1.0, "max")
    with pytest.raises(InvalidWorkload, match="'x' has reduce='max' in one call and 'mean' in another"):
        logged.add("x", 1.0)
    with pytest.raises(InvalidWorkload, match=r"reduce='sum'; choose one of 'mean', 'min', 'max', 'last'"):
        Workload().log("x", 1.0, reduce="sum")  # type: ignore[arg-type]


@pytest.mark.parametrize("reduce", get_args(Reduction))
def test_a_nan_is_reported_and_does_not_stay(reduce: Reduction) -> None:
    logged = LoggedScalars()
    logged.add("x", 1.0, reduce)
    logged.add("x", math.nan, reduce)
    assert math.isnan(logged.take()["x"])
    logged.add("x", 3.0, reduce)
    assert logged.take() == {"x": 3.0}


def test_names_beyond_the_bound_are_dropped_and_counted() -> None:
    logged = LoggedScalars()
    for number in range(MAX_NAMES + 3):
        logged.add(f"n{number}", float(number))
        logged.add("n0", 0.0)
    assert logged.take() == {f"n{number}": float(number) for number in range(MAX_NAMES)}
    assert logged.dropped == 3
    other = LoggedScalars()
    other.add("beyond", 1.0)
    logged.merge(other.take_weighted())
    assert (logged.take(), logged.dropped) == ({}, 4)


def test_threads_lose_no_call() -> None:
    logged = LoggedScalars()
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda number: [logged.add("x", float(number)) for _ in range(2000)], range(4)))
    assert logged.take_weighted() == {"x": ("mean", 1.5, 8000.0)}


def test_a_tensor_that_changes_later_was_logged_as_it_was() -> None:
    logged, total = LoggedScalars(), torch.tensor(1.0)
    logged.add("x", total)
    total += 5
    assert logged.take() == {"x": 1.0}


def test_tensors_that_wait_on_a_device_count_as_numbers_would() -> None:
    """As `tests/gpu` has a device, this only puts them where they wait."""
    logged = LoggedScalars()
    logged.add("x", 1.0)
    logged._scalars["x"].pending += [(torch.tensor(4.0, dtype=torch.float64), 1.0), (torch.tensor(7.0, dtype=torch.float64), 1.0)]
    assert logged.take() == {"x": 4.0}
    assert logged.take() == {}


def test_a_copy_of_a_workload_logs_into_nothing_of_the_first() -> None:
    workload = Workload()
    workload._scalars = LoggedScalars()
    workload.log("x", 1.0)
    for other in (copy.deepcopy(workload), pickle.loads(pickle.dumps(workload))):
        other.log("x", 5.0)
    assert workload._scalars.take() == {"x": 1.0}
